DESCRIPTION = (
    "A log is staged behind what is decided, and a batch damaged before that is forgotten."
)
MODULE = "fusee.vr.staging"
FRAGMENT = "min(state.commit_op, damaged, "
INSTEAD = "min(state.commit_op, "
LEVEL = "protocol"
SCENARIO = "damage_is_staged_again"
