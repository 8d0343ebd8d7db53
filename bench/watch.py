"""An engine whose device and log are counted: writes by kind, and how long each record waits.

The counters are subclasses of the engine's own parts, put in where an engine is assembled,
so they see every write and every record whatever the layers between do. They cost a
fraction of a microsecond a call, which counts against the engine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import msgspec

from fusee.base.clock import Clock
from fusee.base.ids import ShardId, Ticket
from fusee.embed.assembly import Assembly, Wake, assemble_on
from fusee.embed.engine import Engine
from fusee.embed.programs import Registry
from fusee.engine.commitlog import Stopped
from fusee.io.calibration import calibrate
from fusee.io.directory import Directory
from fusee.io.file_device import FileDevice
from fusee.log.frame import FrameKind
from fusee.node.local_node import LocalNode
from fusee.node.storage import Storage
from fusee.record.group import Group
from fusee.sdk.workflow import Workflow
from fusee.vr.state import ReplicaState

_MAGIC = b"FsFr"
_KIND_AT = 5
_decode_group = msgspec.msgpack.Decoder(Group).decode
_split_records = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


class WatchedDevice(FileDevice):
    """Counts what is written: frames with a batch, seals, and everything else."""

    batches = 0
    seals = 0
    others = 0
    frame_bytes = 0

    @property
    def writes(self) -> int:
        return self.batches + self.seals + self.others

    def write(self, file: str, offset: int, data: bytes | memoryview) -> None:
        if data[:4] != _MAGIC:
            self.others += 1
        elif data[_KIND_AT] == FrameKind.SEAL:
            self.seals += 1
            self.frame_bytes += len(data)
        else:
            self.batches += 1
            self.frame_bytes += len(data)
        super().write(file, offset, data)


class WatchedNode(LocalNode):
    """Stamps each group of records when it is appended and when it is committed."""

    waits_ns: list[int]
    groups: list[bytes]
    _stamps: deque[tuple[Ticket, int]]

    def __init__(self, state: ReplicaState, storage: Storage, clock: Clock) -> None:
        super().__init__(state, storage, clock)
        self.reset()
        # Wrapped as they are, not overridden: the node may hold them as attributes, and an
        # override that nobody calls would count nothing.
        append, append_together = self.append, self.append_together

        def append_one(shard: ShardId, group: bytes) -> Ticket:
            ticket = append(shard, group)
            self._stamps.append((ticket, perf_counter_ns()))
            self.groups.append(group)
            return ticket

        def append_many(groups: Sequence[tuple[ShardId, bytes]]) -> Ticket:
            ticket = append_together(groups)
            self._stamps.append((ticket, perf_counter_ns()))
            self.groups.extend(group for _, group in groups)
            return ticket

        vars(self).update(append=append_one, append_together=append_many)

    def reset(self) -> None:
        """Forget what was seen; what is still on its way is not counted."""
        self.waits_ns, self.groups, self._stamps = [], [], deque()

    def listen(
        self,
        on_commit: Callable[[Ticket], None],
        on_room: Callable[[], None],
        on_stop: Callable[[Stopped], None],
    ) -> None:
        def committed(ticket: Ticket) -> None:
            now_ns = perf_counter_ns()
            stamps = self._stamps
            while stamps and stamps[0][0] <= ticket:
                self.waits_ns.append(now_ns - stamps.popleft()[1])
            on_commit(ticket)

        super().listen(committed, on_room, on_stop)

    def records(self) -> int:
        """How many records were appended since the reset."""
        return sum(len(_split_records(_decode_group(group).records)) for group in self.groups)


class Watched:
    """One engine on a directory, with its counters."""

    device: WatchedDevice
    node: WatchedNode

    def __init__(self, path: Path, workflows: Iterable[Workflow[Any, Any]]) -> None:
        self._path = path
        self.engine = Engine(self._assemble, Registry(workflows))

    def _assemble(self, clock: Clock, wake: Wake) -> Assembly:
        directory = Directory.acquire(self._path)
        calibration = calibrate(self._path)
        self.device = WatchedDevice(self._path, calibration.method, calibration.flush_ns)
        assembly = assemble_on(self.device, directory, clock, wake)
        assert assembly.log is not None
        # Before anything was told of the node: the replica's state and the log go over as they are.
        self.node = WatchedNode(assembly.node.state, assembly.log, clock)
        assembly.node = self.node
        return assembly
