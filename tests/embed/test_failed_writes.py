"""A write or flush that fails stops the engine: nothing leaves any more, everybody hears why."""

from __future__ import annotations

import asyncio
import errno
from itertools import count

import pytest

from fusee import EngineStopped, StorageFull
from fusee.base.errors import DirectoryLocked
from fusee.base.limits import STORAGE_RESERVE_BYTES
from fusee.embed.assembly import abandon
from fusee.io.directory import Directory
from fusee.io.file_device import FileDevice
from fusee.io.methods import Method
from tests.support.crash_device import CrashDevice, Failure
from tests.support.engines import engine_on, formatted
from tests.support.shop import Shop
from tests.support.world import World

FAILURES = [
    pytest.param({"error": errno.EIO}, id="EIO"),
    pytest.param({"error": errno.ENOSPC}, id="ENOSPC"),
    pytest.param({"error": errno.EIO, "landed_bytes": 512}, id="short write"),
    pytest.param({"error": errno.EIO, "landed_bytes": 1 << 20}, id="failed flush"),
]
INLINE_NS, THREAD_NS = 100_000, 500_000


@pytest.mark.parametrize("flush_ns", [INLINE_NS, THREAD_NS], ids=["inline", "thread"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failed_write_stops_the_engine_and_a_new_process_recovers(failure, flush_ns):
    for call in count(1):
        world = World(Shop(), flush_ns=flush_ns)
        try:
            has_finished = world.live(failure=Failure(call, **failure))
        except OSError:
            assert not world.service.calls, "opening fails as a whole, before anything runs"
            has_finished = False
        else:
            engine = world.engine
            assert has_finished or isinstance(engine.stopped, OSError)
        world.finish()
        if has_finished:
            break
    assert call > 20


def test_after_a_failed_write_no_function_starts_and_nothing_is_released():
    world = World(Shop())
    world.ledger.is_engine_dead = lambda: world.disk.has_failed
    world.live(failure=Failure(17))
    assert world.disk.has_failed
    world.ledger.assert_kept()


@pytest.mark.parametrize("flush_ns", [INLINE_NS, THREAD_NS], ids=["inline", "thread"])
def test_every_waiter_hears_the_cause_and_new_calls_are_refused(flush_ns):
    async def main() -> None:
        shop = Shop()
        device = formatted(CrashDevice(flush_ns=flush_ns))
        async with engine_on(device, shop) as engine:
            run = await engine.start(shop.order, "anna", "anna")
            result = asyncio.ensure_future(run.result())
            await asyncio.sleep(0)
            device.failure = Failure(device.call_count + 1)
            start = asyncio.ensure_future(engine.start(shop.chain, "chain", 1))
            for waiter in (result, start):
                with pytest.raises(EngineStopped) as stopped:
                    await waiter
                assert isinstance(stopped.value.cause, OSError)
            assert isinstance(engine.stopped, OSError)
            for call in (
                engine.start(shop.chain, "other", 1),
                run.result(),
                run.signal("approve", "x"),
                run.query("progress"),
                run.describe(),
                run.journal(),
            ):
                with pytest.raises(EngineStopped, match="injected"):
                    await call
        assert isinstance(engine.stopped, OSError), "leaving the block returns and keeps the cause"

    asyncio.run(main())


@pytest.mark.parametrize("flush_ns", [INLINE_NS, THREAD_NS], ids=["inline", "thread"])
def test_a_write_that_fails_while_the_engine_closes_does_not_keep_close_from_returning(flush_ns):
    async def main() -> None:
        shop = Shop()
        device = formatted(CrashDevice(flush_ns=flush_ns))
        async with engine_on(device, shop) as engine:
            device.failure = Failure(device.call_count + 1)
            start = asyncio.ensure_future(engine.start(shop.chain, "chain", 1))
            await asyncio.sleep(0)
            await engine.close()
            with pytest.raises(EngineStopped):
                await start
        assert isinstance(engine.stopped, OSError)

    asyncio.run(main())


@pytest.mark.parametrize(("is_buffered", "stays_locked"), [(True, True), (False, False)])
def test_only_a_buffered_device_keeps_the_lock_until_the_process_ends(
    tmp_path, is_buffered, stays_locked
):
    directory = Directory.acquire(tmp_path / "log")

    async def main() -> None:
        shop = Shop()
        device = formatted(CrashDevice())
        device.is_buffered = is_buffered
        async with engine_on(device, shop, directory=directory) as engine:
            device.failure = Failure(device.call_count + 1)
            with pytest.raises(EngineStopped):
                await engine.start(shop.chain, "chain", 1)

    asyncio.run(main())
    try:
        if stays_locked:
            with pytest.raises(DirectoryLocked, match="until this process"):
                Directory.acquire(tmp_path / "log")
        else:
            Directory.acquire(tmp_path / "log").release()
    finally:
        directory.withheld_because = ""
        directory.release()


@pytest.mark.parametrize(("method", "stays_locked"), [("BUFFERED", True), ("DIRECT", False)])
def test_an_open_that_fails_keeps_the_lock_where_opening_again_would_believe_a_lie(
    tmp_path, method, stays_locked
):
    directory = Directory.acquire(tmp_path / "log")
    device = FileDevice(directory.path, Method[method], INLINE_NS)
    with pytest.raises(FileNotFoundError):
        device.write("superblock", 0, bytes(4096))

    abandon(directory, device)

    try:
        assert bool(directory.withheld_because) == stays_locked
        if not stays_locked:
            Directory.acquire(tmp_path / "log").release()
    finally:
        directory.withheld_because = ""
        directory.release()


# ---------------------------------------------------------------- little space


def test_starts_are_refused_before_the_disk_is_full_and_open_runs_finish():
    async def main() -> None:
        shop = Shop()
        device = formatted(CrashDevice())
        async with engine_on(device, shop) as engine:
            await engine.start(shop.book, "book", 1)
            run = await engine.start(shop.order, "anna", "anna")
            device.free = STORAGE_RESERVE_BYTES - 1
            engine.life.upkeep._look_at_space()
            with pytest.raises(StorageFull, match="192 MiB free"):
                await engine.start(shop.chain, "chain", 1)
            await run.signal("approve", "yes")
            assert (await run.result())[-2] == "yes"
            device.free = STORAGE_RESERVE_BYTES
            engine.life.upkeep._look_at_space()
            await engine.run(shop.chain, "chain", 1)

    asyncio.run(main())


def test_an_engine_opened_on_a_full_disk_takes_starts_again_once_there_is_space():
    async def main() -> None:
        shop = Shop()
        device = formatted(CrashDevice())
        device.free = 0
        async with engine_on(device, shop) as engine:
            with pytest.raises(StorageFull):
                await engine.start(shop.chain, "chain", 1)
            device.free = STORAGE_RESERVE_BYTES
            async with asyncio.timeout(20):
                while True:
                    try:
                        await engine.run(shop.chain, "chain", 1)
                    except StorageFull:
                        await asyncio.sleep(0.05)
                    else:
                        return

    asyncio.run(main())
