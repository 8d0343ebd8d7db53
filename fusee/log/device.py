"""What the log needs from a disk. The real one is `fusee.io.file_device`; tests bring hostile ones.

A device is one directory of files. Every call blocks; who calls from which thread is the
business of `fusee.io.submitter`. A call that raises leaves the device unusable for writing:
after a failed flush nobody knows what the disk holds, so nothing is ever retried. The one
exception is `NotBegun`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


class NotBegun(OSError):
    """Nothing was written: the system had no descriptor to begin with. It may be tried again."""


class Device(Protocol):
    """One directory on one disk."""

    @property
    def flush_ns(self) -> int:
        """Calibrated time of one 4 KiB durable write in nanoseconds, 0 when writes cost nothing."""
        ...

    def buffer(self, size: int) -> memoryview:
        """Return `size` bytes of scratch memory aligned for this device, valid until the next call.

        Its content is undefined. `size` is a multiple of 4 KiB.
        """
        ...

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        """Write and make durable before returning. Offset and length are multiples of 4 KiB.

        Raises OSError when the write, the flush or part of it failed.
        """
        ...

    def read(self, file: str, offset: int, size: int) -> bytes:
        """Read from the disk, not from a cache that a failed flush may have left ahead of it.

        Returns fewer bytes only at the end of the file. Offset and size are multiples of 4 KiB.
        Raises OSError for an unreadable place.
        """
        ...

    def size(self, file: str) -> int:
        """Return the file's size in bytes, -1 when there is none."""
        ...

    def files(self) -> list[str]:
        """Return the names of all files, sorted."""
        ...

    def create(self, file: str, chunks: Iterable[bytes | memoryview]) -> None:
        """Make a whole file appear: content, then name, then directory, each made durable.

        A write to it later, also under another name, needs nothing that could run short.
        """
        ...

    def rename(self, old: str, new: str) -> None:
        """Rename durably, replacing `new`."""
        ...

    def free_bytes(self) -> int:
        """Return how many bytes the file system still has for us."""
        ...

    def close(self) -> None:
        """Release descriptors. Idempotent."""
        ...
