"""A load of numbered orders, each with everything in it, from as many clients as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

from fusee import AlreadyFinished, Context, Engine, Retry, Signal, WorkflowFinished, workflow
from fusee import current_step as step_of
from tests.real.outside import Line

go = Signal[int]("go")
_line: Line
"""One process, one service."""


def serve(*, read_only: bool = False, **given: Any) -> str:
    """Call the service, before anything can come of it."""
    step = step_of()
    return _line.call(call=step.key, attempt=step.attempt, input=given, read_only=read_only)


async def pay(order: str, last: str) -> str:
    answer = serve(order=order, last=last)
    await asyncio.sleep(0.001)
    if answer[1] == "0" and step_of().attempt < 3:
        raise OSError("the service had a bad moment")
    return answer


def pack(order: str, item: int) -> str:
    return serve(order=order, item=item)


@workflow
async def order(ctx: Context, name: str) -> list[str]:
    retry = Retry(5, initial=0.005)
    answers = [await ctx.options(retry=retry).step(pay, name, "")]
    answers += await asyncio.gather(*(ctx.step(pack, name, n) for n in range(2)))
    await ctx.sleep(0.005)
    number = await ctx.wait_for(go)
    answers.append(await ctx.options(retry=retry).step(pay, name, answers[-1]))
    return [*answers, str(number)]


async def _one(engine: Engine, line: Line, number: int) -> None:
    name = f"order-{number}"
    try:
        run = await engine.options(request_id=name).start(order, name, name)
    except AlreadyFinished as finished:
        run = finished.run
    line.say(started=f"{name}/1")
    try:
        await run.signal(go, number, signal_id="go")
        line.say(signalled=f"{name}/1", id="go", payload=str(number))
    except WorkflowFinished:
        pass
    line.say(result=f"{name}/1", value=await run.result())


async def drive(
    engine: Engine, line: Line, *, first: int, at_once: int, total: int | None = None
) -> None:
    """Order, from a number on a little behind the first that nobody has seen acknowledged.

    With a total only up to it, from the beginning, and to the end of every order.
    """
    numbers = iter(range(total)) if total is not None else count(max(0, first - 2 * at_once))

    async def client() -> None:
        for number in numbers:
            await _one(engine, line, number)

    async with asyncio.TaskGroup() as clients:
        for _ in range(at_once):
            clients.create_task(client())


def bind(line: Line) -> Callable[..., Any]:
    """Say where the service is; return the workflow."""
    global _line
    _line = line
    return order
