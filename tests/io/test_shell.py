"""A coroutine that begins at once and becomes a task only if it waits."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import Any

from fusee.io.shell import Shell, enter, leave
from tests.support.aio import in_loop, spin

Ends = list[tuple[Any, BaseException | None]]


async def waits(log: list[str]) -> str:
    log.append("begun")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        log.append("cancelled")
        raise
    return "done"


def begin(log: list[str], ends: Ends) -> Shell:
    """Run `waits` up to its first wait in a fresh shell, and leave the rest to its task."""
    loop = asyncio.get_running_loop()
    shell = Shell(loop)
    coroutine, context = waits(log), copy_context()
    host = asyncio.current_task()
    assert host is not None
    leave(loop, host)
    enter(loop, shell.task)
    awaited = context.run(coroutine.send, None)
    leave(loop, shell.task)
    enter(loop, host)
    shell.carry(coroutine, awaited, context, lambda v, e: ends.append((v, e)))
    return shell


@in_loop
async def test_a_shell_cancelled_before_its_task_began_still_ends_what_it_carries() -> None:
    log: list[str] = []
    ends: Ends = []
    shell = begin(log, ends)
    shell.task.cancel()
    await spin()
    assert log == ["begun", "cancelled"]
    assert isinstance(ends[0][1], asyncio.CancelledError)


@in_loop
async def test_a_shell_cancelled_while_it_carries_ends_what_it_carries() -> None:
    log: list[str] = []
    ends: Ends = []
    shell = begin(log, ends)
    await spin()
    shell.task.cancel()
    await spin()
    assert log == ["begun", "cancelled"]
    assert isinstance(ends[0][1], asyncio.CancelledError)
