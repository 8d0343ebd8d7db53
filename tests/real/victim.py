"""The program that is killed, cut off and lied to: one engine, one workload, one life.

Runs in a child of the nursery. Everything that leaves the engine is said on the line to the
outside world at the moment it leaves. The exit code tells how the life ended.
"""

from __future__ import annotations

import asyncio
import functools
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fusee import Engine, EngineStopped
from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.embed.assembly import Assembly, abandon, assemble_directory, assemble_on
from fusee.embed.programs import Registry
from fusee.io.directory import Directory
from fusee.io.file_device import FileDevice
from fusee.log.segment import SegmentSizes
from fusee.sdk.current import current_step
from fusee.sdk.workflow import Workflow
from tests.real import load, sequences
from tests.real.outside import Line
from tests.support.devices import open_device
from tests.support.shop import Shop

FINISHED, STOPPED, REFUSED = 0, 71, 72
LIFE_S = 45.0
"""A life takes a second or is killed; this ends one that hangs, with its stacks."""
TINY = (32 * 1024, 32 * 1024)
"""Sizes of segments at which a short workload makes several."""


@dataclass(frozen=True)
class Options:
    """What a victim does."""

    outside: str
    directory: str
    workload: str = "shop"
    sizes: tuple[int, int] | None = None
    """Of segments; None is what the product does."""
    device: str = "file"
    """The product's, or one of `BROKEN`, for tests of the checkers."""
    details: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class ForgetfulDevice(FileDevice):
    """Reports every write as durable, and flushes none."""

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        fd = os.open(self.directory / file, os.O_WRONLY)
        try:
            os.pwrite(fd, data, offset)
        finally:
            os.close(fd)


class DeafDevice(FileDevice):
    """Takes every error of a write for success."""

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        fd = os.open(self.directory / file, os.O_WRONLY)
        try:
            with suppress(OSError):
                os.pwrite(fd, data, offset)
            os.fdatasync(fd)
        finally:
            os.close(fd)


BROKEN = {"forgetful": ForgetfulDevice, "deaf": DeafDevice}


class OutsideService:
    """What the shop's steps call."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def call(self, *, read_only: bool = False, **given: Any) -> str:
        step = current_step()
        return self._line.call(
            call=step.key, attempt=step.attempt, input=given, read_only=read_only
        )


class OutsideLedger:
    """What the shop's client tells: it goes out at once."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def on_started(self, workflow_id: str, ordinal: int) -> None:
        self._line.say(started=f"{workflow_id}/{ordinal}")

    def on_signalled(self, run: str, signal_id: str, payload: bytes) -> None:
        self._line.say(signalled=run, id=signal_id, payload=payload.decode())

    def on_result(self, run: str, outcome: Any) -> None:
        self._line.say(result=run, value=outcome)

    def on_answer(self, run: str, seen: list[str]) -> None:
        self._line.say(answered=run, seen=seen)

    def on_refusal(self, run: str, kind: str) -> None:
        self._line.say(refusal=run, kind=kind)


class Victim:
    """One engine and its workload."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.line = Line(options.outside)
        self._shop = Shop()

    def workflows(self) -> list[Workflow[Any, Any]]:
        service: Any = OutsideService(self.line)
        match self.options.workload:
            case "shop":
                return self._shop.workflows(service)
            case "load":
                return [load.bind(self.line)]
            case "sequence":
                return [sequences.bind(service)]
            case other:
                raise ValueError(other)

    def open(self) -> Engine:
        """Return an engine, the product's way unless something is asked for that it has not."""
        options = self.options
        if options.sizes is None and options.device == "file":
            assemble = functools.partial(assemble_directory, Path(options.directory))
        else:
            assemble = self._assemble
        return Engine(assemble, Registry(self._workflows), drain_s=3.0)

    def _assemble(self, clock: Any, wake: Any) -> Assembly:
        options = self.options
        path = Path(options.directory)
        directory = Directory.acquire(path)
        device: FileDevice | None = None
        try:
            device = open_device(path)
            if options.device != "file":
                device.close()
                device = BROKEN[options.device](path, device.method, device.flush_ns)
            device.remove_unfinished()
            sizes = SegmentSizes(*options.sizes) if options.sizes else None
            return assemble_on(device, directory, clock, wake, sizes=sizes, reads_ahead=True)
        except OSError as error:
            abandon(directory, device)
            raise DirectoryRefused(f"{path} cannot be opened: {error}") from error
        except BaseException:
            abandon(directory, device)
            raise

    async def live(self) -> int:
        """Live; return the exit code."""
        self._workflows = self.workflows()
        engine = self.open()
        try:
            async with asyncio.timeout(LIFE_S):
                if self.options.workload == "sequence":
                    await sequences.drive(self.open, self.line, **self.options.details)
                    return FINISHED
                async with engine:
                    self.line.say(open=os.getpid())
                    await self._drive(engine)
                if engine.stopped is not None:
                    raise EngineStopped("while it closed", engine.stopped)
        except (AcknowledgedDataLost, DirectoryRefused) as refusal:
            self.line.say(refused=type(refusal).__name__, text=str(refusal))
            return REFUSED
        except EngineStopped as stop:
            self.line.say(stopped=type(stop).__name__, text=str(stop))
            return STOPPED
        self.line.say(finished=True)
        return FINISHED

    async def _drive(self, engine: Engine) -> None:
        match self.options.workload:
            case "shop":
                ledger: Any = OutsideLedger(self.line)
                await self._shop.drive(engine, ledger)
            case "load":
                try:
                    await load.drive(engine, self.line, **self.options.details)
                except* EngineStopped as stops:
                    raise stops.exceptions[0] from stops


def prepare(options: dict[str, Any]) -> Victim:
    """Do what belongs before the life: connect to the outside world."""
    return Victim(Options(**options))


def run(victim: Victim) -> int:
    """Live."""
    return asyncio.run(victim.live())
