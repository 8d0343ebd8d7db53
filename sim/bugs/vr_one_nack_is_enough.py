DESCRIPTION = "One member without a batch is enough to drop it (8.3 step 8)."
MODULE = "fusee.vr.choice"
FRAGMENT = """\
            if not haves and nacks >= quorum:
"""
INSTEAD = """\
            if not haves and nacks:
"""
LEVEL = "protocol"
SCENARIO = "damaged_is_not_missing"
