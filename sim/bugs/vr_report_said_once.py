DESCRIPTION = "A member reports its log for a view once (V-6)."
MODULE = "fusee.vr.deadlines"
FRAGMENT = """\
    report(state, now_ns, ready)
    if state.is_primary:"""
INSTEAD = "    if state.is_primary:"
LEVEL = "protocol"
SCENARIO = "reports_are_repeated"
