"""How a process with an engine ends: by a failed write, by Ctrl-C, by a step that exits."""

from __future__ import annotations

import signal

import pytest

from tests.support.processes import start_python

pytestmark = pytest.mark.real

FAILING = """
import asyncio, functools, sys
from fusee import Engine, EngineStopped
from fusee.embed.assembly import assemble_on
from fusee.embed.programs import Registry
from tests.support.counting import count_up
from tests.support.crash_device import CrashDevice, Failure

async def main():
    device = CrashDevice()
    registry = Registry([count_up])
    engine = Engine(functools.partial(assemble_on, device, None), registry, on_stop=sys.argv[1])
    async with engine:
        await engine.run(count_up, "one", 3)
        device.failure = Failure(device.call_count + 1)
        try:
            await engine.run(count_up, "two", 3)
        except EngineStopped as stopped:
            print("stopped by", type(stopped.cause).__name__, flush=True)
    print("left the block", flush=True)

asyncio.run(main())
"""

WAITING = """
import asyncio, sys
from fusee import Context, Engine, workflow

async def hang(n: int) -> None:
    print("in the step", flush=True)
    await asyncio.Event().wait()

async def undo() -> None:
    print("COMPENSATED", flush=True)

@workflow
async def saga(ctx: Context) -> None:
    try:
        await ctx.step(hang, 1)
    except BaseException:
        await ctx.step(undo)
        raise

async def main():
    async with Engine.open(sys.argv[1], workflows=[saga], drain=0.2) as engine:
        engine_run = await engine.options(request_id="once").start(saga, "saga")
        print("started", flush=True)
        try:
            await engine_run.result()
        finally:
            print("journal", [e.status for e in await engine_run.journal()], flush=True)

asyncio.run(main())
"""


def test_on_stop_exit_ends_the_process_with_code_70():
    with start_python(FAILING, "exit") as process:
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (70, "")


def test_on_stop_raise_leaves_the_end_to_the_application():
    with start_python(FAILING, "raise") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out == "stopped by OSError\nleft the block\n"


def test_ctrl_c_runs_no_compensation_and_the_step_runs_again_after_the_next_open(tmp_path):
    for _ in range(2):
        with start_python(WAITING, tmp_path / "log") as process:
            lines = {process.stdout.readline() for _ in range(2)}
            assert lines == {"in the step\n", "started\n"}, process.stderr.read()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert "COMPENSATED" not in out
        assert "journal ['scheduled']" in out, "the run waits as before"
        assert "KeyboardInterrupt" in err
        assert "never awaited" not in err
        assert "was destroyed" not in err
        assert "GeneratorExit" not in err
