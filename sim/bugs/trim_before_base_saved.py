DESCRIPTION = "A trim renames segments first and saves the new base of the log second."
MODULE = "fusee.io.file_log"
FRAGMENT = """\
        self.save_superblock(msgspec.structs.replace(superblock, base=trim.base))
        try:
            for header in trim.headers:
                retire_segment(self._device, header.number)
        except BaseException as error:
            self.fail(error)
            raise
"""
INSTEAD = """\
        try:
            for header in trim.headers:
                retire_segment(self._device, header.number)
        except BaseException as error:
            self.fail(error)
            raise
        self.save_superblock(msgspec.structs.replace(superblock, base=trim.base))
"""
LEVEL = "byte"
SCENARIO = "trims_may_be_cut_off"
