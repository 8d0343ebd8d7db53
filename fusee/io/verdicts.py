"""What a failed attempt becomes: a record of it and of when the next is due, or the outcome.

Live code gets what replay will rebuild from the record, so both see the same exception.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fusee.base.errors import RetriesExhausted
from fusee.engine.program import Arrival
from fusee.record.failure import decode_failure, encode_failure
from fusee.record.kinds import AttemptFailed, Outcome
from fusee.sdk.retry import after_failure

if TYPE_CHECKING:
    from random import Random
    from typing import Any

    from fusee.sdk.op import StepOp


def failed_attempt(
    op: StepOp[Any], attempt: int, first_us: int, error: BaseException, now_us: int, random: Random
) -> AttemptFailed | Arrival:
    """Decide what follows the failed attempt number `attempt`."""
    elapsed_s = max(0, now_us - first_us) / 1e6
    try:
        verdict = after_failure(op.retry, attempt, error, elapsed_s, random)
    except Exception as broken:  # `when=` is the user's code.
        broken.add_note(f"raised by Retry(when=...) of step '{op.name}', asked about {error!r}")
        return failure(op.position, attempt, broken)
    if verdict.delay_s is not None:
        due_us = now_us + int(verdict.delay_s * 1e6)
        recorded = encode_failure(error)
        return AttemptFailed(op.position, attempt, now_us, recorded, due_us, first_us)
    if verdict.exhausted:
        last = decode_failure(encode_failure(error))
        text = f"step '{op.name}' failed {attempt} times; last: {error!r}"
        exhausted = RetriesExhausted(text, attempt, last)
        exhausted.__cause__ = last
        return failure(op.position, attempt, exhausted)
    return failure(op.position, attempt, error)


def failure(position: int, attempt: int, error: BaseException) -> Arrival:
    """Return an error as the outcome of a step."""
    payload = encode_failure(error)
    return Arrival(position, Outcome.FAILURE, payload, decode_failure(payload), attempt)
