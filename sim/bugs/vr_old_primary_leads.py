DESCRIPTION = "A restarted primary leads its stored view again (R-1)."
MODULE = "fusee.vr.restart"
FRAGMENT = """\
    elif state.is_primary:
        enter(state, state.view + 1, now_ns, ready)
"""
INSTEAD = """\
    elif state.is_primary:
        state.status = ReplicaStatus.NORMAL
"""
LEVEL = "protocol"
SCENARIO = "a_restarted_primary_steps_back"
