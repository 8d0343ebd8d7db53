"""Replaying journals without an engine: does this code still do what they recorded?

    Replayer ── starts, once a hash seed ── python -m fusee.testing.replay ── reads the directory,
                                                                              replays every run

The runs are replayed by the engine's own code on a log that nobody writes: no step runs, no timer
fires, and nothing of the directory is changed.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fusee.embed.assembly import assemble_memory
from fusee.embed.programs import Registry, loader
from fusee.engine.core import Core
from fusee.engine.messages import view_of
from fusee.engine.run import Finished, Held, Run
from fusee.engine.turns import run_turns
from fusee.io.clock import SystemClock
from fusee.node.offline import read_directory
from fusee.record.kinds import Status
from fusee.sdk.workflow import Workflow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fusee.engine.program import PendingOp, Program
    from fusee.engine.table import RunTable
    from fusee.journal.machine import Machine

NO_CODE = "no-code"
_ENDED_BY_CODE = (Status.COMPLETED, Status.FAILED)


class Task(msgspec.Struct, frozen=True):
    """What a process is to replay. A workflow is its module and its qualified name."""

    directory: str
    workflows: list[tuple[str, str]]
    path: list[str]


class Replayed(msgspec.Struct):
    """What became of it."""

    same: int = 0
    different: dict[str, str] = {}
    """Why, by the run's key."""
    without_code: list[str] = []
    """Runs of workflows that were not given."""


class NothingRuns:
    """`fusee.engine.program.Steps`: a replay runs no step."""

    def start(self, run: Run, op: PendingOp, attempt: int, first_started_us: int) -> object:
        """Start nothing."""
        return None

    def cancel(self, token: object) -> None:
        """Nothing was started."""


class Replay:
    """Replays the runs of one table."""

    def __init__(self, workflows: Iterable[Workflow[Any, Any]], table: RunTable) -> None:
        self._program: Program | None = None
        self._load = loader(Registry(workflows), lambda: self._core, os.urandom)
        assembly = assemble_memory(SystemClock(), _nobody)
        self._core = Core(
            assembly.node,
            table=table,
            steps=NothingRuns(),
            load_program=self._loaded,
            wake=_nothing,
        )

    def _loaded(self, run: Run, machine: Machine) -> Program | Held:
        loaded = self._load(run, machine)
        self._program = None if isinstance(loaded, Held) else loaded
        return loaded

    def all(self) -> Replayed:
        """Replay every run, open or finished."""
        result = Replayed()
        for found in list(self._core.table.all()):
            reason, text = self._one(found)
            key = f"{found.workflow_id}/{found.ordinal}"
            if reason == NO_CODE:
                result.without_code.append(key)
            elif text:
                result.different[key] = text
            else:
                result.same += 1
        return result

    def _one(self, found: Run | Finished) -> tuple[str, str]:
        """Return why a run is held, as a word and a text; both empty when it is not."""
        core, self._program = self._core, None
        run = found if isinstance(found, Run) and found.is_open else view_of(core, found)
        core.queue(run)
        while core.ready:
            run_turns(core, 1)
            if run.program is not None and run.program.machine.history is None:
                break  # From here on the code would do what it has never done.
        if run.held is not None:
            return run.held.reason, run.held.text
        text = self._goes_on(run)
        core.unload(run)
        core.ready.clear()
        run.queued = False
        return "", text

    def _goes_on(self, run: Run) -> str:
        """Say so when the recorded code had ended where this code goes on."""
        if run.closed_status not in _ENDED_BY_CODE or self._program is None:
            return ""
        if self._program.ending is not None:
            return ""
        ended = Status(run.closed_status).name.lower()
        return (
            f"run {run.key} {ended} after operation {self._program.machine.position} of its "
            "journal, but the code goes on: an operation was added at the end; register the old "
            "code under its version"
        )


def workflow_at(module: str, qualname: str) -> Workflow[Any, Any]:
    """Return the workflow of a module by the qualified name of its function."""
    found: Workflow[Any, Any]
    for found in vars(importlib.import_module(module)).values():
        if isinstance(found, Workflow) and (  # pyright: ignore[reportUnnecessaryIsInstance]
            (found.__module__, found.fn.__qualname__) == (module, qualname)
        ):
            return found
    raise LookupError(f"module {module} has no workflow {qualname}")


def _nothing() -> None:
    """Nobody is woken."""


def _nobody(_: object) -> None:
    """Nobody is woken from a thread."""


def main() -> None:
    """Read a `Task` from the input, write a `Replayed` to the output."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    sys.path[:] = task.path
    workflows = [workflow_at(module, name) for module, name in task.workflows]
    table = read_directory(Path(task.directory)).table
    answer = msgspec.json.encode(Replay(workflows, table).all())
    # What modules print while they are imported came before.
    sys.stdout.flush()
    sys.stdout.buffer.write(b"\n" + answer)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
