DESCRIPTION = "A write that failed is tried again, and the second answer is believed."
MODULE = "fusee.io.file_log"
FRAGMENT = """\
        self._submitter.submit(writer.file, offset, buffer, self._written)
"""
INSTEAD = """\
        def retried(error: BaseException | None) -> None:
            if error is None:
                self._written(None)
            else:
                self._submitter.submit(writer.file, offset, buffer, self._written)

        self._submitter.submit(writer.file, offset, buffer, retried)
"""
LEVEL = "full"
SCENARIO = "a_failed_write_is_the_end"
