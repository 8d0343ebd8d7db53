"""Timers: due ones fire in (due, shard, run, position) order; cancelled ones are gone at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fusee.engine.timers import TimerKey, Timers

keys = st.builds(
    TimerKey,
    due_us=st.integers(0, 20),
    shard=st.integers(0, 3),
    workflow_id=st.sampled_from(["a", "b"]),
    ordinal=st.integers(1, 2),
    position=st.integers(0, 3),
)


@given(st.lists(st.tuples(st.booleans(), keys), max_size=200), st.integers(0, 25))
def test_what_fires_is_what_was_armed_and_not_cancelled_in_order(
    actions: list[tuple[bool, TimerKey]], now_us: int
) -> None:
    timers, model = Timers(), set()
    for arms, key in actions:
        if arms:
            timers.add(key)
            model.add(key)
        else:
            timers.cancel(key)
            model.discard(key)
        assert len(timers) == len(model)
        assert timers.next_due_us() == min((k.due_us for k in model), default=None)

    fired = []
    while (key := timers.pop_due(now_us)) is not None:
        fired.append(key)

    assert fired == sorted(k for k in model if k.due_us <= now_us)
    assert len(timers) == len(model) - len(fired)


def test_cancelled_timers_leave_the_heap_too() -> None:
    timers = Timers()
    for position in range(10_000):
        key = TimerKey(10**9 + position, 0, "w", 1, position)
        timers.add(key)
        timers.cancel(key)
    assert len(timers) == 0
    assert len(timers._heap) < 100
