"""Many workers, one campaign: hands out seeds, hears outcomes, notices who dies or hangs.

A worker that dies or hangs is a finding about the seed it was in; another one takes its place.
Some seeds are run again by a worker of another hash seed, and must leave the same trace.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from fusee.testing.outcome import SeedOutcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from sim.job import Ask, Job

HASH_SEED, OTHER_HASH_SEED = "1", "2"
CHUNK_SEEDS = 8
_LOW_SEEDS = 4
"""A worker that has fewer left is handed more: it never waits, and holds back little at the end."""
START_S_MAX = 60.0
"""How long a worker may take to import its level."""
_STACKS_S = 1.0
_decode = msgspec.json.Decoder(SeedOutcome).decode


class WorkerFailed(Exception):
    """A worker could not begin: the level cannot be imported, or the bug does not fit."""


class Worker:
    """One worker process, and the seeds it was handed and has not answered for."""

    def __init__(self, job: Job, hash_seed: str = HASH_SEED, python: str = sys.executable) -> None:
        self.job = job
        self.expected: deque[int] = deque()
        self.heard_at = time.monotonic()
        self._is_ready = False
        self._rest = b""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the worker
        command = [python, "-m", "sim.worker", "--level", job.level]
        if job.bug is not None:
            command += ["--bug", job.bug]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
        )
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)

    def fileno(self) -> int:
        """Return where it tells of outcomes; for select."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def hand(self, seeds: range, ask: Ask) -> None:
        """Let it run some seeds."""
        if not self.expected:
            self.heard_at = time.monotonic()
        self.expected.extend(seeds)
        request = {"from": seeds.start, "to": seeds.stop, "ask": ask.values()}
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # It is dead, and will be found to be.
            self.process.stdin.write(msgspec.json.encode(request) + b"\n")
            self.process.stdin.flush()

    def hear(self) -> tuple[list[SeedOutcome], bool]:
        """Return what it has told since the last time, and whether it is still there."""
        assert self.process.stdout is not None
        outcomes: list[SeedOutcome] = []
        while True:
            data = self.process.stdout.read(1 << 16)
            if data is None:
                return outcomes, True
            if not data:
                return outcomes, False
            self.heard_at = time.monotonic()
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                if not self._is_ready:
                    self._is_ready = True
                    continue
                outcome = _decode(line)
                assert outcome.seed == self.expected.popleft(), "outcomes come in order"
                outcomes.append(outcome)

    def hangs(self, now_s: float) -> bool:
        """Whether it owes an outcome for too long."""
        limit_s = self.job.seed_s_max if self._is_ready else START_S_MAX
        return bool(self.expected) and now_s - self.heard_at > limit_s

    def kill(self) -> None:
        """End it now; its stacks are written first."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGUSR1)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_STACKS_S)
            self.process.kill()

    def close(self) -> None:
        """End it, and take back what it holds."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        if self.expected:
            self.process.kill()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._errors.close()

    def lost(self, how: str) -> SeedOutcome:
        """Return the outcome of the seed in which it was lost. Raises `WorkerFailed`."""
        code = self.process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        if not self._is_ready:
            raise WorkerFailed("\n".join(lines) or f"a worker ended with code {code}")
        seed = self.expected.popleft()
        if how == "died":
            text = f"the process of this seed died by signal {-code}"
            if code >= 0:
                text = f"the process of this seed ended with code {code}"
            return SeedOutcome(seed, Verdict.CRASHED, (text,), trace=tuple(lines[-60:]))
        text = f"this seed hangs: no outcome after {self.job.seed_s_max:g} s"
        return SeedOutcome(seed, Verdict.STUCK, (text,), trace=tuple(lines[-60:]))


