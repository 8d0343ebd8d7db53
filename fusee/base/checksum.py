"""The one checksum: blake2b cut to 128 bits.

128 bits because the hash is the identity of a batch on every replica and in every
repair; a 32-bit CRC collides within the life of a busy group.
"""

from __future__ import annotations

from hashlib import blake2b

HASH_SIZE = 16
NO_HASH = bytes(HASH_SIZE)


def hash128(*parts: bytes | bytearray | memoryview) -> bytes:
    """Return the 16-byte blake2b of the parts, as if they were joined."""
    digest = blake2b(digest_size=HASH_SIZE)
    for part in parts:
        digest.update(part)
    return digest.digest()


def shard_of(workflow_id: str, shard_count: int) -> int:
    """Return the shard that owns a workflow ID: blake2b-64 of its UTF-8 bytes, modulo."""
    digest = blake2b(workflow_id.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") % shard_count
