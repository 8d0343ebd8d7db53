DESCRIPTION = "A step that is cancelled gets an outcome for that, beside one that waits to be seen."
MODULE = "fusee.engine.steps"
FRAGMENT = """\
    if _has_arrived(run, op.position):
        return
    # Behind its gate"""
INSTEAD = """\
    # Behind its gate"""
LEVEL = "full"
SCENARIO = "one_step_has_one_outcome"
