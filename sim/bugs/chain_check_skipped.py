DESCRIPTION = "A frame counts as the next one if its batch fits, whoever wrote it."
MODULE = "fusee.log.chain"
FUNCTION = "Chain.is_continued_by"
REPLACEMENT = """\
def is_continued_by(self, envelope: Envelope) -> bool:
    return envelope.boot_count <= self.boot_count_max
"""
LEVEL = "byte"
SCENARIO = "dropped_frames_stay_dropped"
