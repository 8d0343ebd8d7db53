DESCRIPTION = "A frame of a boot that the superblock does not know is taken for stale."
MODULE = "fusee.log.damage"
FRAGMENT = """\
    if envelope.boot_count > chain.boot_count_max or envelope.accept_view > chain.log_view:
"""
INSTEAD = """\
    if envelope.accept_view > chain.log_view:
"""
LEVEL = "byte"
SCENARIO = "superblocks_know_every_boot"
