DESCRIPTION = (
    "A wait that is given its signal leaves its timeout, which has fired, among what arrived."
)
MODULE = "fusee.engine.turns"
FRAGMENT = """\
    steps.forget_arrived(core, run, waiter.position)
"""
INSTEAD = ""
LEVEL = "full"
SCENARIO = "one_wait_has_one_outcome"
