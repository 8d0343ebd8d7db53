"""Timing durable 4 KiB writes into blocks that were written before, as the log's are.

Each method gets its own scratch file (cached pages of one would slow O_DIRECT in the other),
and the methods take turns, so that a neighbour's burst of I/O does not decide between them.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import perf_counter_ns
from typing import TYPE_CHECKING

from msgspec import Struct

from fusee.base.limits import BLOCK_SIZE
from fusee.io.aligned import aligned_memory
from fusee.io.methods import Method, open_flags, put_of, sync_file

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

SCRATCH_PREFIX = ".fusee-measure-"
SCRATCH_BLOCKS = 64
_ROUND_WRITES = 8
# Fewer than this say nothing about a median.
_WRITES_MIN = 4


class Timing(Struct, frozen=True):
    """How long one method's writes took; `error` says why there are none."""

    method: Method
    writes: int
    p50_ns: int
    p99_ns: int
    error: str = ""


class Rate(Struct, frozen=True):
    """Durable writes a second with several in flight."""

    method: Method
    in_flight: int
    writes_per_s: float
    error: str = ""


@contextmanager
def scratch_directory(directory: Path) -> Generator[Path, None, None]:
    """Make a directory of our own inside, so that it is on the same disk; removed afterwards.

    It is locked while it is used: whoever measures may be killed, and one that nobody has locked
    is nobody's. The lock of an engine's directory does not tell, since `fusee disk-check`
    measures without it.
    """
    while True:
        with tempfile.TemporaryDirectory(dir=directory, prefix=SCRATCH_PREFIX) as name:
            lock_fd = _lock_scratch(name)
            if lock_fd < 0:
                continue
            try:
                yield Path(name)
            finally:
                os.close(lock_fd)
            return


def _lock_scratch(name: str) -> int:
    """Return a descriptor that locks a new directory, -1 if it is gone.

    Between its making and its locking it looks like one that was left behind.
    """
    try:
        fd = os.open(name, os.O_RDONLY)
    except FileNotFoundError:
        return -1
    with suppress(OSError):  # A file system without locks, where no engine opens.
        fcntl.flock(fd, fcntl.LOCK_EX)
    if os.path.exists(name):
        return fd
    os.close(fd)
    return -1


def remove_abandoned(directory: Path) -> list[str]:
    """Remove scratch directories whose processes were killed; return their names.

    One that cannot be removed, perhaps another user's, is left: it takes some space and no more.
    """
    removed: list[str] = []
    for path in sorted(directory.glob(f"{SCRATCH_PREFIX}*")):
        with suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path)
                removed.append(path.name)
            finally:
                os.close(fd)
    return removed


def measure_methods(
    scratch: Path, methods: Sequence[Method], *, writes: int, budget_ns: int
) -> list[Timing]:
    """Time up to `writes` writes of each method, all within about `budget_ns`."""
    deadline_ns = perf_counter_ns() + budget_ns
    with ExitStack() as open_probes:
        probes = [
            open_probes.enter_context(closing(_Probe(scratch / method, method)))
            for method in methods
        ]
        while any(probe.wants(writes) for probe in probes):
            for probe in probes:
                probe.write_some(min(_ROUND_WRITES, writes - len(probe.took_ns)), deadline_ns)
            if perf_counter_ns() > deadline_ns:
                break
        return [probe.timing() for probe in probes]


def measure_rate(
    scratch: Path, method: Method, *, in_flight: int, writes: int, budget_ns: int
) -> Rate:
    """Count durable writes a second with one thread for each write in flight."""
    with ExitStack() as open_probes:
        probes = [
            open_probes.enter_context(closing(_Probe(scratch / f"rate-{index}", method)))
            for index in range(in_flight)
        ]
        start_ns = perf_counter_ns()
        threads = [
            Thread(target=probe.write_some, args=(writes // in_flight, start_ns + budget_ns))
            for probe in probes
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took_ns = perf_counter_ns() - start_ns
        done = sum(len(probe.took_ns) for probe in probes)
        error = next((probe.error for probe in probes if probe.error), "")
    return Rate(method, in_flight, 0.0 if error else done * 1e9 / took_ns, error)


class _Probe:
    """One scratch file and what its writes took."""

    def __init__(self, path: Path, method: Method) -> None:
        self.method = method
        self.took_ns: list[int] = []
        self.error = ""
        self._put = put_of(method)
        self._fd = -1
        memory = aligned_memory(BLOCK_SIZE)
        # Noise, so that no layer below gains by compressing it.
        memory[:] = os.urandom(BLOCK_SIZE)
        self._block = memoryview(memory)
        _fill(path)
        try:
            self._fd = os.open(path, open_flags(method))
        except OSError as error:
            self.error = str(error.strerror)

    def wants(self, writes: int) -> bool:
        return not self.error and len(self.took_ns) < writes

    def write_some(self, count: int, deadline_ns: int) -> None:
        for _ in range(count):
            enough = len(self.took_ns) >= _WRITES_MIN
            if self.error or (enough and perf_counter_ns() > deadline_ns):
                return
            offset = len(self.took_ns) % SCRATCH_BLOCKS * BLOCK_SIZE
            start_ns = perf_counter_ns()
            try:
                self._put(self._fd, self._block, offset)
            except OSError as error:
                self.error = str(error.strerror)
                return
            self.took_ns.append(perf_counter_ns() - start_ns)

    def timing(self) -> Timing:
        if self.error or not self.took_ns:
            return Timing(self.method, 0, 0, 0, self.error or "nothing was measured")
        took = sorted(self.took_ns)
        count = len(took)
        return Timing(self.method, count, took[count // 2], took[min(count - 1, count * 99 // 100)])

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _fill(path: Path) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(os.dup(fd), "wb") as file:
            file.write(os.urandom(SCRATCH_BLOCKS * BLOCK_SIZE))
        sync_file(fd)
    finally:
        os.close(fd)
