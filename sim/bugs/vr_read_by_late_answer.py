DESCRIPTION = "Any answer counts for the newest heartbeat (Q-2)."
MODULE = "fusee.vr.normal"
FRAGMENT = (
    "    state.heard_ns[slot] = max(message.echo_ns, state.heard_ns.get(slot, state.view_since_ns))"
)
INSTEAD = "    state.heard_ns[slot] = state.beat_ns"
LEVEL = "protocol"
SCENARIO = "late_answers_confirm_nothing"
