DESCRIPTION = "A StartView that comes again cuts what was acknowledged since (V-10)."
MODULE = "fusee.vr.installing"
FRAGMENT = """\
    if message.view != state.view or state.status is not ReplicaStatus.VIEW_CHANGE:
        return
    if state.job is not None:
        return  # A second one while the first is being installed.
"""
INSTEAD = """\
    if message.view != state.view or state.job is not None or state.is_primary:
        return
    state.status = ReplicaStatus.VIEW_CHANGE
"""
LEVEL = "protocol"
SCENARIO = "a_view_starts_once"
