DESCRIPTION = "A backup acknowledges what it holds in memory only (G-3)."
MODULE = "fusee.vr.backup"
FRAGMENT = """\
    return state.tail.id_at(max(state.durable_op, state.tail.base.op))
"""
INSTEAD = """\
    return state.tail.head
"""
LEVEL = "protocol"
SCENARIO = "acks_are_durable"
