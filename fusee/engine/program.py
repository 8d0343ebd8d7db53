"""What the engine sees of workflow code and of step functions: two protocols.

The engine decides when code runs and when an outcome is handed over; it never imports the
event loop that code runs on, nor the threads that step functions run in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from fusee.engine.run import Run
    from fusee.journal.machine import Machine
    from fusee.journal.texts import Called
    from fusee.record.kinds import OpKind, Outcome, Status


class Undecoded:
    """Marks an arrival whose value has to be read from its payload."""


UNDECODED = Undecoded()


class Arrival(msgspec.Struct, gc=False):
    """An outcome on its way to the code. `recorded` means that the journal has it already."""

    position: int
    outcome: Outcome
    payload: bytes = b""
    value: Any = UNDECODED
    attempt: int = 1
    number: int = 0
    recorded: bool = False
    weight: int = 0
    """Bytes by which it counts as pressure while it waits; see `CommitLog.weigh`."""


class Ending(msgspec.Struct, frozen=True):
    """How the code of a run ended."""

    status: Status
    payload: bytes
    called: Called
    """The same as the journal compares it: returned, or raised what."""
    hold: str = ""
    """Not an end: the run is held for this reason, as the workflow's definition asks."""

    @property
    def text(self) -> str:
        """What happened, for people."""
        called = self.called
        where = f" at {called.source}" if called.source else ""
        return f"{called.verb} {called.what}{where}".replace("  ", " ")


class PendingOp(Protocol):
    """An operation the code has called and that has no outcome yet."""

    position: int
    kind: OpKind
    name: str
    due_us: int
    read_only: bool
    cancel_requested: bool


class Program(Protocol):
    """The loaded code of one run."""

    machine: Machine
    ending: Ending | None
    pending: dict[int, Any]
    """Operations without an outcome, by position: `PendingOp` each."""
    called: list[Any]
    """Operations called since the engine last took this list: `PendingOp` each."""
    cancelled: list[PendingOp]
    """Operations whose cancellation the code requested since the last `take_cancelled`."""

    @property
    def said(self) -> list[tuple[int, str]]:
        """Log lines since the engine last took them: level and text."""
        ...

    @property
    def spoiled(self) -> bool:
        """Whether a query handler has changed the state it was to read; replay gives it back."""
        ...

    def begin(self) -> None:
        """Run the code from its first line until it waits for something."""
        ...

    def deliver(self, arrival: Arrival) -> None:
        """Hand over one outcome and run the code until it waits again."""
        ...

    def rest(self) -> Called:
        """Say what the code does now: waits for what, returned, or raised what."""
        ...

    def take_cancelled(self) -> list[PendingOp]:
        """Return `cancelled` and begin a new list."""
        ...

    def take_said(self) -> list[tuple[int, str]]:
        """Return `said`, and forget it."""
        ...

    def query(self, name: str, payload: bytes) -> bytes:
        """Answer a query from the code's present state. Raises what the caller shall see."""
        ...

    def evict(self) -> list[str]:
        """Unwind the code without running any of its effects; return names that refused."""
        ...


class Steps(Protocol):
    """Runs step functions. Every start ends in one call of `Core.step_done` or `step_failed`."""

    def start(self, run: Run, op: PendingOp, attempt: int, first_started_us: int) -> object:
        """Start one attempt; return its token, by which late results are told apart."""
        ...

    def cancel(self, token: object) -> None:
        """Ask the function of an attempt to stop; its outcome still comes."""
        ...
