DESCRIPTION = "On hearing of a later view a replica cuts its log to what is decided (V-4)."
MODULE = "fusee.vr.view_change"
FRAGMENT = """\
    state.leaving.clear()
    state.changes.clear()
"""
INSTEAD = """\
    state.tail.replace_after(state.commit_op, [])
    state.take_head()
    state.durable[state.slot] = min(state.durable_op, state.commit_op)
    state.leaving.clear()
    state.changes.clear()
"""
LEVEL = "protocol"
SCENARIO = "logs_are_kept_until_they_are_replaced"
