DESCRIPTION = "A member acknowledges beyond a batch that it cannot read (H-2)."
MODULE = "fusee.vr.writing"
FRAGMENT = """\
    durable_op = OpNumber(state.tail.first_not_durable(state.durable_op) - 1)
"""
INSTEAD = """\
    durable_op = OpNumber(state.tail.first_in_memory() - 1)
"""
LEVEL = "protocol"
SCENARIO = "acks_end_before_a_hole"
