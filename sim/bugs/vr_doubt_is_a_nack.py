DESCRIPTION = "A member in doubt about an op counts as one that never had it (8.2)."
MODULE = "fusee.vr.choice"
FRAGMENT = """\
    return 0 < change.unknown_op <= op <= change.unknown_op_max
"""
INSTEAD = """\
    return False
"""
LEVEL = "protocol"
SCENARIO = "doubt_is_no_nack"
