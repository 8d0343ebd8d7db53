DESCRIPTION = "Acks of an earlier view count in the next one (V-8)."
MODULE = "fusee.vr.installing"
FRAGMENT = (
    "    state.durable = {state.slot: state.durable_op}  # V-8: acks of an earlier view are void.\n"
)
INSTEAD = """\
    pass
"""
LEVEL = "protocol"
SCENARIO = "acks_belong_to_a_view"
