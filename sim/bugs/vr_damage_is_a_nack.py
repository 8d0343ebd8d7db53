DESCRIPTION = "A damaged batch counts as one that was never acknowledged (8.2)."
MODULE = "fusee.vr.choice"
FRAGMENT = """\
                nacks += held.place is Place.MEMORY
"""
INSTEAD = """\
                nacks += held.place is not Place.DURABLE
"""
LEVEL = "protocol"
SCENARIO = "damaged_is_not_missing"
