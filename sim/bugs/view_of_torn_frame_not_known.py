DESCRIPTION = "Only a whole frame is asked whether the superblock knows its view."
MODULE = "fusee.log.damage"
FRAGMENT = """\
    if envelope.boot_count > chain.boot_count_max or envelope.accept_view > chain.log_view:
"""
INSTEAD = """\
    if envelope.boot_count > chain.boot_count_max:
"""
LEVEL = "byte"
SCENARIO = "superblocks_know_every_view"
