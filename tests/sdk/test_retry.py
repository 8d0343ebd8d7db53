"""The arithmetic of retries: pure, so every law is checked on many examples."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from fusee.base.errors import RetryAfter
from fusee.sdk.retry import Retry, after_failure

retries = st.builds(
    Retry,
    st.one_of(st.none(), st.integers(1, 10)),
    initial=st.floats(0.001, 100),
    factor=st.floats(1, 10),
    max=st.just("1d"),
    jitter=st.floats(0, 1),
    within=st.one_of(st.none(), st.floats(0.001, 1000)),
)


@given(retries, st.integers(1, 2000), st.floats(0, 2000), st.integers())
def test_delays_stay_within_their_bounds(
    retry: Retry, attempt: int, elapsed_s: float, seed: int
) -> None:
    verdict = after_failure(retry, attempt, OSError(), elapsed_s, Random(seed))

    last = retry.attempts is not None and attempt >= retry.attempts
    if verdict.delay_s is None:
        assert last or (retry.within_s is not None), "only attempts and within end a retry"
        assert verdict.exhausted
        return
    assert not last
    assert 0 <= verdict.delay_s <= retry.max_s * (1 + retry.jitter)
    if retry.within_s is not None:
        assert elapsed_s + verdict.delay_s <= retry.within_s * (1 + 1e-9)


@given(st.integers(1, 8))
def test_without_jitter_delays_grow_by_the_factor_up_to_max(attempt: int) -> None:
    retry = Retry(None, initial=1, factor=3, max=100, jitter=0)
    verdict = after_failure(retry, attempt, OSError(), 0, Random(0))
    assert verdict.delay_s == min(100, 3.0 ** (attempt - 1))


@given(st.floats(0, 10_000), st.integers(1, 4))
def test_retry_after_sets_the_delay_itself(delay: float, attempt: int) -> None:
    retry = Retry(5, initial=1, max=1)
    assert after_failure(retry, attempt, RetryAfter(delay), 0, Random(0)).delay_s == delay


def test_an_attempt_that_waits_the_longest_time_of_all_does_not_overflow() -> None:
    retry = Retry(None, initial=1, factor=10, max="1d", jitter=0)
    assert after_failure(retry, 100_000, OSError(), 0, Random(0)).delay_s == 86_400
