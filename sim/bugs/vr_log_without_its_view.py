DESCRIPTION = "A replica that has moved on keeps the old log view for the new log (I-3)."
MODULE = "fusee.vr.installing"
FRAGMENT = """\
    state.log_view = View(job.view)
"""
INSTEAD = """\
    if job.view == state.view:
        state.log_view = View(job.view)
"""
LEVEL = "protocol"
SCENARIO = "log_and_log_view_change_together"
