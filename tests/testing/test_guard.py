"""Code in the simulator that reaches for the real world is stopped, and its line is named."""

from __future__ import annotations

import asyncio
import datetime
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from time import time as time_by_name
from typing import Any

import pytest

from fusee import Context, WorkflowFailed, workflow
from fusee.testing import Faults, NotSimulated, Simulator


def clock(name: str) -> Callable[[], Any]:
    def ask() -> Any:
        return getattr(time, name)()

    return ask


acts: dict[str, Callable[[], Any]] = {
    "a socket": socket.socket,
    "a name": lambda: socket.getaddrinfo("localhost", 80),
    "a thread": lambda: threading.Thread(target=int).start(),
    "a subprocess": lambda: subprocess.run([sys.executable, "-c", ""], check=False),
    "os.system": lambda: os.system("true"),
    "time.sleep()": lambda: time.sleep(0),
    "time.time()": clock("time"),
    "time.time_ns()": clock("time_ns"),
    "time.monotonic()": clock("monotonic"),
    "time.perf_counter()": clock("perf_counter"),
    "time.process_time_ns()": clock("process_time_ns"),
}
SAID = {"a name": "a socket", "os.system": "a subprocess"}


async def act(what: str) -> str:
    return str(acts[what]())


def act_in_thread(what: str) -> str:
    return str(acts[what]())


async def act_on_the_loop(what: str) -> str:
    if what == "thread":
        return str(await asyncio.to_thread(int))
    reader, _ = await asyncio.open_connection("localhost", 80)
    return str(reader)


@workflow
async def steps(ctx: Context, what: str) -> str:
    return await ctx.step(act, what)


@workflow
async def sync_steps(ctx: Context, what: str) -> str:
    return await ctx.step(act_in_thread, what)


@workflow
async def loop_steps(ctx: Context, what: str) -> str:
    return await ctx.step(act_on_the_loop, what)


@workflow
async def swallows(ctx: Context, what: str) -> str:
    try:
        return await ctx.step(act, what)
    except Exception:
        return "went on"


@workflow
async def itself(ctx: Context, what: str) -> str:
    return str(acts[what]())


def asking(flow: Any, what: str) -> Callable[[Simulator], Any]:
    async def scenario(sim: Simulator) -> str:
        return await sim.engine.run(flow, "x-1", what)

    return scenario


@pytest.mark.parametrize("what", acts)
@pytest.mark.parametrize("flow", [steps, sync_steps], ids=["async", "sync"])
def test_a_step_that_reaches_for_the_real_world_is_stopped(flow: Any, what: str) -> None:
    said = SAID.get(what, what)

    with pytest.raises(AssertionError) as failure:
        Simulator([flow]).run(asking(flow, what))

    assert isinstance(failure.value.__cause__, NotSimulated)
    text = str(failure.value)
    assert text.startswith(f"NotSimulated: {said} in a step at test_guard.py:")
    assert "give the step a stub with sim.stub(step, function)" in text
    assert "seed=0" in text


@pytest.mark.parametrize("what", ["thread", "connection"])
def test_what_a_step_asks_of_its_loop_is_stopped_too(what: str) -> None:
    with pytest.raises(AssertionError, match=r"in a step at test_guard.py:\d+; the simulator has"):
        Simulator([loop_steps]).run(asking(loop_steps, what))


def test_a_workflow_that_swallows_the_refusal_does_not_hide_it() -> None:
    with pytest.raises(AssertionError, match="NotSimulated: a socket in a step at test_guard.py"):
        Simulator([swallows]).run(asking(swallows, "a socket"))


@pytest.mark.parametrize(
    ("what", "instead"),
    [("time.time()", "use ctx.now()"), ("time.sleep()", "await ctx.sleep"), ("a socket", "step")],
)
def test_workflow_code_is_told_what_to_use_instead(what: str, instead: str) -> None:
    with pytest.raises(AssertionError) as failure:
        Simulator([itself]).run(asking(itself, what))

    first = str(failure.value).splitlines()[0]
    assert first.startswith(f"NotSimulated: {what} in workflow code at test_guard.py:")
    assert instead in first


def test_the_scenario_is_told_to_ask_the_simulator() -> None:
    async def scenario(sim: Simulator) -> None:
        time.sleep(1)  # noqa: ASYNC251 - what is refused

    with pytest.raises(
        AssertionError, match=r"in the simulator at .*sim.now\(\) and `await sim.ad"
    ):
        Simulator([steps]).run(scenario)


def test_clocks_are_back_afterwards_and_sockets_work() -> None:
    clocks = {name: getattr(time, name) for name in ("time", "monotonic", "perf_counter_ns")}

    with pytest.raises(AssertionError):
        Simulator([steps]).run(asking(steps, "time.time()"))

    assert {name: getattr(time, name) for name in clocks} == clocks
    socket.socket().close()
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def test_other_threads_are_not_watched() -> None:
    went: list[float] = []
    begin, done = threading.Event(), threading.Event()

    def beside() -> None:
        begin.wait()
        socket.socket().close()
        went.append(time.monotonic())
        done.set()

    thread = threading.Thread(target=beside)
    thread.start()

    async def scenario(sim: Simulator) -> None:
        begin.set()
        done.wait()

    Simulator([steps]).run(scenario)
    thread.join()

    assert len(went) == 1


def test_what_cannot_be_seen_is_known() -> None:
    """The limits that docs/testing.md tells of: a clock bound by name, and datetime."""
    seen: list[object] = []

    async def scenario(sim: Simulator) -> None:
        seen.append(time_by_name())
        seen.append(datetime.datetime.now(datetime.UTC))

    Simulator([steps]).run(scenario)

    assert len(seen) == 2


def test_the_modules_of_a_cold_process_may_look_at_the_clock_while_they_are_imported() -> None:
    assert IMPORTED_AT

    async def scenario(sim: Simulator) -> None:
        await sim.crash()

    Simulator([steps], faults=Faults(cold_process=True)).run(scenario)


IMPORTED_AT = time.time()


@workflow
async def spins(ctx: Context) -> None:
    while True:
        try:
            for _ in range(1000):
                pass
        except BaseException as error:
            raise ValueError("taken for its own") from error


class TimeLimit(BaseException):
    """As pytest-timeout raises it."""


@pytest.mark.skipif(not hasattr(__import__("signal"), "SIGALRM"), reason="no SIGALRM here")
def test_a_time_limit_ends_a_simulation_whose_code_catches_everything() -> None:
    import signal

    def expire(*_: object) -> None:
        raise TimeLimit

    before = signal.signal(signal.SIGALRM, expire)
    remaining, _ = signal.setitimer(signal.ITIMER_REAL, 0.3)

    async def scenario(sim: Simulator) -> None:
        with pytest.raises(WorkflowFailed):
            await sim.engine.run(spins, "s-1")
        await sim.engine.run(spins, "s-2")

    try:
        with pytest.raises(TimeLimit):
            Simulator([spins]).run(scenario)
        assert signal.getsignal(signal.SIGALRM) is expire
    finally:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, remaining)
