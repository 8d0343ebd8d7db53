"""The rule that picks the loop or the thread, on a clock of our own."""

from __future__ import annotations

import pytest

from fusee.io.submit_mode import (
    FAST_WRITES_PROVE,
    FLUSH_NS_INLINE_MAX,
    THREAD_NS,
    WRITE_NS_INLINE_MAX,
    WRITE_NS_RECOVERED_MAX,
    SubmitMode,
)

START_NS = -5_000_000_000  # a monotonic clock may start anywhere


@pytest.mark.parametrize(
    ("flush_ns", "uses_thread"),
    [(0, False), (85_000, False), (FLUSH_NS_INLINE_MAX, False), (FLUSH_NS_INLINE_MAX + 1, True)],
)
def test_a_slow_disk_gets_the_thread_from_the_start(flush_ns, uses_thread):
    assert SubmitMode(flush_ns).uses_thread(START_NS) is uses_thread


def test_a_write_up_to_two_ms_stays_inline():
    mode = SubmitMode(85_000)
    mode.on_inline_write(WRITE_NS_INLINE_MAX, START_NS)
    assert not mode.uses_thread(START_NS)


def test_a_longer_one_moves_the_next_second_to_the_thread():
    mode = SubmitMode(85_000)
    mode.on_inline_write(WRITE_NS_INLINE_MAX + 1, START_NS)
    assert mode.uses_thread(START_NS)
    assert mode.uses_thread(START_NS + THREAD_NS - 1)
    assert not mode.uses_thread(START_NS + THREAD_NS)
    assert not mode.uses_thread(START_NS + THREAD_NS + 1)


def test_a_lone_outlier_costs_one_write_of_the_thread():
    mode = SubmitMode(85_000)
    mode.on_inline_write(WRITE_NS_INLINE_MAX + 1, START_NS)
    assert mode.uses_thread(START_NS + 1)
    mode.on_thread_write(WRITE_NS_RECOVERED_MAX + 1)
    assert mode.uses_thread(START_NS + 2)
    mode.on_thread_write(WRITE_NS_RECOVERED_MAX)
    assert not mode.uses_thread(START_NS + 3)


def test_a_disk_that_stays_slow_is_tried_inline_once_a_second():
    mode = SubmitMode(85_000)
    now_ns, inline = START_NS, 0
    while now_ns < START_NS + 10 * THREAD_NS:
        if mode.uses_thread(now_ns):
            now_ns += 5_000_000
        else:
            inline += 1
            now_ns += 5_000_000
            mode.on_inline_write(5_000_000, now_ns)
    assert inline == 10


def test_a_slow_disk_never_goes_inline():
    mode = SubmitMode(1_000_000)
    mode.on_inline_write(1, START_NS)
    assert mode.uses_thread(START_NS + 100 * THREAD_NS)


def test_a_disk_calibrated_at_a_bad_moment_comes_inline_once_it_is_steadily_fast():
    mode = SubmitMode(4_000_000)
    for _ in range(FAST_WRITES_PROVE - 1):
        mode.on_thread_write(90_000)
    mode.on_thread_write(FLUSH_NS_INLINE_MAX + 1)
    for _ in range(FAST_WRITES_PROVE - 1):
        mode.on_thread_write(FLUSH_NS_INLINE_MAX)
        assert mode.uses_thread(START_NS)
    mode.on_thread_write(FLUSH_NS_INLINE_MAX)
    assert not mode.uses_thread(START_NS)


def test_whoever_knows_better_decides():
    fast, slow = SubmitMode(85_000), SubmitMode(1_000_000)
    fast.forced, slow.forced = "thread", "inline"
    assert fast.uses_thread(START_NS)
    assert not slow.uses_thread(START_NS)
    fast.forced = None
    assert not fast.uses_thread(START_NS)