class Campaign:
    """Runs the seeds of one job over some workers, to their end or until told to stop."""

    def __init__(
        self,
        job: Job,
        seeds: range,
        *,
        workers: int,
        recheck_every: int,
        on_outcome: Callable[[SeedOutcome], None],
        recheck_python: str = sys.executable,
    ) -> None:
        self.is_stopping = False
        self.rechecked = 0
        self._job = job
        self._next_seed, self._end_seed = seeds.start, seeds.stop
        self._worker_count = workers
        self._recheck_every = recheck_every
        self._recheck_python = recheck_python
        self._on_outcome = on_outcome
        self._left: deque[range] = deque()
        """What a lost worker was handed and has not begun."""
        self._workers: list[Worker] = []
        self._checker: Worker | None = None
        self._hashes: dict[int, int] = {}

    def run(self, tick: Callable[[], None], *, tick_s: float = 0.1) -> None:
        """Run to the end. `tick` is called often; it may set `is_stopping`."""
        try:
            self._workers = [Worker(self._job) for _ in range(self._worker_count)]
            while not self.is_stopping and self._feed():
                everybody: list[Worker] = [*self._workers]
                if self._checker is not None:
                    everybody.append(self._checker)
                readable, _, _ = select.select(everybody, [], [], tick_s)
                for worker in readable:
                    self._hear(worker)
                now_s = time.monotonic()
                for worker in everybody:
                    if worker.hangs(now_s):
                        worker.kill()
                        self._lost(worker, "hangs")
                tick()
        finally:
            everybody = [*self._workers]
            if self._checker is not None:
                everybody.append(self._checker)
            for worker in everybody:
                worker.close()

    def _feed(self) -> bool:
        """Give work to who has none or little; return whether anything is under way."""
        for worker in self._workers:
            if len(worker.expected) < _LOW_SEEDS and (chunk := self._next_chunk()) is not None:
                worker.hand(chunk, self._job.ask)
        is_checking = self._checker is not None and bool(self._checker.expected)
        return is_checking or any(worker.expected for worker in self._workers)

    def _next_chunk(self) -> range | None:
        if self._left:
            return self._left.popleft()
        start, stop = self._next_seed, min(self._next_seed + CHUNK_SEEDS, self._end_seed)
        self._next_seed = stop
        return range(start, stop) if start < stop else None

    # ------------------------------------------------------------ hearing

    def _hear(self, worker: Worker) -> None:
        outcomes, is_there = worker.hear()
        for outcome in outcomes:
            if worker is self._checker:
                self._compare(outcome)
            else:
                self._take(outcome)
        if not is_there and not self.is_stopping:
            self._lost(worker, "died")

    def _take(self, outcome: SeedOutcome) -> None:
        if self.is_stopping:
            return
        self._on_outcome(outcome)
        if outcome.is_clean and self._recheck_every and outcome.seed % self._recheck_every == 0:
            if self._checker is None:
                self._checker = Worker(self._job, OTHER_HASH_SEED, self._recheck_python)
            self._hashes[outcome.seed] = outcome.trace_hash
            self._checker.hand(range(outcome.seed, outcome.seed + 1), self._job.ask)

    def _compare(self, outcome: SeedOutcome) -> None:
        first = self._hashes.pop(outcome.seed)
        self.rechecked += 1
        if outcome.trace_hash != first and not self.is_stopping:
            self._on_outcome(differing(outcome, first))

    def _lost(self, worker: Worker, how: str) -> None:
        """Replace a worker; the seed that it was in is a finding, the others are run later."""
        if worker.expected or how == "died":
            outcome = worker.lost(how) if worker.expected else _ended_idle(worker)
            if not self.is_stopping:
                self._on_outcome(outcome)
        left, worker.expected = worker.expected, deque()
        worker.close()
        if worker is self._checker:
            self._checker = None
            self._hashes.clear()
            return
        self._workers.remove(worker)
        self._left.extend(range(seed, seed + 1) for seed in left)
        if not self.is_stopping:
            self._workers.append(Worker(self._job))


def _ended_idle(worker: Worker) -> SeedOutcome:
    worker.expected.append(-1)
    return worker.lost("died")


def differing(outcome: SeedOutcome, first: int) -> SeedOutcome:
    """Return the finding that a seed is not the same in two processes."""
    text = (
        f"not deterministic: trace hash {first:#010x} with PYTHONHASHSEED={HASH_SEED},"
        f" {outcome.trace_hash:#010x} with PYTHONHASHSEED={OTHER_HASH_SEED}"
    )
    return SeedOutcome(
        outcome.seed, Verdict.VIOLATION, (text, *outcome.violations), trace=outcome.trace
    )


def run_once(worker: Worker, seed: int, ask: Ask) -> tuple[SeedOutcome, Any]:
    """Run one seed on a worker; return its outcome and the worker to use next."""
    worker.hand(range(seed, seed + 1), ask)
    while True:
        select.select([worker], [], [], 0.1)
        outcomes, is_there = worker.hear()
        if outcomes:
            return outcomes[0], worker
        hangs = worker.hangs(time.monotonic())
        if hangs:
            worker.kill()
        if hangs or not is_there:
            outcome = worker.lost("hangs" if hangs else "died")
            worker.close()
            return outcome, Worker(worker.job)
