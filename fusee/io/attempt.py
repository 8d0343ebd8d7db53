"""One attempt of a step: the token by which its result is known, and what its function sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fusee.sdk.current import StepContext

if TYPE_CHECKING:
    import asyncio

    from fusee.engine.run import Run
    from fusee.sdk.op import StepOp


class MayNotAct(BaseException):
    """This node lost the proof of its quorum between choosing a step and calling it."""


class Attempt(StepContext):
    """One call of a step function; the token by which its result is known."""

    cancel_requested = False
    timer: asyncio.TimerHandle | None = None
    task: asyncio.Task[None] | None = None

    def __init__(self, run: Run, op: StepOp[Any], number: int, first_us: int) -> None:
        self.run = run
        self.op = op
        self.attempt = number
        self.first_us = first_us

    @property
    def key(self) -> str:
        """Idempotency key "id/ordinal/position"."""
        run = self.run
        return f"{run.workflow_id}/{run.ordinal}/{self.op.position}"
