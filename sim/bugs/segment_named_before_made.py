DESCRIPTION = (
    "The next segment is entered in the superblock when it is planned, before its file is there."
)
MODULE = "fusee.io.file_log"
FRAGMENT = """\
        return self._writer.plan_next(is_needed=is_needed)
"""
INSTEAD = """\
        preparation = self._writer.plan_next(is_needed=is_needed)
        if preparation is not None:
            number = preparation.header.number
            self.save_superblock(msgspec.structs.replace(self.superblock, segment_max=number))
        return preparation
"""
LEVEL = "full"
SCENARIO = "segments_are_made_before_they_are_named"
