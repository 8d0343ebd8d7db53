"""One write in flight, reported on the owner's thread, inline or through the writer thread."""

from __future__ import annotations

import asyncio
import select
import threading
import time
from queue import SimpleQueue

import pytest

from fusee.io.clock import SystemClock
from fusee.io.file_device import FileDevice
from fusee.io.methods import candidate_methods
from fusee.io.submitter import Submitter
from fusee.io.wakeup import wake_loop

FAST_NS, SLOW_NS = 85_000, 1_000_000
BLOCK = b"x" * 4096


class HeldDevice:
    """A disk whose writes begin when the submitter says and end when the test says."""

    def __init__(self, flush_ns):
        self.flush_ns = flush_ns
        self.begun = SimpleQueue()
        self.outcomes = SimpleQueue()
        self.written = []

    def write(self, file, offset, data):
        self.begun.put(threading.get_ident())
        outcome = self.outcomes.get(timeout=30)
        if outcome is not None:
            raise outcome
        self.written.append((file, offset, data))


class HandClock:
    def __init__(self):
        self.now_ns = 0
        self.step_ns = 0

    def wall_us(self):
        return 0

    def monotonic_ns(self):
        self.now_ns += self.step_ns
        return self.now_ns


@pytest.fixture
def slow(owner):
    device = HeldDevice(SLOW_NS)
    submitter = Submitter(device, owner.wake, SystemClock())
    yield device, submitter
    device.outcomes.put(None)
    assert submitter.close()


def submit(submitter, outcomes, offset=0):
    submitter.submit("a", offset, BLOCK, outcomes.append)


def test_on_a_fast_disk_a_write_is_done_when_submit_returns(owner):
    device, outcomes = HeldDevice(FAST_NS), []
    submitter = Submitter(device, owner.wake, SystemClock())
    device.outcomes.put(None)
    submit(submitter, outcomes)
    assert outcomes == [None]
    assert device.written == [("a", 0, BLOCK)]
    assert device.begun.get() == threading.get_ident()
    assert not submitter.busy
    assert owner.pending() == []
    assert submitter.close()


def test_an_inline_failure_is_reported_not_raised(owner):
    device, outcomes, failure = HeldDevice(FAST_NS), [], OSError(5, "no")
    submitter = Submitter(device, owner.wake, SystemClock())
    device.outcomes.put(failure)
    submit(submitter, outcomes)
    assert outcomes == [failure]


