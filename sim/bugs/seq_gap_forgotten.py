DESCRIPTION = "A boot goes on with the number after the last frame that it found."
MODULE = "fusee.log.boot"
FRAGMENT = """\
        seq_floor=max(superblock.seq_floor, end.local_seq, end.seq_max) + SEQ_GAP,
"""
INSTEAD = "        seq_floor=max(superblock.seq_floor, end.local_seq + 1, end.seq_max + 1),"
LEVEL = "byte"
SCENARIO = "boots_begin_above_everything"
