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
EQUIVALENT = (
    "A write that is repeated whole either fails again, and the engine stops, or lands. No seed "
    "can tell it from a write that landed at once. The rule guards what a simulated disk does "
    "not have: other pages of the cache that a failed flush has called clean."
)
