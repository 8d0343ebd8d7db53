"""`current_step()`: what a step function may know about itself."""

from __future__ import annotations

from contextvars import ContextVar

from fusee.base.errors import IllegalInWorkflow, StepCancelled
from fusee.loop.workflow_loop import in_workflow_code


class StepContext:
    """One attempt of a step, as its function sees it."""

    attempt: int
    """Number of this attempt, from 1; runs repeated after a crash keep their number."""
    deadline: float | None = None
    """Monotonic time (`time.monotonic()`) at which this attempt times out, None for never."""
    cancelled: bool = False
    """Whether this attempt was asked to stop. Sync functions look at it from time to time."""

    @property
    def key(self) -> str:
        """Idempotency key "id/ordinal/position": the same on every attempt and after crashes."""
        raise NotImplementedError

    def raise_if_cancelled(self) -> None:
        """Raise `StepCancelled` when this attempt was asked to stop."""
        if self.cancelled:
            raise StepCancelled(f"step {self.key} was asked to stop")


CURRENT: ContextVar[StepContext] = ContextVar("fusee_current_step")


def current_step() -> StepContext:
    """Return the context of the running step.

    Raises `IllegalInWorkflow` in workflow code and `RuntimeError` elsewhere.
    """
    if in_workflow_code():
        raise IllegalInWorkflow(
            "current_step() in workflow code: it belongs into the step's function; workflow "
            "code knows itself by ctx.info"
        )
    try:
        return CURRENT.get()
    except LookupError:
        raise RuntimeError("current_step() works inside a step function only") from None
