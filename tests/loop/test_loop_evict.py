"""An evicted run unwinds at once and in silence; what refuses is named and left alone."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import pytest

from fusee.loop.asyncgens import AsyncgenHooks
from fusee.loop.evict import Evicted
from tests.support.evicting import Log, Saga, ctx_call, evict
from tests.support.loop_host import Run, this_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.usefixtures("nothing_is_logged")


def test_a_tree_of_everything_unwinds_without_compensation() -> None:
    saga = Saga()

    async def leaf(name: str) -> None:
        await saga.guarded(name, ctx_call)

    async def sleeper() -> None:
        async with asyncio.timeout(50):
            await saga.guarded("sleeper", lambda: asyncio.sleep(100))

    async def group() -> None:
        async with asyncio.TaskGroup() as inner:
            inner.create_task(leaf("in group 1"))
            inner.create_task(sleeper())
            await saga.guarded("group body", ctx_call)

    async def child_of_child() -> None:
        await saga.guarded("waits for a task", lambda: asyncio.create_task(leaf("grandchild")))

    async def main() -> None:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(saga.resource("resource"))
            stack.push_async_callback(saga.refund, "flight")
            stack.push_async_callback(saga.refund, "hotel")
            async with asyncio.TaskGroup() as outer:
                outer.create_task(group())
                outer.create_task(child_of_child())
                async with asyncio.timeout(30):
                    await asyncio.gather(
                        leaf("gathered 1"), asyncio.shield(leaf("shielded")), leaf("gathered 2")
                    )

    assert evict(main()) == []
    assert saga.caught == []
    assert saga.refunds == []
    assert sorted(saga.finals) == sorted(
        [
            "in group 1",
            "sleeper",
            "group body",
            "waits for a task",
            "grandchild",
            "resource",
            "gathered 1",
            "shielded",
            "gathered 2",
        ]
    )


def test_children_leave_before_their_parents() -> None:
    saga = Saga()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(saga.guarded(f"child {number}", ctx_call))
            await saga.guarded("parent", ctx_call)

    assert evict(main()) == []
    assert saga.finals == ["child 2", "child 1", "child 0", "parent"]


WAITS: dict[str, Callable[[], Any]] = {
    "operation": ctx_call,
    "sleep": lambda: asyncio.sleep(9),
    "wait_for": lambda: asyncio.wait_for(ctx_call(), 9),
    "wait_for code": lambda: asyncio.wait_for(asyncio.sleep(9), 9),
    "wait": lambda: asyncio.wait([asyncio.ensure_future(ctx_call())], timeout=9),
    "gather": lambda: asyncio.gather(ctx_call(), asyncio.sleep(9), return_exceptions=True),
    "shield": lambda: asyncio.shield(asyncio.sleep(9)),
    "event": lambda: asyncio.Event().wait(),
    "queue": lambda: asyncio.Queue().get(),
    "barrier": lambda: asyncio.Barrier(2).wait(),
    "task of task": lambda: asyncio.create_task(asyncio.wait_for(asyncio.sleep(9), 9)),
    "as_completed": lambda: next(iter(asyncio.as_completed([asyncio.sleep(9)]))),
}


@pytest.mark.parametrize("waiting", WAITS)
def test_every_way_to_wait_ends_without_a_handler(waiting: str) -> None:
    saga = Saga()
    assert evict(saga.guarded("it", WAITS[waiting])) == []
    assert saga.finals == ["it"]
    assert saga.caught == []


async def locked(lock: asyncio.Lock | asyncio.Condition, saga: Saga) -> None:
    async with lock:
        await saga.guarded("holder", ctx_call)


@pytest.mark.parametrize("make", [asyncio.Lock, asyncio.Condition])
def test_those_who_wait_for_a_lock_end_with_its_holder(make: Any) -> None:
    saga = Saga()

    async def main() -> None:
        lock = make()
        await asyncio.gather(*(locked(lock, saga) for _ in range(5)))

    assert evict(main()) == []
    assert saga.finals == ["holder"]
    assert saga.caught == []


def test_cleanup_that_awaits_ends_in_a_later_round() -> None:
    seen: Log = []

    async def main() -> None:
        lock = asyncio.Lock()
        await lock.acquire()
        try:
            await ctx_call()
        finally:
            try:
                await asyncio.sleep(0)
                seen.append("slept")
                await lock.acquire()
            finally:
                seen.append("left")

    assert evict(main()) == []
    assert seen == ["slept", "left"]


def test_cleanup_can_start_no_task_and_no_timer() -> None:
    seen: Log = []

    async def main() -> None:
        try:
            await ctx_call()
        finally:
            for start in (
                lambda: asyncio.create_task(asyncio.sleep(1)),
                lambda: this_loop().call_later(1, print),
            ):
                try:
                    start()
                except Evicted:
                    seen.append("refused")

    assert evict(main()) == []
    assert seen == ["refused", "refused"]


def test_cancelling_others_in_cleanup_reaches_nobody() -> None:
    saga = Saga()
    seen: list[bool] = []

    async def main() -> None:
        others = [asyncio.create_task(saga.guarded(f"{n}", ctx_call)) for n in range(3)]
        future = this_loop().create_future()
        try:
            await ctx_call()
        finally:
            seen.extend(other.cancel() for other in others)
            seen.append(future.cancel())

    assert evict(main()) == []
    assert seen == [False] * 4
    assert saga.caught == []
    assert sorted(saga.finals) == ["0", "1", "2"]


def test_code_that_has_not_begun_never_begins() -> None:
    seen: Log = []

    async def child() -> None:
        seen.append("began")

    async def main(child: asyncio.Task[None]) -> None:
        try:
            await child
        finally:
            seen.append("parent left")

    run = Run(asyncio.sleep(5))
    new_child = run.loop.create_task(child())
    parent = run.loop.create_task(main(new_child))
    assert run.loop.evict() == []
    assert parent.done()
    assert new_child.done()
    assert seen == []
    assert run.loop.complaints == []


def test_code_that_is_ready_gets_no_further_than_its_next_call() -> None:
    seen: Log = []

    async def main() -> None:
        nonlocal first
        first = this_loop().create_future()
        seen.append(await first)
        await ctx_call()
        seen.append("went on")

    first: asyncio.Future[str]
    run = Run(main())
    first.set_result("delivered")
    assert run.loop.evict() == []
    assert seen == ["delivered"]
    assert run.task.done()


def test_async_generators_unwind_with_the_run() -> None:
    saga = Saga()

    async def numbers(name: str) -> AsyncIterator[int]:
        try:
            yield 1
            await ctx_call()
            yield 2
        except Exception:
            saga.caught.append(name)
        finally:
            saga.finals.append(name)
            await saga.refund(name)

    async def main() -> None:
        async for _ in numbers("left"):
            break
        async for _ in numbers("in its body"):
            if not saga.finals:
                saga.finals.append("body")
                continue
        saga.caught.append("went on")

    hooks = AsyncgenHooks()
    hooks.ensure()
    try:
        assert evict(main()) == []
    finally:
        hooks.restore()
    assert sorted(saga.finals) == ["body", "in its body", "left"]
    assert saga.caught == []
    assert saga.refunds == []
