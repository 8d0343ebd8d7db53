DESCRIPTION = "A primary orders on and on though its disk holds nothing of it (N-8)."
MODULE = "fusee.vr.normal"
FRAGMENT = """\
        and state.head_op - state.durable_op < state.limits.lag_batches
"""
INSTEAD = ""
LEVEL = "protocol"
SCENARIO = "a_hung_disk_stops_its_primary"
