DESCRIPTION = "What members said for an earlier view counts for a later one (VOL-1)."
MODULE = "fusee.vr.view_change"
FRAGMENT = """\
    state.changes.clear()
    state.early"""
INSTEAD = "    state.early"
LEVEL = "protocol"
SCENARIO = "votes_belong_to_a_view"
