DESCRIPTION = "A timer whose firing is recorded, and not seen yet, is armed again by the replay."
MODULE = "fusee.engine.turns"
FRAGMENT = """\
        program.called = [op for op in program.called if op.position not in arrived]"""
INSTEAD = """\
        program.called = [
            op
            for op in program.called
            if op.kind is not OpKind.STEP or op.position not in arrived
        ]"""
LEVEL = "full"
SCENARIO = "a_timer_fires_once"
