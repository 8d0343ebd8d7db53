"""Ways to get a frame onto a device: at once, or when the test says so."""

from __future__ import annotations

from collections.abc import Callable

from fusee.log.device import Device

Done = Callable[[BaseException | None], None]


class InlineSubmitter:
    """Writes within the call. Lets `BaseException`s that stand for a crash through."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def submit(self, file: str, offset: int, data: memoryview, on_done: Done) -> None:
        try:
            self._device.write(file, offset, data)
        except OSError as error:
            on_done(error)
        else:
            on_done(None)


class HeldSubmitter:
    """Keeps the write until `release`."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self.held: list[tuple[str, int, bytes, Done]] = []

    def submit(self, file: str, offset: int, data: memoryview, on_done: Done) -> None:
        self.held.append((file, offset, bytes(data), on_done))

    def release(self) -> None:
        file, offset, data, on_done = self.held.pop(0)
        self._device.write(file, offset, data)
        on_done(None)
