DESCRIPTION = "An update of the superblock is done when one copy is written."
MODULE = "fusee.io.log_files"
FRAGMENT = """\
    for copy in range(sb.COPY_COUNT):
        _write_copy(device, stored, copy)
    verified = sb.count_verified(read_copies(device), stored)
    if verified < sb.WRITE_QUORUM:
"""
INSTEAD = """\
    _write_copy(device, stored, 0)
    verified = sb.count_verified(read_copies(device), stored)
    if verified < 1:
"""
LEVEL = "byte"
SCENARIO = "promises_survive_the_boot"
