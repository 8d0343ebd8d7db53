"""A ring is heard at least once, and many rings cost one wake-up."""

from __future__ import annotations

import asyncio
from threading import Thread

import pytest

from fusee.io.wakeup import Wakeup, wake_loop


def test_many_rings_before_an_answer_wake_once(owner):
    heard = []
    bell = Wakeup(owner.wake, lambda: heard.append("x"))
    for _ in range(5):
        bell.ring()
    calls = owner.pending()
    assert len(calls) == 1
    calls[0]()
    assert heard == ["x"]


def test_a_ring_while_the_receiver_reads_is_heard_again(owner):
    heard = []

    def receive():
        heard.append("x")
        if len(heard) == 1:
            bell.ring()

    bell = Wakeup(owner.wake, receive)
    bell.ring()
    owner.turn()
    owner.turn()
    assert heard == ["x", "x"]
    assert owner.pending() == []


def test_nothing_published_by_many_threads_is_lost(owner):
    published, read = [], []

    def receive():
        while published:
            read.append(published.pop())

    bell = Wakeup(owner.wake, receive)

    def publish():
        for item in range(2000):
            published.append(item)
            bell.ring()

    threads = [Thread(target=publish) for _ in range(4)]
    for thread in threads:
        thread.start()
    owner.turn_until(lambda: len(read) == 8000)
    for thread in threads:
        thread.join()
    assert sorted(read) == sorted(list(range(2000)) * 4)


def test_a_loop_is_woken_from_another_thread():
    async def main():
        done = asyncio.Event()
        bell = Wakeup(wake_loop(asyncio.get_running_loop()), done.set)
        thread = Thread(target=bell.ring)
        thread.start()
        await asyncio.wait_for(done.wait(), 30)
        thread.join()

    asyncio.run(main())


@pytest.mark.parametrize("library", ["asyncio", "uvloop"])
def test_a_closed_loop_is_not_an_error(library):
    loop = pytest.importorskip(library).new_event_loop()
    bell = Wakeup(wake_loop(loop), lambda: None)
    loop.close()
    bell.ring()


def test_another_error_of_the_loop_is_not_hidden():
    class Broken(asyncio.SelectorEventLoop):
        def call_soon_threadsafe(self, *_, **__):
            raise RuntimeError("broken")

    loop = Broken()
    with pytest.raises(RuntimeError, match="broken"):
        wake_loop(loop)(lambda: None)
    loop.close()
