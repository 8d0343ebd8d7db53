DESCRIPTION = "The oracle does not remember the frame of batch 2."
MODULE = "fusee.testing.checkers.written"
FRAGMENT = """\
            self.frames.append(frame)
"""
INSTEAD = """\
            if frame.batch_op != 2:
                self.frames.append(frame)
"""
LEVEL = "byte"
SCENARIO = "witnesses_are_heard"
NOTICED = "violation"
