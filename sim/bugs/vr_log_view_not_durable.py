DESCRIPTION = "A log is reported before its log view is durable (G-2)."
MODULE = "fusee.vr.promises"
FRAGMENT = """\
    return state.saved_view == state.view and state.saved_log_view == state.log_view
"""
INSTEAD = """\
    return state.saved_view == state.view
"""
LEVEL = "protocol"
SCENARIO = "reports_wait_for_the_log_view"
