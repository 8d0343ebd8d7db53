"""Writes in two halves: handed to the disk at once, ended when the world says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.testing.device import InFlight, SimDevice

    Done = Callable[[BaseException | None], None]


class HeldSubmitter:
    """Keeps a write in flight until `complete`."""

    def __init__(self, device: SimDevice) -> None:
        self._device = device
        self._write: InFlight | None = None
        self._on_done: Done | None = None

    @property
    def is_writing(self) -> bool:
        """Whether a write is in flight."""
        return self._write is not None

    def submit(self, file: str, offset: int, data: memoryview, on_done: Done) -> None:
        """Hand a write to the disk."""
        assert self._write is None, "one write in flight"
        try:
            self._write = self._device.begin(file, offset, data)
        except OSError as error:
            on_done(error)
        else:
            self._on_done = on_done

    def complete(self) -> None:
        """Let the write end, and say how."""
        write, on_done = self._write, self._on_done
        assert write is not None
        assert on_done is not None
        self._write = self._on_done = None
        try:
            self._device.complete(write)
        except OSError as error:
            on_done(error)
        else:
            on_done(None)
