"""One run's journal machine: numbers operations, compares them on replay, collects records.

Positions are given when an operation is *called*, so their order is the order of the code
(rule J-1). While a history is being replayed nothing is recorded: each call is compared
with what its position holds (J-2). Once the history is used up the machine is live and
each call becomes a record of the current turn.

A mismatch is kept here and not raised into the code, which could catch it: whoever turns
the code looks at `mismatch` after every turn and unwinds the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fusee.base.errors import CodeError, DecodeError
from fusee.base.limits import OPERATIONS_MAX
from fusee.journal.texts import (
    Called,
    mismatch_at_call,
    mismatch_at_cancel,
    mismatch_at_rest,
)
from fusee.record.kinds import AnyRecord, Completed, Drawn, OpKind, Scheduled

if TYPE_CHECKING:
    from fusee.journal.history import History
    from fusee.journal.texts import RunFacts


class Machine:
    """The journal side of one loaded run. `now_us` is the recorded time of the current turn."""

    __slots__ = ("facts", "history", "locate", "mismatch", "now_us", "out", "position")

    def __init__(self, facts: RunFacts, history: History | None, now_us: int) -> None:
        self.facts = facts
        self.history = history
        self.now_us = now_us
        self.position = 0
        self.out: list[AnyRecord] = []
        self.mismatch: CodeError | DecodeError | None = None
        self.locate: Callable[[], str] = str
        """Says where in the code the present call was made: "file:line in function"."""

    @property
    def replaying(self) -> bool:
        """Whether calls are still compared with a recorded past."""
        return self.history is not None

    def schedule(
        self, op: OpKind, name: str, data: bytes, due_us: int = 0, flags: int = 0
    ) -> int | None:
        """Number an operation; return its position, or None when it contradicts the journal."""
        position = self.position + 1
        history = self.history
        if history is None or (
            self._matches(position, op, name) and position > history.position_last
        ):
            if position > OPERATIONS_MAX:
                self.mismatch = self._journal_full()
                return None
            self.out.append(Scheduled(position, op, name, self.now_us, data, due_us, flags))
        elif self.mismatch is not None:
            return None
        self.position = position
        return position

    def _journal_full(self) -> CodeError:
        run = f"{self.facts.workflow_id}/{self.facts.ordinal}"
        return CodeError(
            f"run {run} has {OPERATIONS_MAX} operations, the most a journal takes: continue as a "
            "new run before that"
        )

    def draw(self, op: OpKind, fresh: bytes) -> bytes | None:
        """Number and record a drawn value; return the recorded one on replay, None on mismatch."""
        position = self.position + 1
        if self.history is not None:
            if not self._matches(position, op, ""):
                return None
            recorded = self.history.scheduled.get(position)
            if isinstance(recorded, Drawn):
                self.position = position
                return recorded.value
        self.position = position
        self.out.append(Drawn(position, op, self.now_us, fresh))
        return fresh

    def recorded_due_us(self, position: int) -> int:
        """Return the due time that the journal holds for a position, 0 for none."""
        if self.history is None:
            return 0
        recorded = self.history.scheduled.get(position)
        return recorded.due_us if isinstance(recorded, Scheduled) else 0

    def recorded_immediate(self, position: int) -> Completed | None:
        """Return the outcome recorded in the turn of the call itself, None when there is none."""
        return None if self.history is None else self.history.immediate.get(position)

    def _matches(self, position: int, op: OpKind, name: str) -> bool:
        assert self.history is not None
        recorded = self.history.scheduled.get(position)
        if recorded is None:
            if not self.history.deliveries:
                return True  # The turn that recorded last goes on; this call is new.
        elif recorded.op == op and (isinstance(recorded, Drawn) or recorded.name == name):
            return True
        if self.mismatch is None:
            self.mismatch = mismatch_at_call(
                self.facts, self.history, position, Called.operation(op, name, self.locate())
            )
        return False

    # ------------------------------------------------------------ replay, driven by the engine

    def next_delivery(self) -> Completed | None:
        """Take the next outcome the code saw, None when the history is used up."""
        assert self.history is not None
        if not self.history.deliveries:
            return None
        record = self.history.deliveries.popleft()
        self.now_us = max(self.now_us, record.at_us)
        return record

    def at_rest(self, rest: Callable[[], Called], upcoming: Completed | None) -> None:
        """The code has nothing more to run in this turn; compare that with the journal.

        `rest` says what it does instead of going on; `upcoming` is the outcome that comes
        next. Sets `mismatch` when the journal shows that the recorded code went on. Code that
        has ended may still be handed outcomes: a run that ends waits for its steps.
        """
        history = self.history
        assert history is not None
        if self.mismatch is not None:
            return
        uncalled = self.position < history.position_last
        if uncalled and (upcoming is None or upcoming.position > self.position):
            self.mismatch = mismatch_at_rest(self.facts, history, self.position + 1, rest())

    def unexpected(self, position: int) -> None:
        """The journal hands over an outcome for an operation the code has cancelled."""
        assert self.history is not None, "a live outcome belongs to a pending operation"
        if self.mismatch is None:
            recorded = self.history.scheduled[position]
            called = Called("cancelled", "", self.locate())
            self.mismatch = mismatch_at_cancel(self.facts, recorded, position, called)

    def go_live(self) -> None:
        """The history is used up: from here on calls are recorded."""
        assert self.history is not None
        assert not self.history.deliveries, "outcomes are still to be handed over"
        self.history = None
