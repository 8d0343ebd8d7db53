DESCRIPTION = "An update of the superblock is done when one copy is written."
MODULE = "fusee.io.log_files"
FRAGMENT = """\
    verified = _write_copies(device, stored, range(sb.COPY_COUNT))
    if verified < sb.WRITE_QUORUM:
"""
INSTEAD = """\
    device.write(sb.FILE, sb.copy_offset(0), sb.encode_copy(stored, 0))
    verified = sb.COPY_COUNT - len(sb.not_as_written(read_copies(device), stored))
    if verified < 1:
"""
LEVEL = "byte"
SCENARIO = "promises_survive_the_boot"
