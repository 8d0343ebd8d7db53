"""A process to be killed: runs numbered workflows, and prints what it was told, once it was.

    python -m tests.support.victim DIRECTORY SERVICE_LOG FIRST

Lines are JSON: {"start": id}, {"signal": id}, {"result": id, "value": [...]}. The service its
steps call is a file that each call appends one line to, with its own answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from fusee import AlreadyFinished, Context, Engine, Retry, Signal, WorkflowFinished, workflow
from fusee import current_step as step_of

AT_ONCE = 16
go = Signal[int]("go")
_service = -1


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def serve(**given: Any) -> str:
    """Be the service: remember the call before anything can come of it, and answer."""
    step = step_of()
    answer = os.urandom(6).hex()
    line = json.dumps({"key": step.key, "attempt": step.attempt, "input": given, "answer": answer})
    os.write(_service, line.encode() + b"\n")
    return answer


async def pay(order: str, last: str) -> str:
    answer = serve(order=order, last=last)
    await asyncio.sleep(0.001)
    if answer[0] == "0" and step_of().attempt < 3:
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


async def one(engine: Engine, number: int) -> None:
    name = f"order-{number}"
    try:
        run = await engine.options(request_id=name).start(order, name, name)
    except AlreadyFinished as finished:
        run = finished.run
    say(start=name)
    try:
        await run.signal(go, number, signal_id="go")
        say(signal=name)
    except WorkflowFinished:
        pass
    say(result=name, value=await run.result())


async def main(directory: str, service_log: str, first: int) -> None:
    global _service  # one process, one service
    _service = os.open(service_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    async with Engine.open(directory, workflows=[order], drain=2) as engine:
        say(open=os.getpid())
        if "last" in sys.argv:
            await asyncio.gather(*(one(engine, n) for n in range(first)))
            return
        numbers = iter(range(max(0, first - 2 * AT_ONCE), 1 << 30))

        async def client() -> None:
            for number in numbers:
                await one(engine, number)

        await asyncio.gather(*(client() for _ in range(AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
