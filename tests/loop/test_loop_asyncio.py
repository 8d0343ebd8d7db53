"""The building blocks of asyncio work on a run's loop as they do on asyncio's."""

from __future__ import annotations

import asyncio
import contextvars

import pytest

from fusee.loop.gather import install_gather
from fusee.loop.ordered import install_ordered_set
from fusee.loop.tasks import WorkflowFuture, WorkflowTask
from fusee.loop.wait_for import install_wait_for
from tests.support.loop_host import SECOND, Run, finish, this_loop

install_ordered_set()
install_wait_for()
install_gather()


async def after(seconds: float, value: object = None) -> object:
    await asyncio.sleep(seconds)
    if isinstance(value, BaseException):
        raise value
    return value


def test_gather_keeps_the_order_of_its_arguments() -> None:
    async def main() -> list[object]:
        return await asyncio.gather(after(3, "a"), after(1, "b"), after(2, "c"))

    assert finish(main()) == ["a", "b", "c"]


def test_gathered_sequences_interleave_by_what_is_due() -> None:
    seen: list[str] = []

    async def sequence(name: str, *delays: int) -> None:
        for number, delay in enumerate(delays):
            await asyncio.sleep(delay)
            seen.append(f"{name}{number}")

    async def main() -> None:
        await asyncio.gather(sequence("a", 1, 4, 1), sequence("b", 2, 1, 9))

    finish(main())
    assert seen == ["a0", "b0", "b1", "a1", "a2", "b2"]


def test_the_first_failure_of_gather_leaves_the_others_running() -> None:
    async def main() -> object:
        late = asyncio.create_task(after(5, "late"))
        with pytest.raises(ValueError):
            await asyncio.gather(late, after(1, ValueError()))
        return await late

    assert finish(main()) == "late"


def test_a_task_group_raises_all_failures_and_cancels_siblings_in_order() -> None:
    ended: list[int] = []

    async def child(number: int) -> None:
        try:
            await asyncio.sleep(100)
        finally:
            ended.append(number)

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(40):
                group.create_task(child(number))
                for _ in range(number % 5):
                    this_loop().create_future()
            group.create_task(after(1, ValueError("first")))
            group.create_task(after(1, KeyError("never seen")))

    run = Run(main())
    with pytest.raises(ExceptionGroup) as caught:
        run.finish()
    assert [type(error) for error in caught.value.exceptions] == [ValueError]
    assert ended == list(range(40))
    assert run.host.timers == {}


def test_except_star_takes_the_leaf_of_a_group() -> None:
    async def main() -> str:
        seen = "nothing raised"
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(after(1, ValueError("x")))
                group.create_task(after(2))
        except* ValueError as errors:
            seen = str(errors.exceptions[0])
        return seen

    assert finish(main()) == "x"


def test_wait_returns_real_sets_in_the_order_of_the_arguments() -> None:
    async def main() -> tuple[list[object], int]:
        tasks = [asyncio.ensure_future(after(1 + n % 2, n)) for n in range(20)]
        done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert isinstance(done, set)
        assert done | pending == set(tasks)
        first = [task.result() for task in done]
        done, pending = await asyncio.wait(reversed(tasks))
        return first + [task.result() for task in done], len(pending)

    assert finish(main()) == ([0, *range(19, -1, -1)], 0)


def test_as_completed_starts_coroutines_in_the_order_given() -> None:
    started: list[int] = []

    async def one(number: int) -> int:
        started.append(number)
        await asyncio.sleep(10 - number)
        return number

    async def main() -> list[int]:
        return [await done for done in asyncio.as_completed([one(n) for n in range(10)])]

    assert finish(main()) == list(range(9, -1, -1))
    assert started == list(range(10))


def test_gathers_are_members_of_a_set_like_other_futures() -> None:
    async def main() -> list[list[object]]:
        gathers = {asyncio.gather(after(1, n), after(1, -n)) for n in range(8)}
        done, _ = await asyncio.wait(gathers)
        return sorted(gather.result() for gather in done)

    assert finish(main()) == sorted([n, -n] for n in range(8))


def test_timeout_ends_the_body_and_leaves_no_timer() -> None:
    async def main() -> float:
        begun = this_loop().time()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await asyncio.sleep(5)
        async with asyncio.timeout(2):
            await asyncio.sleep(1)
        return this_loop().time() - begun

    run = Run(main())
    assert run.finish() == 3
    assert run.host.timers == {}
    assert run.host.started == ["timeout", "sleep", "timeout", "sleep"]


def test_timeout_that_is_due_already_takes_no_timer() -> None:
    async def main() -> None:
        async with asyncio.timeout(0):
            await asyncio.sleep(5)

    run = Run(main())
    with pytest.raises(TimeoutError):
        run.finish()
    assert run.host.started == ["sleep"]


