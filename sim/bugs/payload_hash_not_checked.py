DESCRIPTION = "The content of a batch is not compared with the hash in its header."
MODULE = "fusee.log.batch"
FRAGMENT = """\
    if blake2b(payload, digest_size=16).digest() != head.payload_hash:
        raise BadBatch(BatchFault.PAYLOAD_DAMAGED)
"""
INSTEAD = ""
LEVEL = "byte"
SCENARIO = "rot_is_never_data"
