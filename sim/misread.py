"""A disk that returns another block's content once, for one block, after some good reads of it.

`SimDevice.misread_after` counts reads and hits whatever is read then; here the block is named.
So a frame can be read well while the chain is followed, and wrongly when it is to be a witness.
"""

from __future__ import annotations

from fusee.base.limits import BLOCK_SIZE
from fusee.testing.device import SimDevice


class MisreadDevice(SimDevice):
    """The device of one process, of which one read may be aimed at."""

    _aim: tuple[str, int] | None = None
    _good_reads = 0

    def misread_block(self, file: str, offset: int, good_reads: int) -> None:
        """Let the read of a block go wrong that follows so many good ones."""
        self._aim, self._good_reads = (file, offset), good_reads

    def read(self, file: str, offset: int, size: int) -> bytes:
        """Read whole blocks."""
        data = super().read(file, offset, size)
        if self._aim is None or self._aim[0] != file:
            return data
        start = self._aim[1] - offset
        if not 0 <= start < len(data):
            return data
        self._good_reads -= 1
        if self._good_reads >= 0:
            return data
        self._aim = None
        neighbour = self._neighbour(file, offset + start)
        self.misread.append((self.disk.names[file].number, offset + start, BLOCK_SIZE))
        self.done.append("misread")
        return data[:start] + neighbour + data[start + BLOCK_SIZE :]

    def _neighbour(self, file: str, offset: int) -> bytes:
        image = self.disk.names[file].image
        other = offset - BLOCK_SIZE if offset else BLOCK_SIZE
        return bytes(image[other : other + BLOCK_SIZE])