def test_an_interrupt_is_reported_and_raised(owner):
    device, outcomes = HeldDevice(FAST_NS), []
    submitter = Submitter(device, owner.wake, SystemClock())
    device.outcomes.put(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        submit(submitter, outcomes)
    assert isinstance(outcomes[0], KeyboardInterrupt)


def test_on_done_may_submit_the_next_write(owner):
    device, outcomes = HeldDevice(FAST_NS), []
    submitter = Submitter(device, owner.wake, SystemClock())
    device.outcomes.put(None)
    device.outcomes.put(None)
    submitter.submit("a", 0, BLOCK, lambda _: submit(submitter, outcomes, 4096))
    assert [offset for _, offset, _ in device.written] == [0, 4096]


def test_on_a_slow_disk_the_owner_goes_on_while_the_thread_writes(owner, slow):
    device, submitter = slow
    outcomes = []
    submit(submitter, outcomes)
    assert device.begun.get(timeout=30) != threading.get_ident()
    assert submitter.busy
    assert outcomes == []
    submitter.yield_gil()
    device.outcomes.put(None)
    owner.turn()
    assert outcomes == [None]
    assert not submitter.busy


def test_a_threads_failure_is_reported_on_the_owners_thread(owner, slow):
    device, submitter = slow
    seen, failure = [], OSError(28, "full")
    submitter.submit("a", 0, BLOCK, lambda error: seen.append((error, threading.get_ident())))
    device.outcomes.put(failure)
    owner.turn()
    assert seen == [(failure, threading.get_ident())]


def test_a_second_write_in_flight_is_our_own_bug(slow):
    _, submitter = slow
    submit(submitter, [])
    with pytest.raises(AssertionError, match="one write in flight"):
        submit(submitter, [])


def test_writes_of_the_thread_keep_their_order(owner, slow):
    device, submitter = slow
    outcomes = []
    for index in range(20):
        device.outcomes.put(None)
        submit(submitter, outcomes, index * 4096)
        owner.turn_until(lambda want=index + 1: len(outcomes) == want)
    assert [offset for _, offset, _ in device.written] == [index * 4096 for index in range(20)]


def test_a_fast_disk_that_stalls_is_given_to_the_thread_until_it_has_recovered(owner):
    device, clock, outcomes = HeldDevice(FAST_NS), HandClock(), []
    submitter = Submitter(device, owner.wake, clock)

    def writer_of_one_write():
        device.outcomes.put(None)
        submit(submitter, outcomes)
        if submitter.busy:
            owner.turn()
        return device.begun.get(timeout=30)

    here = threading.get_ident()
    assert writer_of_one_write() == here
    clock.step_ns = 2_500_000
    assert writer_of_one_write() == here
    assert writer_of_one_write() != here
    assert writer_of_one_write() != here
    clock.step_ns = 0
    assert writer_of_one_write() != here
    assert writer_of_one_write() == here
    assert writer_of_one_write() == here
    assert submitter.close()


def test_close_reports_the_write_in_flight_and_ends_the_thread(owner):
    device, outcomes = HeldDevice(SLOW_NS), []
    before = threading.active_count()
    submitter = Submitter(device, owner.wake, SystemClock())
    submit(submitter, outcomes)
    device.outcomes.put(None)
    assert submitter.close()
    assert outcomes == [None]
    assert threading.active_count() == before
    # The wake-up that was under way finds nothing left to report.
    for callback in owner.pending():
        callback()
    assert outcomes == [None]
    assert submitter.close()


def test_close_does_not_wait_for_ever_for_a_hanging_disk(owner):
    device, outcomes = HeldDevice(SLOW_NS), []
    submitter = Submitter(device, owner.wake, SystemClock())
    submit(submitter, outcomes)
    device.begun.get(timeout=30)
    assert not submitter.close(timeout_s=0)
    assert outcomes == []
    device.outcomes.put(None)
    owner.turn()
    assert outcomes == [None]


def test_a_loop_closed_before_its_write_ended_is_not_an_error():
    device = HeldDevice(SLOW_NS)
    loop = asyncio.new_event_loop()
    submitter = Submitter(device, wake_loop(loop), SystemClock())
    submit(submitter, [])
    device.begun.get(timeout=30)
    loop.close()
    device.outcomes.put(None)
    assert submitter.close()


@pytest.mark.parametrize("flush_ns", [FAST_NS, SLOW_NS])
def test_on_a_real_disk_and_a_real_loop(tmp_path, flush_ns):
    device = FileDevice(tmp_path, candidate_methods()[0], flush_ns)
    device.create("log", [bytes(64 * 4096)])

    async def main():
        loop = asyncio.get_running_loop()
        submitter = Submitter(device, wake_loop(loop), SystemClock())
        for index in range(64):
            done = loop.create_future()
            frame = device.buffer(4096)
            frame[:] = bytes([index]) * 4096
            submitter.submit("log", index * 4096, frame, done.set_result)
            assert await asyncio.wait_for(done, 30) is None
        assert submitter.close()

    asyncio.run(main())
    assert device.read("log", 0, 64 * 4096) == b"".join(bytes([i]) * 4096 for i in range(64))
    device.close()


class SleepingDevice:
    """Gives the GIL away for a while, as a system call does."""

    flush_ns = 1_000_000

    def write(self, file, offset, data):
        time.sleep(0.001)


@pytest.mark.serial
def test_a_loop_that_polls_and_yields_does_not_starve_the_writer(owner):
    """100 writes of 1 ms take 0.12 s; without yielding some seconds or never end."""
    submitter, outcomes = Submitter(SleepingDevice(), owner.wake, SystemClock()), []
    poll = select.poll()
    start_s = time.monotonic()
    while len(outcomes) < 100 and time.monotonic() - start_s < 30:
        if not submitter.busy:
            submit(submitter, outcomes)
        sum(range(3000))
        poll.poll(0)
        submitter.yield_gil()
        for callback in owner.pending():
            callback()
    took_s = time.monotonic() - start_s
    assert submitter.close()
    assert took_s < 2
