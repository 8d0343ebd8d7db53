"""Gathering what is done goes on at once, on any Python; otherwise it is asyncio's gather."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fusee.loop.gather import install_gather
from tests.support.loop_host import finish, this_loop

install_gather()


def ended(value: Any = None, error: BaseException | None = None) -> asyncio.Future[Any]:
    future = this_loop().create_future()
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(error)
    return future


@pytest.mark.parametrize("count", [1, 3])
def test_gathering_futures_that_are_done_does_not_let_others_go_first(count: int) -> None:
    seen: list[str] = []

    async def gathers() -> None:
        await asyncio.gather(*(ended() for _ in range(count)))
        seen.append("gatherer")

    async def main() -> None:
        task = asyncio.ensure_future(gathers())
        asyncio.get_running_loop().call_soon(seen.append, "other")
        await task

    finish(main())
    assert seen == ["gatherer", "other"]


def test_results_come_in_the_order_of_the_arguments_and_once_for_one_given_twice() -> None:
    async def value(number: int) -> int:
        await asyncio.sleep(3 - number)
        return number

    async def main() -> list[Any]:
        twice = asyncio.ensure_future(value(2))
        return await asyncio.gather(value(1), ended(0), twice, twice, value(0))

    assert finish(main()) == [1, 0, 2, 2, 0]


def test_the_first_error_is_raised_and_the_others_run_on() -> None:
    went_on: list[int] = []

    async def goes_on() -> None:
        await asyncio.sleep(5)
        went_on.append(1)

    async def fails() -> None:
        raise ValueError("the first")

    async def main() -> str:
        other = asyncio.ensure_future(goes_on())
        with pytest.raises(ValueError, match="the first"):
            await asyncio.gather(other, fails(), ended(error=KeyError("later")), ended(1))
        await other
        return "over"

    # What is done is looked at before what is not: its error comes first, on every Python.
    async def done_first() -> str:
        with pytest.raises(KeyError):
            await asyncio.gather(fails(), ended(error=KeyError("at once")))
        await asyncio.sleep(1)
        return "over"

    with pytest.raises(BaseException, match="later"):
        finish(main())
    assert finish(done_first()) == "over"


def test_errors_and_cancels_are_outcomes_where_they_are_asked_for() -> None:
    async def main() -> list[Any]:
        cancelled = this_loop().create_future()
        cancelled.cancel()
        error = ValueError("an outcome")
        return await asyncio.gather(ended(1), ended(error=error), cancelled, return_exceptions=True)

    one, error, cancelled = finish(main())
    assert (one, str(error)) == (1, "an outcome")
    assert isinstance(cancelled, asyncio.CancelledError)


def test_cancelling_a_gathering_cancels_its_children_and_is_raised() -> None:
    seen: list[str] = []

    async def child() -> None:
        try:
            await asyncio.sleep(1_000)
        except asyncio.CancelledError:
            seen.append("child")
            raise

    async def main() -> str:
        gathering = asyncio.gather(child(), child(), ended(), return_exceptions=True)
        await asyncio.sleep(1)
        gathering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gathering
        return "over"

    assert finish(main()) == "over"
    assert seen == ["child", "child"]


def test_gathering_nothing_is_done() -> None:
    async def main() -> list[Any]:
        return await asyncio.gather()

    assert finish(main()) == []


def test_outside_of_runs_gather_is_what_it_was() -> None:
    async def main() -> list[Any]:
        return await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2))

    assert asyncio.run(main()) == [1, 2]
