DESCRIPTION = "A member in doubt about the end of its log takes no part in a view change."
MODULE = "fusee.vr.view_change"
FRAGMENT = """\
        and not state.rewriting
"""
INSTEAD = """\
        and not state.rewriting
        and state.unknown is None
"""
LEVEL = "protocol"
SCENARIO = "members_in_doubt_take_part"
