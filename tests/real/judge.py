"""Judges a victim from outside: what it said and did, against what its disk holds.

Believes two things only: the lines that reached the outside world, and the log on disk, read
by the scan alone and not by an engine. The promises are those of docs/internals/runtime.md.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from fusee.io.file_device import FileDevice
from fusee.io.log_files import read_copies
from fusee.io.methods import candidate_methods
from fusee.log import superblock as sb
from fusee.log.scan import LogScan
from fusee.log.segment import segment_name
from fusee.record.kinds import Status
from tests.support.facts import Facts

Line = dict[str, Any]


def facts_on_disk(directory: Path) -> Facts:
    """Read a log that nobody has open; nothing is repaired. Raises what a damaged log raises."""
    return scan_disk(directory)[0]


def scan_disk(directory: Path) -> tuple[Facts, str]:
    """Read a log; also return what an operator would be told about its end."""
    facts = Facts()
    device = FileDevice(directory, candidate_methods()[0], 0)
    try:
        if device.size(sb.FILE) < 0:
            return facts, ""
        superblock = sb.choose(read_copies(device)).superblock
        if not superblock.boot_count and device.size(segment_name(superblock.base.segment)) < 0:
            return facts, ""
        scan = LogScan(device.read, device.files(), superblock)
        for batch in scan.batches():
            facts.add(batch)
        return facts, scan.end.report
    finally:
        device.close()


def lines_of(file: Path) -> list[Line]:
    """Return what a victim said in one life."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


class Judge:
    """Hears lives in their order, and looks at disks in between."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.started: set[str] = set()
        self.signals: dict[tuple[str, str], bytes] = {}
        self.results: dict[str, Any] = {}
        self.answers: dict[str, list[str]] = {}
        self.calls: dict[str, list[Line]] = defaultdict(list)
        self.refusals: list[Line] = []
        self.life = 0

    def blame(self, text: str) -> None:
        self.violations.append(f"life {self.life}: {text}")

    # ---------------------------------------------------------------- hearing

    def hear(self, lines: list[Line]) -> None:
        """Hear one life."""
        self.life += 1
        has_stopped = ""
        called: set[tuple[str, int]] = set()
        for line in lines:
            if has_stopped and "finished" not in line:
                self.blame(f"{line} after it had {has_stopped}")
            match line:
                case {"call": str(key), "attempt": int(attempt)}:
                    if (key, attempt) in called:
                        self.blame(f"{key} ran twice as attempt {attempt} in one life")
                    called.add((key, attempt))
                    self._hear_call(key, line)
                case {"started": str(run)}:
                    self.started.add(run)
                case {"signalled": str(run), "id": str(signal_id), "payload": str(payload)}:
                    self._same(self.signals, (run, signal_id), payload.encode(), "signal")
                case {"result": str(run)}:
                    self._same(self.results, run, line["value"], "result")
                case {"answered": str(run), "seen": list(seen)}:
                    self._hear_answer(run, seen)
                case {"stopped": _}:
                    has_stopped = "stopped"
                case {"refused": _}:
                    has_stopped = "refused to open"
                    self.refusals.append(line)
                case _:
                    pass

    def _hear_call(self, key: str, line: Line) -> None:
        before = self.calls[key]
        if not line["read_only"]:
            if before and before[0]["input"] != line["input"]:
                self.blame(f"{key} saw {before[0]['input']} and then {line['input']}")
            if before and before[-1]["attempt"] > line["attempt"]:
                self.blame(f"{key}: attempt {line['attempt']} after {before[-1]['attempt']}")
        before.append(line)

    def _hear_answer(self, run: str, seen: list[str]) -> None:
        before = self.answers.get(run, [])
        if seen[: len(before)] != before[: len(seen)]:
            self.blame(f"query of {run} answered {before}, then {seen}")
        if len(seen) > len(before):
            self.answers[run] = seen

    def _same(self, table: dict[Any, Any], key: Any, value: Any, what: str) -> None:
        if table.setdefault(key, value) != value:
            self.blame(f"{what} of {key} was {table[key]!r}, now {value!r}")

    # ---------------------------------------------------------------- looking

    def look(self, facts: Facts) -> None:
        """Check a disk against everything that ever left."""
        for text in facts.contradictions:
            self.blame(f"the log contradicts itself: {text}")
        for run in sorted(self.started - set(facts.started)):
            self.blame(f"acknowledged start of {run} is lost")
        for key, payload in self.signals.items():
            if facts.signals.get(key) != payload:
                self.blame(f"acknowledged signal {key[1]} of {key[0]} is lost")
        for run, seen in self.answers.items():
            durable = facts.values[run]
            missing = [value for value in seen if json.dumps(value).encode() not in durable]
            if missing:
                self.blame(f"{run}: a query answered {missing}, which is lost")
        self._look_at_results(facts)
        self._look_at_calls(facts)

    def _look_at_results(self, facts: Facts) -> None:
        for run, outcome in self.results.items():
            closed = facts.closed.get(run)
            if closed is None:
                self.blame(f"result of {run}, which somebody has seen, is lost")
            elif closed.status == Status.COMPLETED and json.loads(closed.payload) != outcome:
                self.blame(f"result of {run} was {outcome!r}, is now {closed.payload!r}")

    def _look_at_calls(self, facts: Facts) -> None:
        for key, calls in self.calls.items():
            completed = facts.completed.get(key)
            if completed is not None and completed.payload[:1] == b'"':
                answer = json.loads(completed.payload)
                if answer != calls[-1]["answer"]:
                    self.blame(f"{key}: its last call brought another result than the log has")
            if calls[-1]["read_only"]:
                continue
            scheduled = facts.scheduled.get(key)
            if scheduled is None:
                self.blame(f"step {key} ran and the log does not know of it")
            elif json.loads(scheduled.input or b"{}") != calls[-1]["input"]:
                self.blame(f"step {key} ran with {calls[-1]['input']}, not {scheduled.input!r}")
            failed = facts.attempts_failed.get(key, 0)
            if calls[-1]["attempt"] > failed + 1:
                self.blame(f"step {key}: attempt {calls[-1]['attempt']} after {failed} failures")

    def look_at_the_end(self, facts: Facts) -> None:
        """Check the disk after a life without faults: every run has ended, and was heard of."""
        self.look(facts)
        for run in sorted(set(facts.started) - set(facts.closed)):
            self.blame(f"{run} has not finished")
        for run in sorted(self.started - set(self.results)):
            self.blame(f"nobody has seen the result of {run}")

    @property
    def acks(self) -> int:
        """How many acknowledgements were heard."""
        return len(self.started) + len(self.signals) + len(self.results)
