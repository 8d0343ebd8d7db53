"""One member: a real replica, its disk, and the driver between them, in virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from fusee.base.ids import BatchHash, Epoch, OpNumber, View
from fusee.vr.messages import PrepareOk
from fusee.vr.replica import Replica
from fusee.vr.state import Limits, ReplicaState, ReplicaStatus, Timing
from sim.protocol.disk import MemberDisk

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from fusee.vr.messages import AnyMessage
    from fusee.vr.ready import ReadLog, Ready
    from sim.protocol.checkers import Checkers
    from sim.protocol.disk import Duty
    from sim.protocol.plan import Plan

MS = 1_000_000
GROUP = b"the group we try"
TIMING = Timing(heartbeat_ns=10 * MS, silence_ns=50 * MS, quorum_ns=33 * MS, retry_ns=10 * MS)


class Surrounding(Protocol):
    """What a member needs of the world it lives in: a seed's, or a script's."""

    now_ns: int
    plan: Plan
    checkers: Checkers

    def at(self, when_ns: int, call: Callable[..., None], *values: Any) -> None:
        """Call at a virtual time."""
        ...

    def later(self, delay_ns: int, call: Callable[..., None], *values: Any) -> None:
        """Call after a while."""
        ...

    def tick_ns(self) -> int:
        """How long until the member looks at the time again."""
        ...

    def disk_ns(self) -> int:
        """How long a write takes."""
        ...

    def may_be_garbage(self, slot: int, duty: Duty) -> bool:
        """Whether a crash may leave a write unreadable."""
        ...

    def send(self, sender: int, to: int, message: AnyMessage) -> None:
        """Hand a message to the network."""
        ...


class Member:
    """A slot of the group. `life` counts its processes; what an earlier one began is void."""

    def __init__(self, world: Surrounding, slot: int) -> None:
        self.world = world
        self.slot = slot
        self.disk = MemberDisk()
        self.life = 0
        self.paused_until_ns = 0
        self.under_way: list[Duty] = []
        self.replica: Replica | None = None

    @property
    def state(self) -> ReplicaState:
        """The state of a member that is up."""
        assert self.replica is not None
        return self.replica.state

    @property
    def is_up(self) -> bool:
        """Whether the process lives."""
        return self.replica is not None

    # ------------------------------------------------------------ life and death

    def start(self) -> None:
        """Open the directory and join the group."""
        assert not self.is_up
        self.disk.boot()
        self.life += 1
        self.replica = Replica(self._recovered())
        self._do(self.replica.on_recovered(self.world.now_ns))
        self.world.later(self.world.tick_ns(), self._tick, self.life)

    def _recovered(self) -> ReplicaState:
        disk, plan = self.disk, self.world.plan
        tail = disk.tail()
        head = tail.get(tail.head_op)
        durable_op = OpNumber(tail.first_not_durable(0) - 1)
        commit_op = 0
        for entry in tail.after(0):
            if entry.batch is not None:
                commit_op = max(commit_op, entry.batch.commit_op)
        unknown = disk.unknown
        return ReplicaState(
            group_id=GROUP,
            slot=self.slot,
            member_count=plan.members,
            epoch=Epoch(1),
            view=View(disk.view),
            log_view=View(disk.log_view),
            status=ReplicaStatus.RECOVERING,
            head_op=OpNumber(tail.head_op),
            head_hash=BatchHash(tail.head.hash),
            head_ts_us=head.batch.ts_us if head and head.batch else 0,
            commit_op=OpNumber(commit_op),
            durable={self.slot: durable_op},
            saved_view=disk.view,
            saved_log_view=disk.log_view,
            vouch=disk.vouch,
            unknown=unknown,
            unknown_op_max=unknown.op if unknown else 0,
            tail=tail,
            timing=TIMING,
            limits=Limits(window_batches=plan.window, kept_batches=plan.kept),
        )

    def lose_power(self, crash: Random) -> None:
        """End the process; what is being written lands, or not, or in part."""
        for duty in self.under_way:
            self.disk.land(duty, crash, self.world.may_be_garbage(self.slot, duty))
        self.end(lands=False)

    def end(self, *, lands: bool) -> None:
        """End the process; all that is being written has landed, or none of it."""
        for duty in self.under_way if lands else ():
            self.disk.apply(duty)
        self.under_way.clear()
        self.replica = None
        self.life += 1

    # ------------------------------------------------------------ inputs

    def _tick(self, life: int) -> None:
        if life == self.life and self.is_up:
            self.world.later(self.world.tick_ns(), self._tick, life)
            self.tick()

    def tick(self) -> None:
        """Look at the time."""
        if self.replica is not None and self.paused_until_ns <= self.world.now_ns:
            self._do(self.replica.on_tick(self.world.now_ns))

    def hear(self, slot: int, message: AnyMessage) -> None:
        """A message has arrived."""
        if self.replica is None:
            return
        if self.paused_until_ns > self.world.now_ns:
            self.world.at(self.paused_until_ns, self.hear, slot, message)
            return
        self._do(self.replica.on_message(slot, message, self.world.now_ns))

    def disconnected(self, slot: int) -> None:
        """The connection to a member has ended."""
        if self.replica is not None and self.paused_until_ns <= self.world.now_ns:
            self._do(self.replica.on_disconnected(slot, self.world.now_ns))

    def propose(self, payload: bytes) -> bool:
        """Let a client's batch be ordered; say whether it was."""
        replica = self.replica
        if replica is None or self.paused_until_ns > self.world.now_ns or not replica.can_propose:
            return False
        batch, ready = replica.propose([(0, payload)], self.world.now_ns // 1_000)
        self.world.checkers.proposed(self, batch)
        self._do(ready)
        return True

    def read(self, token: int) -> bool:
        """Let a client ask for something; say whether this member takes the question."""
        replica = self.replica
        if replica is None or self.paused_until_ns > self.world.now_ns:
            return False
        ready = replica.read(token, self.world.now_ns)
        if ready is None:
            return False
        self.world.checkers.asked(token)
        self._do(ready)
        return True

    def hand_over(self, slot: int) -> None:
        """Ask a primary to let another member lead."""
        if self.replica is not None and self.paused_until_ns <= self.world.now_ns:
            self._do(self.replica.hand_over(slot, self.world.now_ns))

    # ------------------------------------------------------------ duties

    def _do(self, ready: Ready) -> None:
        world = self.world
        world.checkers.looked_at(self)
        life = self.life
        for token in ready.confirmed:
            world.checkers.answered(self, token)
        for to, message in ready.messages:
            if isinstance(message, PrepareOk):
                world.checkers.acknowledged(self, message)
            world.send(self.slot, to, message)
            if self.life != life:
                return  # Power was lost around that message.
        for duty in (ready.save, ready.write, ready.stage, ready.install, *ready.rewrites):
            if duty is not None:
                world.checkers.owed.add(type(duty).__name__)
                self.under_way.append(duty)
                world.later(world.disk_ns(), self.finish, life, duty)
        for asked in ready.reads:
            world.checkers.owed.add(type(asked).__name__)
            world.later(world.disk_ns(), self.read_done, life, asked)

    def read_done(self, life: int, asked: ReadLog) -> None:
        """The disk has given what another member asked for."""
        if life == self.life and self.replica is not None:
            self._do(self.replica.on_read(asked, self.disk.read(asked), self.world.now_ns))

    def finish(self, life: int, duty: Duty) -> None:
        """A write has ended, if its process still lives."""
        if life != self.life or self.replica is None:
            return
        if self.paused_until_ns > self.world.now_ns:
            self.world.at(self.paused_until_ns, self.finish, life, duty)
            return
        self.under_way.remove(duty)
        self.disk.apply(duty)
        self._do(self.replica.on_done(duty, self.world.now_ns))
