"""What a failed simulation says: what every run waits for, what happened last, the seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.engine import views

if TYPE_CHECKING:
    from fusee.engine.run import Run
    from fusee.engine.views import PendingOperation
    from fusee.testing.process import Process
    from fusee.testing.world import World

TRACE_LINES = 20
LOG_LINES = 10
RUNS_MAX = 20
CODE_AT_FAULT = ("nondeterminism", "decode", "damaged-journal")
"""Why a run is held when its code does not fit its journal."""


def how_to_repeat(world: World) -> str:
    """Return the seed, and the last lines of what happened and of what was logged."""
    lines = [f"simulated with seed={world.seed}; the same seed does the same again"]
    trace, log = world.trace.lines()[-TRACE_LINES:], list(world.log)[-LOG_LINES:]
    if trace:
        lines += ["", f"the last {len(trace)} events (virtual time in seconds):", *trace]
    if log:
        lines += ["", f"the last {len(log)} lines of the log:", *log]
    return "\n".join(lines)


def who_waits(world: World) -> str:
    """Return which runs are open and what each of them waits for."""
    process = world.process
    if process is None:
        return "no process runs"
    if process.refusal is not None:
        return f"process {process.number} could not open its directory: {process.refusal}"
    if not process.is_open:
        return f"process {process.number} is not open"
    runs = _open_runs(process)
    if not runs:
        return "no run is open"
    lines = [f"{len(runs)} open:" if len(runs) > 1 else "1 run is open:"]
    lines += [f"  {_waits_for(run)}" for run in runs[:RUNS_MAX]]
    if len(runs) > RUNS_MAX:
        lines.append(f"  and {len(runs) - RUNS_MAX} more")
    return "\n".join(lines)


def held_runs(process: Process | None) -> list[str]:
    """Return a line for each run whose code does not fit its journal."""
    if process is None or not process.has_opened:
        return []
    return [
        f"run {run.key} is held: {run.held.text}"
        for run in _open_runs(process)
        if run.held is not None and run.held.reason in CODE_AT_FAULT
    ]


def _open_runs(process: Process) -> list[Run]:
    return list(process.engine.life.core.table.open_runs())


def _waits_for(run: Run) -> str:
    info = views.describe(run)
    head = f"run {run.key} of {info.workflow}"
    if info.held is not None:
        return f"{head} is held ({info.held}): {info.held_text}"
    if not info.pending:
        return f"{head} waits for nothing that the engine knows of"
    return f"{head} waits for {', '.join(map(_operation, info.pending))}"


def _operation(operation: PendingOperation) -> str:
    text = f"{operation.kind} {operation.name!r}" if operation.name else operation.kind
    if operation.kind == "step":
        text += f", attempt {operation.attempt}"
    if operation.next_at is not None:
        text += f" until {operation.next_at:%Y-%m-%d %H:%M:%S}"
    if operation.last_error is not None:
        text += f" (last: {operation.last_error})"
    return text