def test_wait_for_returns_or_times_out() -> None:
    async def main() -> object:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(after(5), 1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(after(5), 0)
        return await asyncio.wait_for(after(1, "value"), 5)

    run = Run(main())
    assert run.finish() == "value"
    assert run.host.timers == {}
    assert run.host.started == ["timeout", "sleep", "timeout", "sleep"]


def test_shield_keeps_the_inner_task_when_the_outer_is_cancelled() -> None:
    async def main() -> object:
        inner = asyncio.ensure_future(after(2, "kept"))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await asyncio.shield(inner)
        return await inner

    assert finish(main()) == "kept"


@pytest.mark.parametrize("make", [asyncio.Lock, lambda: asyncio.Semaphore(1)])
def test_waiters_for_a_lock_are_served_in_order(make: object) -> None:
    seen: list[int] = []

    async def one(lock: asyncio.Lock, number: int) -> None:
        async with lock:
            await asyncio.sleep(1)
            seen.append(number)

    async def main() -> None:
        lock = make()
        await asyncio.gather(*(one(lock, number) for number in range(5)))

    finish(main())
    assert seen == [0, 1, 2, 3, 4]


def test_event_condition_and_barrier_wake_in_order() -> None:
    seen: list[str] = []

    async def waits(event: asyncio.Event, condition: asyncio.Condition, n: int) -> None:
        await event.wait()
        seen.append(f"event {n}")
        async with condition:
            await condition.wait()
            seen.append(f"condition {n}")
        await barrier.wait()

    async def main() -> None:
        nonlocal barrier
        event, condition, barrier = asyncio.Event(), asyncio.Condition(), asyncio.Barrier(4)
        tasks = [asyncio.create_task(waits(event, condition, n)) for n in range(3)]
        await asyncio.sleep(1)
        event.set()
        await asyncio.sleep(1)
        async with condition:
            condition.notify_all()
        await barrier.wait()
        await asyncio.gather(*tasks)

    barrier: asyncio.Barrier
    finish(main())
    assert seen == [f"{what} {n}" for what in ("event", "condition") for n in range(3)]


def test_a_queue_hands_out_first_in_first_out() -> None:
    async def producer(queue: asyncio.Queue[int]) -> None:
        for number in range(6):
            await asyncio.sleep(1)
            await queue.put(number)

    async def main() -> list[int]:
        queue: asyncio.Queue[int] = asyncio.Queue(2)
        producing = asyncio.create_task(producer(queue))
        got = []
        for _ in range(6):
            got.append(await queue.get())
            queue.task_done()
        await queue.join()
        await producing
        return got

    assert finish(main()) == list(range(6))


def test_sleep_of_nothing_lets_others_run_within_the_turn() -> None:
    seen: list[str] = []

    async def other() -> None:
        seen.append("other")

    async def main() -> None:
        task = asyncio.create_task(other())
        await asyncio.sleep(0)
        seen.append("main")
        await asyncio.sleep(-1)
        await task

    run = Run(main())
    assert run.task.done()
    assert seen == ["other", "main"]
    assert run.host.started == []


def test_a_late_call_can_be_cancelled_before_and_after_its_timer_fired() -> None:
    seen: list[str] = []

    async def main() -> None:
        loop = this_loop()
        loop.call_later(1, seen.append, "kept")
        loop.call_later(1, seen.append, "cancelled").cancel()
        due = loop.call_later(2, seen.append, "cancelled in its turn")
        loop.call_at(loop.time() + 2, due.cancel)
        assert loop.call_soon(seen.append, "x").cancel() is None
        assert due.when() == loop.time() + 2
        await asyncio.sleep(3)

    run = Run(main())
    # The callback that cancels is delivered before the one it cancels.
    victim, canceller = run.host.timers.pop(2), run.host.timers.pop(3)
    assert victim.due_us == canceller.due_us == 1_002 * SECOND
    canceller.fire()
    victim.fire()
    run.turn()
    run.finish()
    assert seen == ["kept"]


@pytest.mark.parametrize("delay", [float("inf"), float("nan"), 1e12])
def test_a_timer_without_a_date_is_refused(delay: float) -> None:
    async def main() -> None:
        with pytest.raises(ValueError):
            this_loop().call_later(delay, print)

    finish(main())


def test_futures_and_tasks_are_those_of_the_run_and_count_in_it() -> None:
    async def main() -> tuple[str, int, int]:
        task = asyncio.current_task()
        future = this_loop().create_future()
        assert type(task) is WorkflowTask
        assert type(future) is WorkflowFuture
        assert future == future
        assert future != this_loop().create_future()
        return task.get_name(), hash(task), hash(future)

    assert finish(main()) == finish(main()) == ("Task-1", 1, 2)


def test_a_task_runs_in_the_context_it_is_given() -> None:
    var: contextvars.ContextVar[str] = contextvars.ContextVar("var", default="none")

    async def main() -> str:
        return var.get()

    async def outer() -> tuple[str, str]:
        var.set("outer")
        empty = this_loop().create_task(main(), context=contextvars.Context())
        return await empty, await asyncio.create_task(main(), name="copied")

    assert finish(outer()) == ("none", "outer")
