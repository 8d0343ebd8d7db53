"""The real clock counts in the units it names."""

from __future__ import annotations

import time

from fusee.io.clock import SystemClock


def test_wall_time_is_in_microseconds():
    before_s = time.time()
    wall_us = SystemClock().wall_us()
    assert before_s - 0.001 <= wall_us / 1e6 <= time.time() + 0.001


def test_monotonic_time_is_in_nanoseconds_and_never_goes_back():
    clock = SystemClock()
    before_ns = time.monotonic_ns()
    first_ns, second_ns = clock.monotonic_ns(), clock.monotonic_ns()
    assert before_ns <= first_ns <= second_ns <= time.monotonic_ns()
