DESCRIPTION = "What an older log view holds below the start of the newest is dropped (8.3 step 3)."
MODULE = "fusee.vr.choice"
FRAGMENT = """\
            _note(hashes, change.vouch.op, change.vouch.hash)
"""
INSTEAD = ""
LEVEL = "protocol"
SCENARIO = "the_start_of_a_view_is_known"
