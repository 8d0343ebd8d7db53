DESCRIPTION = "A backup of an older log takes over a commit position (N-6)."
MODULE = "fusee.vr.replica"
FRAGMENT = """\
        if isinstance(message, Prepare | Commit) and may_ask(state, now_ns):
"""
INSTEAD = """\
        if isinstance(message, Commit) and state.is_normal and not state.is_primary:
            state.commit_op = max(state.commit_op, min(message.commit.op, state.head_op))
        if isinstance(message, Prepare | Commit) and may_ask(state, now_ns):
"""
LEVEL = "protocol"
SCENARIO = "stale_logs_are_replaced"
