"""`fusee dev`: an engine of one's own workflows, in the foreground."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

import fusee
from fusee.cli.exits import ExitCode
from fusee.cli.loading import load_workflows
from fusee.cli.options import dir_option, output_option
from fusee.cli.output import JSON, TABLE, print_json, print_tsv
from fusee.cli.reload import run_reloading
from fusee.cli.stops import StopRequests
from fusee.embed.engine import Engine
from fusee.sdk.workflow import Workflow

if TYPE_CHECKING:
    from fusee.embed.life import Life
    from fusee.engine.run import Run

SLOW_FLUSH_US = 1_000
REPLAY_S_MAX = 2.0
"""How long the first lines wait for open runs to be replayed: only then is known who is held."""
_LOOK_AGAIN_S = 0.005


class Opened(msgspec.Struct, frozen=True):
    """What `fusee dev` has opened; also its JSON."""

    version: str
    directory: str
    method: str
    flush_p50_us: float
    workflows: list[str]
    open_runs: int
    held_runs: int
    pid: int


@click.command()
@click.argument("target", metavar="MODULE:ATTR")
@dir_option
@click.option(
    "--drain",
    "drain_s",
    type=click.FloatRange(min=0),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="How long stopping waits for running step functions.",
)
@click.option(
    "--reload",
    "reloads",
    is_flag=True,
    help="Start anew whenever a Python file below the working directory changes.",
)
@click.option("--stop-fd", type=int, hidden=True, help="A pipe through which --reload asks.")
@output_option
@click.pass_context
def dev(
    ctx: click.Context,
    target: str,
    directory: Path,
    drain_s: float,
    reloads: bool,
    stop_fd: int | None,
    output: str,
) -> None:
    """Run the workflows ATTR of MODULE, a workflow or a list of them, until Ctrl-C.

    Open runs of the directory go on. Ctrl-C or SIGTERM lets running step functions end; a
    second one cuts them off, and they run again after the next start.
    """
    if reloads:
        arguments = ["--dir", str(directory), "--drain", str(drain_s), "--output", output, "--"]
        ctx.exit(run_reloading(arguments, target, drain_s))
    workflows = load_workflows(target)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        engine = Engine.open(directory, workflows=workflows, drain=drain_s, on_stop="exit")
    except ValueError as error:  # Two workflows of one name and version.
        raise click.UsageError(str(error)) from None
    was_cut = asyncio.run(_run(engine, directory, workflows, output, stop_fd))
    if was_cut:
        ctx.exit(ExitCode.INTERRUPTED)


async def _run(
    engine: Engine,
    directory: Path,
    workflows: list[Workflow[Any, Any]],
    output: str,
    stop_fd: int | None,
) -> bool:
    """Run until told to stop; return whether a second request cut the stopping short."""
    asked = asyncio.Event()
    closing: asyncio.Task[None] | None = None

    def stop(requests: int) -> None:
        if closing is not None and requests > 1:
            closing.cancel()
        asked.set()

    loop = asyncio.get_running_loop()
    StopRequests(stop, stop_fd)
    async with engine:
        await _replayed(engine.life, asked)
        _print_opened(_opened(engine.life, directory, workflows), output)
        await asked.wait()
        running = len(engine.life.runner.running)
        if running:
            text = f"stopping: {running} step functions still run; again to cut them off"
            click.echo(text, err=True)
        closing = loop.create_task(engine.close())
        try:
            await closing
        except asyncio.CancelledError:
            return True
    return False


async def _replayed(life: Life, asked: asyncio.Event) -> None:
    """Wait until the runs that were open have been replayed, within reason."""
    until = time.monotonic() + REPLAY_S_MAX
    waiting = life.core.table.open_runs()
    while waiting and time.monotonic() < until and not asked.is_set():
        await asyncio.sleep(_LOOK_AGAIN_S)
        waiting = [run for run in waiting if _is_replaying(run)]


def _is_replaying(run: Run) -> bool:
    if run.held is not None or not run.is_open:
        return False
    return run.program is None or run.program.machine.history is not None


def _opened(life: Life, directory: Path, workflows: list[Workflow[Any, Any]]) -> Opened:
    runs = life.core.table.open_runs()
    device = life.assembly.device
    method = getattr(device, "method", None)
    return Opened(
        version=fusee.__version__,
        directory=str(directory),
        method=method.label if method is not None else "",
        flush_p50_us=round(device.flush_ns / 1000, 1) if device is not None else 0.0,
        workflows=[f"{w.name}@{w.version}" for w in workflows],
        open_runs=len(runs),
        held_runs=sum(run.held is not None for run in runs),
        pid=os.getpid(),
    )


def p50_text(p50_us: float) -> str:
    """Return the median of a flush as `fusee disk-check` writes it."""
    return f"{p50_us:.1f} µs" if p50_us < 1_000 else f"{p50_us / 1_000:.1f} ms"


def _print_opened(opened: Opened, output: str) -> None:
    if output == JSON:
        print_json(opened)
    elif output != TABLE:
        values = msgspec.to_builtins(opened)
        cells = [str(v) for v in {**values, "workflows": " ".join(opened.workflows)}.values()]
        print_tsv([name.upper() for name in values], [cells])
    else:
        click.echo(f"fusee {opened.version}  local {opened.directory} ({opened.method})")
        slow = " — a slow disk; numbers from it say nothing about servers (fusee disk-check)"
        is_slow = opened.flush_p50_us > SLOW_FLUSH_US
        click.echo(f"flush p50 {p50_text(opened.flush_p50_us)}{slow if is_slow else ''}")
        names = " ".join(opened.workflows)
        counts = f"open runs {opened.open_runs}, held {opened.held_runs}"
        click.echo(f"workflows {names}      {counts}      pid {opened.pid}")
    # Whoever reads a pipe waits for this; nothing else may follow for hours.
    sys.stdout.flush()
