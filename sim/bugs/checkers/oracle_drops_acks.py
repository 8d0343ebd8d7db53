DESCRIPTION = "The oracle does not hear that writes have ended."
MODULE = "fusee.testing.checkers.written"
FRAGMENT = """\
        if frame is not None:
            frame.is_done = True
"""
INSTEAD = """\
        if frame is not None:
            frame.is_done = False
"""
LEVEL = "byte"
SCENARIO = "new_logs_are_empty"
NOTICED = "violation"
