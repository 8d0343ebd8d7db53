"""What a disk knows of every run: the durable records, indexed by the names people use.

Built from an image by reading its log, and kept up to date write by write, so that a checker
can ask at the moment something leaves the process: is what this rests on durable?
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from fusee.io.log_files import load_superblock
from fusee.log.batch import decode_batch, sections
from fusee.log.frame import BadFrame, FrameKind, decode_envelope, join_body, split_units
from fusee.log.scan import LogScan
from fusee.log.segment import DATA_START, segment_number
from fusee.record.group import decode_records, decode_section
from fusee.record.kinds import (
    AttemptFailed,
    Closed,
    Completed,
    Outcome,
    Scheduled,
    SignalReceived,
    Started,
)

if TYPE_CHECKING:
    from fusee.log.batch import Batch
    from fusee.log.device import Device


class Facts:
    """Durable records. Keys of runs are "id/ordinal", of operations "id/ordinal/position"."""

    def __init__(self) -> None:
        self.started: dict[str, Started] = {}
        self.scheduled: dict[str, Scheduled] = {}
        self.completed: dict[str, Completed] = {}
        self.attempts_failed: dict[str, int] = {}
        self.signals: dict[tuple[str, str], bytes] = {}
        self.closed: dict[str, Closed] = {}
        self.values: dict[str, list[bytes]] = defaultdict(list)
        """Payloads of the results of each run, in log order."""
        self.newest: dict[str, int] = {}
        """Highest ordinal of each ID."""
        self.contradictions: list[str] = []
        self._unread: dict[tuple[str, str], list[int]] = defaultdict(list)
        """Run and name -> numbers of signals that no wait has been given, oldest first."""
        self._names: dict[tuple[str, int], str] = {}
        self.batch_count = 0
        self.record_count = 0

    def add(self, batch: Batch) -> None:
        """Add what a durable batch holds."""
        self.batch_count += 1
        for _, section in sections(batch):
            for group in decode_section(section):
                run = f"{group.workflow_id}/{group.ordinal}"
                for record in decode_records(bytes(group.records)):
                    self.record_count += 1
                    if type(record) is Started:
                        self._begins(group.workflow_id, group.ordinal)
                    self.learn(run, record)

    def on_write(self, file: str, offset: int, data: bytes) -> None:
        """Add what a durable write holds, if it is a batch."""
        batch = batch_of(file, offset, data)
        if batch is not None:
            self.add(batch)

    def learn(self, run: str, record: object) -> None:
        """Add one record."""
        if run in self.closed:
            self.contradictions.append(f"{run}: {record!r} after its end")
        match record:
            case Started():
                self._once(self.started, run, record)
            case Scheduled():
                self._once(self.scheduled, f"{run}/{record.position}", record)
            case Completed():
                self._once(self.completed, f"{run}/{record.position}", record)
                self.values[run].append(record.payload)
                if record.outcome == Outcome.SIGNAL:
                    self._reads(run, record.number)
            case AttemptFailed():
                key = f"{run}/{record.position}"
                if record.attempt != self.attempts_failed.get(key, 0) + 1:
                    self.contradictions.append(f"{key}: attempt {record.attempt} out of turn")
                self.attempts_failed[key] = record.attempt
            case SignalReceived():
                self._once(self.signals, (run, record.signal_id), record.payload)
                self._names[run, record.number] = record.name
                self._unread[run, record.name].append(record.number)
            case Closed():
                self._once(self.closed, run, record)
            case _:
                pass

    def _reads(self, run: str, number: int) -> None:
        """A wait was given a signal: the oldest of its name that nobody had."""
        unread = self._unread[run, self._names.get((run, number), "")]
        if number not in unread:
            self.contradictions.append(f"{run}: signal {number} was read, and is not there")
            return
        if number != unread[0]:
            self.contradictions.append(f"{run}: signal {number} was read before {unread[0]}")
        unread.remove(number)

    def _begins(self, workflow_id: str, ordinal: int) -> None:
        before = self.newest.get(workflow_id, 0)
        if ordinal != before + 1:
            self.contradictions.append(f"{workflow_id}: run {ordinal} began after run {before}")
        elif before and f"{workflow_id}/{before}" not in self.closed:
            self.contradictions.append(f"{workflow_id}: run {ordinal} began beside run {before}")
        self.newest[workflow_id] = ordinal

    def _once(self, table: dict[Any, Any], key: object, value: object) -> None:
        if key in table:
            self.contradictions.append(f"{key}: recorded {table[key]!r}, then {value!r}")
        else:
            table[key] = value


def batch_of(file: str, offset: int, data: bytes) -> Batch | None:
    """Return the batch that a write to a segment carries, None if it carries none."""
    if segment_number(file) is None or offset < DATA_START:
        return None
    contents, _ = split_units(data)
    try:
        envelope = decode_envelope(contents[0])
    except BadFrame:
        return None
    if envelope.kind != FrameKind.BATCH:
        return None
    return decode_batch(join_body(contents, envelope.body_bytes))


def facts_of(device: Device) -> Facts | None:
    """Read the log of a device; None where it holds no directory yet. Changes nothing.

    Raises what an opening raises when it refuses.
    """
    facts = Facts()
    loaded = load_superblock(device)
    if loaded is None or not any(segment_number(name) for name in device.files()):
        return None
    for batch in LogScan(device.read, device.files(), loaded[0].superblock).batches():
        facts.add(batch)
    return facts
