"""Eviction names what refuses, frees what it ended, and touches nothing else."""

from __future__ import annotations

import asyncio
import gc
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.evicting import Saga, ctx_call, evict
from tests.support.loop_host import Run, this_loop

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("nothing_is_logged")


async def swallows(waiting: Callable[[], Any]) -> None:
    while True:
        with suppress(BaseException):
            await waiting()


REFUSALS: dict[str, Callable[[], Any]] = {
    "future": lambda: this_loop().create_future(),
    "operation": ctx_call,
    "sleep": lambda: asyncio.sleep(1),
    "spin": lambda: asyncio.sleep(0),
}


@pytest.mark.parametrize("waiting", [name for name in REFUSALS if name != "spin"])
def test_code_that_refuses_is_named_and_left_alone(waiting: str) -> None:
    saga = Saga()

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(swallows(REFUSALS[waiting]), name="stubborn")
            group.create_task(saga.guarded("polite", ctx_call))

    assert evict(main()) == ["stubborn"]
    assert saga.finals == ["polite"]
    assert saga.caught == []


def test_code_that_swallows_everything_is_given_up_after_a_few_thousand_calls() -> None:
    calls = 0

    async def main() -> None:
        nonlocal calls
        while True:
            try:
                calls += 1
                await ctx_call()
            except BaseException:
                pass

    assert evict(main()) == ["Task-1"]
    assert calls < 3_000


def test_code_that_spins_once_it_is_evicted_is_named() -> None:
    async def main() -> None:
        try:
            await ctx_call()
        finally:
            await swallows(REFUSALS["spin"])

    assert evict(main()) == ["Task-1"]


def test_the_memory_of_a_run_is_free_at_once() -> None:
    class Big: ...

    async def child(big: Big) -> None:
        try:
            await ctx_call()
        finally:
            await ctx_call()

    async def main() -> None:
        big = Big()
        alive.append(weakref.ref(big))
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(child(big)) for _ in range(3)]
            await asyncio.gather(*tasks)

    alive: list[weakref.ref[Big]] = []
    gc.collect()
    gc.disable()
    try:
        run = Run(main())
        assert run.loop.evict() == []
        assert alive[0]() is None
    finally:
        gc.enable()


def test_a_run_is_not_evicted_from_inside() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError):
            this_loop().evict()
        await ctx_call()

    assert evict(main()) == []


def test_a_loop_is_evicted_once() -> None:
    run = Run(asyncio.sleep(1))
    assert run.loop.evict() == []
    assert run.loop.evict() == []
    run.loop.close()
    assert run.loop.complaints == []


def test_eviction_leaves_the_hosts_loop_running() -> None:
    async def main() -> bool:
        host, task = asyncio.get_running_loop(), asyncio.current_task()
        evict(asyncio.sleep(1))
        return asyncio.get_running_loop() is host and asyncio.current_task() is task

    assert asyncio.run(main())


def test_a_hundred_runs_with_large_trees_leave_in_one_go() -> None:
    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(asyncio.wait_for(asyncio.sleep(5), 9))

    for _ in range(100):
        run = Run(main())
        assert run.loop.evict() == []
        assert run.task.done()
        assert run.loop.complaints == []
