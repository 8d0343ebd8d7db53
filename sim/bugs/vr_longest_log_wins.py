DESCRIPTION = "The longest log is chosen, whatever view it is of (8.3 step 1)."
MODULE = "fusee.vr.choice"
FRAGMENT = """\
    log_view = max(change.log_view for change in said.values())
"""
INSTEAD = """\
    log_view = max(said.values(), key=lambda change: change.head_op).log_view
"""
LEVEL = "protocol"
SCENARIO = "the_newest_log_view_wins"
