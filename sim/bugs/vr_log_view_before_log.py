DESCRIPTION = "The log view is durable before the log it vouches for (I-2)."
MODULE = "fusee.vr.installing"
FRAGMENT = "    batches = tuple(body for link"
INSTEAD = """\
    state.log_view, state.vouch = View(job.view), job.start
    save(state, ready)
    batches = tuple(body for link"""
LEVEL = "protocol"
SCENARIO = "a_log_view_follows_its_log"
