DESCRIPTION = "A view is spoken before the superblock holds it (G-1)."
MODULE = "fusee.vr.promises"
FRAGMENT = """\
    return state.saved_view == state.view
"""
INSTEAD = """\
    return True
"""
LEVEL = "protocol"
SCENARIO = "promises_are_kept_by_the_group"
