"""Starts: who may begin a run of an ID, decided before anything is appended.

    state of the ID   on_conflict (running)              reuse (finished)
    never used        start                              start
    running           fail | use_existing | terminate_existing
    completed                                            allow_failed_only: refuse | allow | reject
    failed and so on                                     allow_failed_only: start  | allow | reject

Every start has a request id: the same ID with the same request is the same run, before any
policy, so that a start repeated by its client never makes two runs and never complains
about itself (rule ID-2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from fusee.base.errors import AlreadyFinished, AlreadyRunning, StorageFull
from fusee.base.limits import MIB, STORAGE_RESERVE_BYTES
from fusee.engine.messages import Refused, ticket_of
from fusee.engine.run import Finished
from fusee.engine.turns import closed
from fusee.record.group import CLOSES, STARTS
from fusee.record.kinds import Closed, Started, Status

if TYPE_CHECKING:
    from fusee.base.ids import Ticket
    from fusee.engine.core import Core
    from fusee.engine.run import Run

OnConflict = Literal["fail", "use_existing", "terminate_existing"]
Reuse = Literal["allow_failed_only", "allow", "reject"]


class StartPolicy(msgspec.Struct, frozen=True):
    """What happens when the ID is in use, or was."""

    on_conflict: OnConflict = "fail"
    reuse: Reuse = "allow_failed_only"


class Admitted(msgspec.Struct):
    """Which run a start led to, and the ticket its ack depends on."""

    run: Run | Finished
    ticket: Ticket
    started_by_me: bool
    input_differs: bool = False


def start(core: Core, workflow_id: str, started: Started, policy: StartPolicy) -> Admitted:
    """Begin a run, or find the one that the policy leads to. Raises `Refused`."""
    known = core.table.of_request(workflow_id, started.request_id)
    if known is not None:
        input_differs = known.facts().input != started.input
        return Admitted(known, ticket_of(core, known), True, input_differs)
    before = core.table.latest(workflow_id)
    if before is None:
        return _begin(core, workflow_id, started)
    if not isinstance(before, Finished) and before.is_open:
        return _conflict(core, before, started, policy)
    status = before.closed_status
    if policy.reuse == "allow" or (
        policy.reuse == "allow_failed_only" and status is not Status.COMPLETED
    ):
        return _begin(core, workflow_id, started)
    assert status is not None, "a closed run has a final status"
    how = f"run {workflow_id}/{before.ordinal} of this ID has {status.name.lower()}"
    raise Refused(
        AlreadyFinished(
            f"{how} and reuse={policy.reuse!r} forbids another; choose another ID, or start "
            "with engine.options(reuse='allow')",
            before,
        ),
        ticket_of(core, before),
    )


def _conflict(core: Core, run: Run, started: Started, policy: StartPolicy) -> Admitted:
    """The ID has an open run."""
    facts = run.facts()
    if facts.workflow != started.workflow and policy.on_conflict == "use_existing":
        what = f"run {run.key} of this ID is open and runs {facts.workflow!r}"
        raise Refused(AlreadyRunning(f"{what}, not {started.workflow!r}", run), run.last_ticket)
    match policy.on_conflict:
        case "use_existing":
            return Admitted(run, run.last_ticket, False, facts.input != started.input)
        case "terminate_existing":
            _check_room(core)
            return _replace(core, run, started)
        case "fail":
            error = AlreadyRunning(
                f"run {run.key} of this ID is open; use another ID, or "
                "engine.options(on_conflict='use_existing')",
                run,
            )
            raise Refused(error, run.last_ticket)


def _begin(core: Core, workflow_id: str, started: Started) -> Admitted:
    _check_room(core)
    run = core.table.add(workflow_id, started)
    ticket = core.append(run, [started], STARTS)
    core.queue(run)
    return Admitted(run, ticket, True)


def _replace(core: Core, run: Run, started: Started) -> Admitted:
    """End the open run and begin the next one in one atomic group: no gap, no overlap."""
    end = Closed(Status.TERMINATED, core.log.now_us(), reason="replaced by a newer start")
    core.table.close(run, Status.TERMINATED)
    fresh = core.table.add(run.workflow_id, started)
    ticket = core.append_together([(run, [end], CLOSES), (fresh, [started], STARTS)])
    closed(core, run)
    core.queue(fresh)
    return Admitted(fresh, ticket, True)


def _check_room(core: Core) -> None:
    if core.storage_full:
        error = StorageFull(
            "the disk is nearly full: runs in progress may finish, new ones are refused; keep "
            f"{STORAGE_RESERVE_BYTES // MIB} MiB free on the file system of the engine's directory"
        )
        raise Refused(error, core.gate.committed)
