DESCRIPTION = "One member alone moves the group to the next view (V-1)."
MODULE = "fusee.vr.leaving"
FRAGMENT = """\
    state.leaving.add(state.slot)
    return len(state.leaving) >= state.quorum
"""
INSTEAD = """\
    state.leaving.add(state.slot)
    return True
"""
LEVEL = "protocol"
SCENARIO = "one_member_deposes_nobody"
