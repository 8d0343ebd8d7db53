DESCRIPTION = (
    "A segment that is used again gets a new key, and its old tags prove nothing any more."
)
MODULE = "fusee.log.segment"
FRAGMENT = """\
    return msgspec.structs.replace(header, number=number, life=header.life + 1, first_seq=first_seq)
"""
INSTEAD = """\
    key = header.file_key ^ number
    return msgspec.structs.replace(
        header, number=number, file_key=key, life=header.life + 1, first_seq=first_seq
    )
"""
LEVEL = "byte"
SCENARIO = "recycled_files_are_told_apart"
