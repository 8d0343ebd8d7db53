"""A turn borrows the thread from the host's loop and gives it back as it was."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from fusee.base.errors import IllegalInWorkflow
from fusee.loop.workflow_loop import WorkflowLoop
from tests.support.loop_host import ManualHost, Run, finish, this_loop

if TYPE_CHECKING:
    from collections.abc import Callable

uvloop = pytest.importorskip("uvloop")

HOSTS = [asyncio.new_event_loop, uvloop.new_event_loop, lambda: WorkflowLoop(ManualHost())]


def run_on(make_host: Callable[[], asyncio.AbstractEventLoop], main: Any) -> Any:
    host = make_host()
    if isinstance(host, WorkflowLoop):
        task = host.create_task(main)
        host.run_until_idle()
        host.close()
        return task.result()
    try:
        return host.run_until_complete(main)
    finally:
        host.close()


@pytest.mark.parametrize("make_host", HOSTS)
def test_a_turn_leaves_the_hosts_loop_and_task_as_they_were(make_host: Any) -> None:
    async def inside(host: asyncio.AbstractEventLoop) -> str:
        assert asyncio.get_running_loop() is not host
        assert this_loop().is_running()
        inner = asyncio.current_task()
        assert inner is not None
        await asyncio.sleep(1)
        assert asyncio.current_task() is inner
        return inner.get_name()

    async def main() -> str:
        host, task = asyncio.get_running_loop(), asyncio.current_task()
        run = Run(inside(host))
        for _ in range(2):
            assert asyncio.get_running_loop() is host
            assert asyncio.current_task() is task
            assert not run.loop.is_running()
            await asyncio.sleep(0)
        # From a plain callback as well, where there is no current task.
        done = host.create_future()
        host.call_soon(lambda: (run.finish(), done.set_result(None)))
        await done
        assert asyncio.current_task() is task
        return str(run.task.result())

    assert run_on(make_host, main()) == "Task-1"


def test_the_host_is_back_after_sys_exit_and_the_run_can_go_on() -> None:
    async def exits() -> None:
        raise SystemExit(3)

    async def waits() -> str:
        return "went on"

    async def main() -> Any:
        host = asyncio.get_running_loop()
        loop = WorkflowLoop(ManualHost())
        exiting, waiting = loop.create_task(exits()), loop.create_task(waits())
        with pytest.raises(SystemExit):
            loop.run_until_idle()
        assert asyncio.get_running_loop() is host
        loop.run_until_idle()
        assert isinstance(exiting.exception(), SystemExit)
        return waiting.result()

    assert asyncio.run(main()) == "went on"


def test_a_turn_inside_a_turn_of_the_same_run_is_refused() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError):
            this_loop().run_until_idle()

    finish(main())


def test_ten_thousand_cancelled_sleeps_leave_nothing_behind() -> None:
    async def main() -> str:
        tasks = [asyncio.create_task(asyncio.sleep(100)) for _ in range(10_000)]
        await asyncio.sleep(1)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        return "done"

    run = Run(main())
    assert len(run.host.timers) == 10_001
    assert run.finish() == "done"
    assert run.host.timers == {}
    assert run.loop.complaints == []


def test_dropped_tasks_live_until_they_are_done() -> None:
    seen: list[int] = []

    async def background(number: int) -> None:
        # Nothing outside refers to this future, so it is a cycle with its task.
        alone = this_loop().create_future()
        this_loop().call_later(1 + number, alone.set_result, None)
        await alone
        seen.append(number)

    async def main() -> None:
        for number in range(50):
            asyncio.create_task(background(number))  # noqa: RUF006
        await asyncio.sleep(100)

    run = Run(main())
    while not run.task.done():
        gc.collect()
        assert run.host.advance()
        run.turn()
    assert seen == list(range(50))
    assert run.loop.complaints == []


def test_finished_tasks_are_let_go() -> None:
    async def nothing() -> None: ...

    async def main() -> None:
        for _ in range(1_000):
            await asyncio.create_task(nothing())

    run = Run(main())
    assert run.task.done()
    assert len(run.loop.tasks) < 50


def test_a_thousand_runs_do_not_slow_each_others_tasks_down() -> None:
    # The first tasks of all runs have equal numbers, and asyncio keeps them in one set.
    runs = [Run(asyncio.sleep(1)) for _ in range(1_000)]
    assert {hash(run.task) for run in runs} == {1}
    name = "_scheduled_tasks" if sys.version_info >= (3, 12) else "_all_tasks"
    hashes = {hash(ref) for ref in getattr(asyncio.tasks, name).data}
    assert len(hashes) >= len(runs)
    for run in runs:
        run.finish()


def test_errors_nobody_awaits_are_kept_for_the_engine() -> None:
    async def fails() -> None:
        raise ValueError("dropped")

    async def main() -> None:
        asyncio.create_task(fails())  # noqa: RUF006
        this_loop().call_soon(int, "x")
        await asyncio.sleep(1)

    run = Run(main())
    run.finish()
    run.loop.close()
    gc.collect()
    errors = run.loop.take_errors()
    assert sorted(str(error["exception"]) for error in errors) == [
        "dropped",
        "invalid literal for int() with base 10: 'x'",
    ]
    assert run.loop.take_errors() == []


def test_a_closed_loop_is_deaf() -> None:
    async def main() -> None:
        await this_loop().create_future()

    run = Run(main())
    future = run.loop.create_future()
    future.add_done_callback(print)
    run.loop.close()
    assert run.loop.is_closed()
    future.set_result(None)
    run.loop.run_until_idle()
    with pytest.raises(RuntimeError):
        run.loop.create_task(asyncio.sleep(0))
    run.loop.close()
    assert run.task.done()


ILLEGAL = {
    "a thread": lambda: asyncio.to_thread(print),
    "socket I/O": lambda: asyncio.open_connection("localhost", 1),
    "name resolution": lambda: this_loop().getaddrinfo("localhost", 1),
    "a subprocess": lambda: asyncio.create_subprocess_exec("true"),
}


@pytest.mark.parametrize("what", ILLEGAL)
def test_what_reaches_outside_is_refused_with_the_users_line(what: str) -> None:
    async def main() -> str:
        with pytest.raises(IllegalInWorkflow) as caught:
            await ILLEGAL[what]()
        return str(caught.value)

    text = finish(main())
    assert text.startswith(f"{what} in workflow code at test_loop_turns.py:")
    assert text.endswith("; move it into ctx.step(...)")


def test_every_method_of_an_event_loop_is_decided_on() -> None:
    for name in dir(asyncio.AbstractEventLoop):
        if not name.startswith("_"):
            ours = getattr(WorkflowLoop, name)
            assert ours is not getattr(asyncio.AbstractEventLoop, name), name


def test_another_thread_cannot_reach_into_a_run() -> None:
    run = Run(asyncio.sleep(1))
    caught: list[type] = []

    def outside() -> None:
        try:
            run.loop.call_soon_threadsafe(print)
        except IllegalInWorkflow as error:
            caught.append(type(error))

    thread = threading.Thread(target=outside)
    thread.start()
    thread.join()
    assert caught == [IllegalInWorkflow]
    run.finish()


def test_eager_tasks_are_refused() -> None:
    async def main() -> None:
        sleeping = asyncio.sleep(0)
        with pytest.raises(IllegalInWorkflow):
            this_loop().create_task(sleeping, eager_start=True)
        await this_loop().create_task(sleeping, eager_start=False)

    finish(main())
