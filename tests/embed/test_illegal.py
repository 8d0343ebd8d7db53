"""What workflow code may not do is refused with the line that did it."""

from __future__ import annotations

import asyncio
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fusee
from fusee import Context, IllegalInWorkflow, workflow
from tests.support.aio import in_loop
from tests.support.worlds import opened


async def thread() -> None:
    await asyncio.to_thread(print)


async def executor() -> None:
    await asyncio.get_running_loop().run_in_executor(None, print)


async def socket() -> None:
    await asyncio.open_connection("localhost", 1)


async def server() -> None:
    await asyncio.start_server(print, "localhost", 0)  # type: ignore[arg-type]


async def process() -> None:
    await asyncio.create_subprocess_exec("true")


async def names() -> None:
    await asyncio.get_running_loop().getaddrinfo("localhost", 1)


async def reader() -> None:
    asyncio.get_running_loop().add_reader(0, print)


async def signals() -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, print)


async def nested() -> None:
    asyncio.get_running_loop().run_until_complete(asyncio.sleep(0))


async def step_context() -> None:
    fusee.current_step()


FORBIDDEN: list[Callable[[], Any]] = [
    thread, executor, socket, server, process, names, reader, signals, nested, step_context,
]  # fmt: skip


@workflow
async def tries(ctx: Context, index: int) -> str:
    try:
        await FORBIDDEN[index]()
    except IllegalInWorkflow as error:
        return str(error)
    return "allowed"


@pytest.mark.filterwarnings("ignore:coroutine 'sleep' was never awaited:RuntimeWarning")
@pytest.mark.parametrize("index", range(len(FORBIDDEN)), ids=[f.__name__ for f in FORBIDDEN])
def test_io_in_workflow_code_is_refused_and_named(index: int) -> None:
    @in_loop
    async def scenario() -> None:
        async with opened(tries) as world:
            text = await world.engine.run(tries, "w", index)
        assert "in workflow code" in text
        if FORBIDDEN[index] is not step_context:
            line = FORBIDDEN[index].__code__.co_firstlineno + 1
            assert re.search(rf"test_illegal\.py:{line}\b", text), text

    scenario()


@in_loop
async def test_an_uncaught_refusal_fails_the_run_with_its_text() -> None:
    @workflow
    async def reads_a_socket(ctx: Context) -> None:
        await socket()

    async with opened(reads_a_socket) as world:
        with pytest.raises(fusee.WorkflowFailed, match="socket I/O|name resolution") as failed:
            await world.engine.run(reads_a_socket, "w")
        assert isinstance(failed.value.__cause__, IllegalInWorkflow)


@in_loop
async def test_calls_from_another_thread_or_loop_are_refused() -> None:
    async with opened(tries) as world:
        found: list[BaseException] = []

        def elsewhere() -> None:
            try:
                asyncio.run(world.engine.start(tries, "w", 0))  # type: ignore[arg-type]
            except RuntimeError as error:
                found.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        while thread.is_alive():
            await asyncio.sleep(0)
        assert "another event loop" in str(found[0])
        assert world.log == []


@in_loop
async def test_an_engine_called_from_workflow_code_names_the_line_and_the_way() -> None:
    @workflow
    async def starts_another(ctx: Context) -> None:
        await world.engine.start(tries, "other", 0)

    async with opened(starts_another, tries) as world:
        with pytest.raises(fusee.WorkflowFailed, match=r"test_illegal\.py:\d+; .*ctx\.external"):
            await world.engine.run(starts_another, "w")


@in_loop
async def test_an_engine_that_could_not_be_opened_says_so(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    engine = fusee.Engine.open(file, workflows=[tries])
    with pytest.raises(fusee.DirectoryRefused):
        await engine.__aenter__()

    with pytest.raises(fusee.EngineError, match="not open"):
        await engine.start(tries, "w", 0)
    with pytest.raises(fusee.EngineError, match="not open"):
        engine.get(tries, "w")
    await engine.close()


@in_loop
async def test_a_closed_engine_and_one_never_opened_say_so() -> None:
    never = fusee.Engine.open(":memory:", workflows=[tries])
    with pytest.raises(fusee.EngineError, match="not open"):
        await never.start(tries, "w", 0)
    async with opened(tries) as world:
        run = await world.engine.start(tries, "w", 0)
    for call in (
        lambda: world.engine.start(tries, "w", 0),
        run.result,
        run.describe,
        lambda: run.signal("x", 1),
        lambda: run.query("x"),
    ):
        with pytest.raises(fusee.EngineStopped, match="closed"):
            await call()
    with pytest.raises(fusee.EngineError, match="opened before"):
        await world.engine.__aenter__()
    await world.engine.close()
