"""Closing: it always returns, fails no run, runs no compensation, and loses no result."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from fusee import Context, Engine, EngineStopped, workflow
from fusee.record.kinds import AttemptFailed, Completed
from tests.support import children
from tests.support.aio import in_loop
from tests.support.steps import Held
from tests.support.worlds import HeldLog, opened

held = Held()
PROGRAM = "tests.embed.closing_program"


@workflow
async def one_step(ctx: Context, name: str) -> str:
    return str(await ctx.step(held, name))


@in_loop
async def test_close_lets_running_functions_finish_and_records_what_they_bring() -> None:
    async with opened(one_step, drain=10) as world:
        run = await world.engine.start(one_step, "w", "finishes")
        await held.called("finishes")
        waiting = asyncio.create_task(run.result())
        closing = asyncio.create_task(world.engine.close())
        await world.settle()
        with pytest.raises(EngineStopped):
            await world.engine.start(one_step, "new", "x")
        assert not closing.done()
        held.give("finishes", "result")
        await closing
        with pytest.raises(EngineStopped, match="closed"):
            await waiting
        log = list(world.log)
    async with opened(one_step, log=log) as world:
        assert await world.engine.get(one_step, "w").result() == "result"
    assert held.calls.count("finishes") == 1


@in_loop
async def test_a_function_that_is_cut_off_is_a_re_run_with_the_same_key_and_not_an_attempt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    held.keys.clear()
    async with opened(one_step, drain=0.01) as world:
        await world.engine.start(one_step, "w", "cut off")
        await held.called("cut off")
        await world.engine.close()
        assert "cut off" in held.cancelled
        assert not world.records(AttemptFailed)
        assert not world.records(Completed)
        log = list(world.log)
    assert "step 'Held' of run w/1 was cut off by closing; it runs again" in caplog.text
    async with opened(one_step, log=log) as world:
        await held.called("cut off")
        held.give("cut off", "second time")
        assert await world.engine.get(one_step, "w").result() == "second time"
    assert held.keys == ["w/1/1", "w/1/1"]
    assert held.attempts[-1] == 1


@in_loop
async def test_close_returns_though_functions_and_workflow_code_refuse_to_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stuck = threading.Event()
    ignoring = asyncio.Event()

    def stuck_thread() -> None:
        stuck.wait(20)

    async def ignores_cancel() -> None:
        while not ignoring.is_set():
            try:
                await ignoring.wait()
            except asyncio.CancelledError:
                continue

    @workflow
    async def refuses(ctx: Context) -> None:
        steps = [ctx.step(stuck_thread), ctx.step(ignores_cancel)]
        while True:
            try:
                await asyncio.gather(*steps)
                await asyncio.Event().wait()
            except BaseException:
                continue

    begin = time.monotonic()
    async with opened(refuses, drain=0.1) as world:
        await world.engine.start(refuses, "w")
        await world.settle()
    assert time.monotonic() - begin < 2
    assert "refused to unwind and was left behind" in caplog.text
    ignoring.set()
    stuck.set()
    await asyncio.sleep(0.01)


@in_loop
async def test_results_that_wait_for_their_turn_when_the_engine_closes_are_recorded() -> None:
    """Their functions ran to the end: closing is no crash, and they must not run again."""
    names = [f"late {i}" for i in range(3)]

    @workflow
    async def several(ctx: Context) -> list[str]:
        return list(await asyncio.gather(*(ctx.step(held, name) for name in names)))

    async with opened(several) as world:
        await world.engine.start(several, "w")
        for name in names:
            await held.called(name)
        for name in names:
            held.give(name, name)
        world.core.draining = True  # As `close` does first, before their turns came.
        await world.settle()
        await world.engine.close()
        log = list(world.log)
    before = list(held.calls)
    async with opened(several, log=log) as world:
        assert await world.engine.get(several, "w").result() == names
    assert held.calls == before


@in_loop
async def test_closing_twice_and_closing_what_was_cancelled_are_the_same() -> None:
    async with opened(one_step, drain=30) as world:
        await world.engine.start(one_step, "w", "slow")
        await held.called("slow")
        closing = asyncio.create_task(world.engine.close())
        await world.settle()
        closing.cancel()  # A second Ctrl-C.
        with pytest.raises(asyncio.CancelledError):
            await closing
        await world.engine.close()
        await world.engine.close()


@in_loop
async def test_an_engine_whose_write_failed_releases_nothing_and_closes_at_once() -> None:
    disk = HeldLog()
    async with opened(one_step, storage=disk, drain=30) as world:
        start = asyncio.create_task(world.engine.start(one_step, "w", "never"))
        await world.settle()
        disk.release(OSError(5, "Input/output error"))
        with pytest.raises(EngineStopped) as stopped:
            await start
        assert isinstance(stopped.value.cause, OSError)
        assert isinstance(world.engine.stopped, OSError)
        assert "never" not in held.calls
        with pytest.raises(EngineStopped):
            await world.engine.start(one_step, "w2", "never")


@in_loop
async def test_ctrl_c_cancels_the_steps_and_no_run_notices() -> None:
    """`asyncio.run` cancels every task of the program, those of steps too."""
    async with opened(one_step, drain=5) as world:
        run = await world.engine.start(one_step, "w", "cancelled by the host")
        await held.called("cancelled by the host")
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task():
                task.cancel()
        await world.settle()
        gc.collect()
        assert not world.records(Completed)
        assert (await run.describe()).status == "running"
        log = list(world.log)
    async with opened(one_step, log=log) as world:
        await held.called("cancelled by the host")
        held.give("cancelled by the host", "ok")
        assert await world.engine.get(one_step, "w").result() == "ok"


# ---------------------------------------------------------------- real processes


def read_until(process: subprocess.Popen[str], text: str) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.strip())
        if text in line:
            return lines
    raise AssertionError(f"ended before {text!r}: {lines} {process.communicate()[1]}")


@pytest.mark.real
@pytest.mark.parametrize("how_often", [1, 2])
def test_ctrl_c_runs_no_compensation_and_the_run_goes_on_after_a_restart(
    tmp_path: Path, how_often: int
) -> None:
    for _ in range(2):
        process = children.begin(PROGRAM, str(tmp_path / "data"), "slow")
        seen = read_until(process, "slow x trip/1/")
        for _ in range(how_often):
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert "UNDONE" not in out
        assert "caught" not in err, "the code of the run hears nothing"
        assert "never awaited" not in err
        assert "GeneratorExit" not in err
        assert "destroyed" not in err
        assert "KeyboardInterrupt" in err
    assert "booked flight" not in seen, "the second life replays what the first recorded"


@pytest.mark.real
@pytest.mark.parametrize("how", ["exit", "exit-thread"])
def test_sys_exit_in_a_step_ends_the_program_with_its_code_and_records_nothing(
    tmp_path: Path, how: str
) -> None:
    for _ in range(2):
        done = children.run(PROGRAM, str(tmp_path / "data"), how)
        assert done.returncode == 7, done.stderr
        assert "leaving" in done.stdout
        assert "UNDONE" not in done.stdout
        assert "caught" not in done.stderr
        assert "destroyed" not in done.stderr


async def look_inside(directory: Path) -> Any:
    async with Engine.open(directory, workflows=[]) as engine:
        return await engine.get("saga", "trip").describe()


@pytest.mark.real
def test_after_sys_exit_the_run_is_open_and_its_step_pending(tmp_path: Path) -> None:
    children.run(PROGRAM, str(tmp_path / "data"), "exit")

    info = asyncio.run(look_inside(tmp_path / "data"))

    assert info.status == "running"
    assert [(p.kind, p.name, p.attempt) for p in info.pending][-1] == ("step", "exit", 1)
