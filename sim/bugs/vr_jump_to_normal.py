DESCRIPTION = "A backup becomes normal in a later view on hearing its primary (V-2)."
MODULE = "fusee.vr.replica"
FRAGMENT = """\
        if isinstance(message, Prepare | Commit) and may_ask(state, now_ns):
            installing.ask_view(state, slot, message.view, ready)
"""
INSTEAD = """\
        if isinstance(message, Prepare | Commit):
            view_change.enter(state, message.view, now_ns, ready)
            state.log_view = state.view
            state.job = None
            state.status = ReplicaStatus.NORMAL
            state.saved_view = state.saved_log_view = state.view
            return True
"""
LEVEL = "protocol"
SCENARIO = "stale_logs_are_replaced"
