DESCRIPTION = "A primary without a quorum goes on sending heartbeats (SD-1)."
MODULE = "fusee.vr.deadlines"
FRAGMENT = """\
    if not state.is_abdicated:
        # SD-1"""
INSTEAD = """\
    if True:
        # SD-1"""
LEVEL = "protocol"
SCENARIO = "a_lone_primary_is_silent"
