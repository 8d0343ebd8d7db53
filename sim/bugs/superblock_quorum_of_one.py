DESCRIPTION = "One good copy of the superblock is enough."
MODULE = "fusee.log.superblock"
FRAGMENT = """\
    agreed = [copy for copy in good if checksums.count(copy.checksum) >= OPEN_QUORUM]
"""
INSTEAD = """\
    agreed = [copy for copy in good if checksums.count(copy.checksum) >= 1]
"""
LEVEL = "byte"
SCENARIO = "one_copy_is_no_superblock"
