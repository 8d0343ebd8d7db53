DESCRIPTION = "A new segment is not entered in the superblock."
MODULE = "fusee.io.file_log"
FRAGMENT = """\
                self.save_superblock(msgspec.structs.replace(self.superblock, segment_max=number))
"""
INSTEAD = """\
                self.save_superblock(self.superblock)
"""
LEVEL = "byte"
SCENARIO = "missing_segments_are_missed"
