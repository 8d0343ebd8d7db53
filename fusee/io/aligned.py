"""Page-aligned memory, which O_DIRECT demands and `bytes` does not give.

Anonymous private maps: private, because a map shared with a forked child would let the
child scribble into a frame that the parent is about to write.
"""

from __future__ import annotations

import mmap
import sys
from collections import deque

from fusee.base.limits import BLOCK_SIZE, FRAME_BYTES_MAX

assert mmap.PAGESIZE % BLOCK_SIZE == 0, "a page is the alignment we count on"


def aligned_memory(size_bytes: int) -> mmap.mmap:
    """Return zeroed memory that starts on a page."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size_bytes)
    return mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


class FrameMemory:
    """Two regions handed out in turn, so that building a frame never touches one being written.

    They grow to the largest frame asked for and are never closed by hand: views that are
    still out keep the old region alive.
    """

    __slots__ = ("_regions", "_turn")

    def __init__(self, size_bytes: int = 64 * BLOCK_SIZE) -> None:
        self._regions = [aligned_memory(size_bytes), aligned_memory(size_bytes)]
        self._turn = 0

    def next(self, size_bytes: int) -> memoryview:
        """Return the region whose turn it is, `size_bytes` long, with undefined content."""
        assert size_bytes > 0, size_bytes
        assert size_bytes % BLOCK_SIZE == 0, size_bytes
        turn = self._turn = 1 - self._turn
        region = self._regions[turn]
        if len(region) < size_bytes:
            region = self._regions[turn] = aligned_memory(_grown(size_bytes))
        return memoryview(region)[:size_bytes]


class Staging:
    """Aligned memory borrowed for one call by whichever thread makes it.

    Writes and reads may run in two threads (the log and the filler of segments); a free
    list gives each its own region without a lock.
    """

    __slots__ = ("_free",)

    def __init__(self) -> None:
        # Two: one for the log, one for whoever works beside it. A third is let go.
        self._free: deque[mmap.mmap] = deque(maxlen=2)

    def borrow(self, size_bytes: int) -> mmap.mmap:
        """Return a region of at least `size_bytes`."""
        try:
            region = self._free.pop()
        except IndexError:
            return aligned_memory(_grown(size_bytes))
        return region if len(region) >= size_bytes else aligned_memory(_grown(size_bytes))

    def give_back(self, region: mmap.mmap) -> None:
        """Return a region; one larger than a frame is not kept."""
        if len(region) <= FRAME_BYTES_MAX:
            self._free.append(region)


def _grown(size_bytes: int) -> int:
    # Powers of two, so that slowly growing frames do not map anew each time.
    return max(mmap.PAGESIZE, 1 << (size_bytes - 1).bit_length())
