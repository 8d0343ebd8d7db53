"""Journal records: what a run did, in the order its code saw it.

A record is written once and read for years. So each kind carries a number that is
never reused, fields are only ever appended, and every appended field has a default
that means "written before this field existed". Times are microseconds since 1970 of
group time. Payloads are encoded by `record.payload`, failures by `record.failure`.

Three records make up an operation: *scheduled* (what the code called), *completed*
(its outcome) and *delivered* (when the code saw it). An outcome that is handed over
in the turn that records it is one completed record with `delivered` true.

Knows nothing of batches, files or replicas. Rules: docs/internals/journal.md.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec


class OpKind(IntEnum):
    """What kind of operation a position is; part of what replay compares."""

    STEP = 1
    SLEEP = 2
    WAIT = 3
    NOW = 4
    RANDOM = 5
    UUID = 6
    MESSAGE = 7


class Outcome(IntEnum):
    """How an operation ended."""

    VALUE = 0
    """`payload` is the value, empty for None."""
    FAILURE = 1
    """`payload` is a recorded failure."""
    SIGNAL = 2
    """`payload` is empty; `number` names the signal whose value was handed over."""
    TIMED_OUT = 3
    """The wait's own timeout came first."""


class Status(IntEnum):
    """How far a run is; everything after RUNNING is final."""

    RUNNING = 0
    COMPLETED = 1
    FAILED = 2
    CANCELLED = 3
    TERMINATED = 4
    TIMED_OUT = 5
    CONTINUED = 6


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Base of all records."""


class Started(Record, frozen=True, tag=1):
    """A run exists. First record of every run."""

    workflow: str
    version: str
    input: bytes
    request_id: bytes
    at_us: int
    python: str = ""
    fusee: str = ""


class Scheduled(Record, frozen=True, tag=2):
    """The code called an operation. For a sleep or wait `due_us` is its timer, 0 for none."""

    position: int
    op: int
    name: str
    at_us: int
    input: bytes = b""
    due_us: int = 0
    flags: int = 0


class Completed(Record, frozen=True, tag=3):
    """An operation has its outcome, which never changes once this is durable."""

    position: int
    outcome: int
    at_us: int
    payload: bytes = b""
    delivered: bool = True
    number: int = 0
    attempt: int = 1


class Delivered(Record, frozen=True, tag=4):
    """The code saw an outcome that an earlier record holds."""

    position: int
    at_us: int


class AttemptFailed(Record, frozen=True, tag=5):
    """An attempt of a step failed and another will follow at `due_us`."""

    position: int
    attempt: int
    at_us: int
    failure: bytes
    due_us: int
    first_started_us: int


class SignalReceived(Record, frozen=True, tag=6):
    """A signal was accepted. `number` counts the signals of one run from 1."""

    number: int
    name: str
    signal_id: str
    payload: bytes
    at_us: int
    sender: str = ""


class Drawn(Record, frozen=True, tag=7):
    """The code drew a value (time, random number, UUID): scheduled and completed in one."""

    position: int
    op: int
    at_us: int
    value: bytes


class Closed(Record, frozen=True, tag=8):
    """The run has ended. Last record of every run; `payload` is its result or failure."""

    status: int
    at_us: int
    payload: bytes = b""
    reason: str = ""


AnyRecord = (
    Started | Scheduled | Completed | Delivered | AttemptFailed | SignalReceived | Drawn | Closed
)

SCHEDULED_READ_ONLY = 1
"""Flag of a Scheduled record: the step changes nothing outside and does not wait at a gate."""
