"""A cancel that meets a result is not lost, on any Python."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fusee.loop.wait_for import install_wait_for
from tests.support.loop_host import Run, finish

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

install_wait_for()


async def within_wait_for(outcome: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(outcome, 10)


async def within_wait_for_of_code(outcome: Awaitable[Any]) -> Any:
    async def code() -> Any:
        return await outcome

    return await asyncio.wait_for(code(), 10)


async def within_timeout(outcome: Awaitable[Any]) -> Any:
    async with asyncio.timeout(10):
        return await outcome


async def plain(outcome: Awaitable[Any]) -> Any:
    return await outcome


FORMS = [plain, within_timeout, within_wait_for, within_wait_for_of_code]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("hops", range(5))
@pytest.mark.parametrize("canceller_first", [True, False])
def test_cancel_by_what_the_same_outcome_wakes_is_raised_once(
    form: Callable[[Awaitable[Any]], Any], hops: int, canceller_first: bool
) -> None:
    """The canceller and the cancelled wait for one outcome; every distance in callbacks."""
    raised = 0

    async def waits(outcome: Awaitable[Any]) -> None:
        nonlocal raised
        try:
            await form(outcome)
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            raised += 1
            raise

    async def cancels(outcome: Awaitable[Any], name: str) -> None:
        await outcome
        for _ in range(hops):
            await asyncio.sleep(0)
        next(task for task in tasks if task.get_name() == name).cancel()

    async def main() -> None:
        outcome = asyncio.get_running_loop().create_future()
        starts = [(cancels(outcome, "waits"), "cancels"), (waits(outcome), "waits")]
        for coro, name in starts if canceller_first else reversed(starts):
            tasks.append(asyncio.create_task(coro, name=name))
        await asyncio.sleep(1)
        outcome.set_result("value")
        await asyncio.wait(tasks)

    tasks: list[asyncio.Task[None]] = []
    finish(main())
    assert raised == 1
    assert [task.cancelled() for task in tasks if task.get_name() == "waits"] == [True]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("turns", range(6))
def test_cancel_between_turns_is_cancelled_error_and_never_a_timeout(
    form: Callable[[Awaitable[Any]], Any], turns: int
) -> None:
    async def main() -> None:
        while True:
            await form(asyncio.sleep(1))

    run = Run(main())
    for _ in range(turns):
        run.host.advance()
        run.turn()
    assert not run.task.done()
    run.task.cancel("reason")
    run.turn()
    assert run.task.cancelled()
    with pytest.raises(asyncio.CancelledError):
        run.task.result()
    assert run.host.timers == {}


def test_the_hosts_wait_for_is_as_before() -> None:
    async def main() -> str:
        assert await asyncio.wait_for(asyncio.sleep(0, "value"), 5) == "value"
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(5), 0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 0.001)
        return asyncio.wait_for.__name__

    install_wait_for()
    assert asyncio.run(main()) == "wait_for"
