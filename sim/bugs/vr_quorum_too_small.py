DESCRIPTION = "A batch is decided with one member too few (N-2)."
MODULE = "fusee.vr.deciding"
FRAGMENT = """\
    decided = quorum_op(state.durable.values(), state.quorum)
"""
INSTEAD = """\
    decided = quorum_op(state.durable.values(), state.quorum - 1)
"""
LEVEL = "protocol"
SCENARIO = "a_quorum_decides"
