DESCRIPTION = "A primary orders on and on though nothing is decided (N-7)."
MODULE = "fusee.vr.normal"
FRAGMENT = """\
        and state.head_op - state.commit_op < state.limits.window_batches
"""
INSTEAD = ""
LEVEL = "protocol"
SCENARIO = "a_window_is_undecided_at_most"
