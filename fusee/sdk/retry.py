"""`Retry`: when a failed attempt of a step is followed by another, and after how long.

delay n = min(max, initial * factor ** (n - 1)) * (1 ± jitter). The jitter is drawn once and
journaled with the due time, so a crash neither shortens nor restarts a delay.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from random import Random

import msgspec

from fusee.base.durations import seconds
from fusee.base.errors import (
    CodeError,
    DecodeError,
    EncodeError,
    NonRetryable,
    PayloadTooLarge,
    RetryAfter,
)

Duration = str | timedelta | int | float

_NEVER: tuple[type[BaseException], ...] = (
    NonRetryable,
    CodeError,
    EncodeError,
    PayloadTooLarge,
    DecodeError,
)


class Retry:
    """How often and how a failed step is tried again. Without a Retry a step is tried once.

    attempts: total calls including the first, None for no end. Runs repeated because the
    process died do not count. initial, max: durations ("1s", timedelta, seconds), default
    1 s and 100 times initial. within: budget from the first start; no attempt starts after
    it. on, never_on: exception classes; never_on wins. when: last word, gets the exception.
    """

    __slots__ = (
        "attempts", "factor", "initial_s", "jitter", "max_s", "never_on", "on", "when", "within_s",
    )  # fmt: skip

    def __init__(
        self,
        attempts: int | None = 3,
        *,
        initial: Duration = 1.0,
        factor: float = 2.0,
        max: Duration | None = None,
        jitter: float = 0.1,
        within: Duration | None = None,
        on: tuple[type[Exception], ...] = (Exception,),
        never_on: tuple[type[Exception], ...] = (),
        when: Callable[[Exception], bool] | None = None,
    ) -> None:
        if attempts is not None and (type(attempts) is not int or attempts < 1):
            raise ValueError(f"Retry(attempts={attempts!r}): at least 1, or None for no end")
        if not math.isfinite(factor) or factor < 1:
            raise ValueError(f"Retry(factor={factor!r}): a finite number of at least 1")
        if not math.isfinite(jitter) or not 0 <= jitter <= 1:
            raise ValueError(f"Retry(jitter={jitter!r}): between 0 and 1")
        self.attempts = attempts
        self.initial_s = seconds(initial)
        self.factor = factor
        self.max_s = 100 * self.initial_s if max is None else seconds(max)
        if self.max_s < self.initial_s:
            raise ValueError(f"Retry(max={max!r}) is shorter than initial={initial!r}")
        self.jitter = jitter
        self.within_s = None if within is None else seconds(within)
        self.on = on
        self.never_on = never_on
        self.when = when

    def __repr__(self) -> str:
        return f"Retry({self.attempts}, initial={self.initial_s:g}, max={self.max_s:g})"


class Verdict(msgspec.Struct, frozen=True):
    """What follows a failed attempt: a delay in seconds, or the end and why."""

    delay_s: float | None
    exhausted: bool = False
    """The class of error may be retried, but attempts or `within` ran out."""


def may_retry(retry: Retry, error: BaseException) -> bool:
    """Whether this kind of error is worth another attempt at all."""
    if isinstance(error, RetryAfter):
        return True
    if isinstance(error, (*_NEVER, *retry.never_on)):
        return False
    if not isinstance(error, Exception) or not isinstance(error, retry.on):
        return False
    return retry.when is None or bool(retry.when(error))


def after_failure(
    retry: Retry | None, attempt: int, error: BaseException, elapsed_s: float, random: Random
) -> Verdict:
    """Decide what follows the failed attempt number `attempt`."""
    if retry is None or not may_retry(retry, error):
        return Verdict(None)
    if retry.attempts is not None and attempt >= retry.attempts:
        return Verdict(None, exhausted=True)
    if isinstance(error, RetryAfter):
        delay_s = max(0.0, error.delay)
    else:
        delay_s = min(retry.max_s, _raw_delay(retry, attempt))
        delay_s *= 1 + retry.jitter * (2 * random.random() - 1)
    if retry.within_s is not None:
        left_s = retry.within_s - elapsed_s
        if left_s <= 0 or (delay_s > left_s and not isinstance(error, RetryAfter)):
            return Verdict(None, exhausted=True)
        delay_s = min(delay_s, left_s)
    return Verdict(delay_s)


def _raw_delay(retry: Retry, attempt: int) -> float:
    try:
        return retry.initial_s * retry.factor ** (attempt - 1)
    except OverflowError:
        return retry.max_s
