"""Lives of victims, each with what it said. A bench has a nursery and an outside world."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fusee.io.calibration import FORMAT, Calibration, encode, identify_disk
from fusee.io.directory import make_directory
from fusee.io.methods import Method
from tests.real.helpers import Hangs
from tests.real.judge import Line, lines_of
from tests.real.nursery import Nursery
from tests.real.outside import Outside
from tests.real.victim import FINISHED, LIFE_S, REFUSED, STOPPED, Options

END_S = LIFE_S + 15.0
Tracer = Callable[[int], AbstractContextManager[object]]
"""Given the victim's process id before it lives; left when it is dead."""

INLINE_NS, THREAD_NS = 100_000, 500_000


def calibrate_as(directory: Path, method: Method, flush_ns: int = INLINE_NS) -> None:
    """Make a directory and have its calibration say what we want: it is an input like others."""
    make_directory(directory)
    identity = identify_disk(directory)
    calibration = Calibration(FORMAT, method, flush_ns, identity, (), 3, "")
    (directory / "calibration.json").write_bytes(encode(calibration))


@dataclass(frozen=True)
class Life:
    """How one life went."""

    status: int
    lines: list[Line]
    errors: str

    @property
    def was_killed(self) -> bool:
        return self.status == -signal.SIGKILL

    @property
    def has_finished(self) -> bool:
        return self.status == FINISHED

    def complaint(self) -> str:
        """Why this is no way to end, empty if it is one."""
        if self.status in (FINISHED, STOPPED, REFUSED, -signal.SIGKILL):
            return ""
        return f"the victim ended with {self.status}: {self.errors[-2000:]}"


def _text(errors: Path) -> str:
    return errors.read_text(errors="replace") if errors.exists() else ""


class Bench:
    """Where victims live, one at a time. A context manager: leaving it ends everything."""

    def __init__(self, place: Path, recorder: Path | None = None) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.place = place
        address = place / "outside.sock"
        address.unlink(missing_ok=True)
        self._outside = Outside(address, recorder)
        self._nursery = Nursery()
        self._count = 0

    def live(
        self,
        directory: Path,
        *,
        kill_at: int = 0,
        tracer: Tracer | None = None,
        on_kill: Callable[[], Any] | None = None,
        on_birth: Callable[[int], Any] | None = None,
        **options: Any,
    ) -> Life:
        """Live one life; `kill_at` ends it when so many lines have left it."""
        self._count += 1
        lines = self.place / f"lines-{self._count}"
        errors = self.place / f"errors-{self._count}"
        self._outside.begin(lines, kill_at)
        given = Options(str(self._outside.address), str(directory), **options)
        pid = self._nursery.bear(given.as_json(), errors)
        try:
            if on_birth is not None:
                on_birth(pid)
            with tracer(pid) if tracer is not None else nullcontext():
                self._nursery.go()
                event = self._outside.hear(END_S)
                if "reached" in event:
                    os.kill(pid, signal.SIGKILL)
                    if on_kill is not None:
                        on_kill()
                    event = self._outside.hear(END_S)
                assert "ended" in event, event
                status = self._nursery.status(END_S)
        except Hangs as hangs:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise Hangs(f"{hangs}; the victim wrote: {_text(errors)}") from None
        said = lines_of(lines)
        text = _text(errors)
        lines.unlink(missing_ok=True)
        errors.unlink(missing_ok=True)
        return Life(status, said, text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._nursery.close()
        self._outside.close()
