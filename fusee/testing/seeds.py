"""Randomness of a seed: one stream for each concern.

A draw more in one place must not shift the draws of another, or every change of the world
would make every old seed a new one. So nobody shares a generator, and none is derived from
`hash()`, which differs from process to process.
"""

from __future__ import annotations

from hashlib import blake2b
from random import Random


def number(seed: int, name: str) -> int:
    """Return 64 bits that depend on the seed and the concern's name, and on nothing else."""
    digest = blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def stream(seed: int, name: str) -> Random:
    """Return the generator of one concern of one seed."""
    return Random(number(seed, name))
