"""A group in virtual time: events, network, faults, clients, and the peace at the end."""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Final

from fusee.testing.marks import Marks
from fusee.testing.outcome import Stuck
from fusee.testing.seeds import stream
from fusee.testing.trace import Trace
from fusee.vr.messages import (
    DoViewChange,
    ExitView,
    Prepare,
    PrepareOk,
    StartView,
    decode,
    encode,
)
from fusee.vr.ready import Write
from sim.protocol.checkers import Checkers
from sim.protocol.member import Member

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.vr.messages import AnyMessage
    from sim.protocol.disk import Duty
    from sim.protocol.plan import Plan

MS: Final = 1_000_000
FAULTS_END_NS: Final = 3_000 * MS
PEACE_NS: Final = 8_000 * MS
EVENTS_MAX: Final = 400_000
_POINTS: Final = (PrepareOk, DoViewChange, StartView, Prepare, ExitView)


class World:
    """The state of one seed."""

    def __init__(self, seed: int, plan: Plan) -> None:
        self.plan = plan
        self.now_ns = 0
        self.is_peace = False
        self.trace = Trace()
        self.counters: Counter[str] = Counter()
        self.marks = Marks()
        self.checkers = Checkers()
        self.crash = stream(seed, "crash")
        self._net = stream(seed, "net")
        self._disk = stream(seed, "disk")
        self._time = stream(seed, "time")
        self._fate = stream(seed, "fate")
        self._queue: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._count = 0
        self._cut: set[tuple[int, int]] = set()
        self._peace_ns = 0
        self._ordered = 0
        self._asked = 0
        self._away: list[Member] = []
        self.members = [Member(self, slot) for slot in range(plan.members)]

    # ------------------------------------------------------------ time

    def at(self, when_ns: int, call: Callable[..., None], *values: Any) -> None:
        """Call later, at a virtual time."""
        self._count += 1
        heappush(self._queue, (when_ns, self._count, call, values))

    def later(self, delay_ns: int, call: Callable[..., None], *values: Any) -> None:
        """Call after a while."""
        self.at(self.now_ns + delay_ns, call, *values)

    def tick_ns(self) -> int:
        """How long until a member looks at the time again."""
        return 4 * MS + int(self._time.random() * 2 * MS)

    def note(self, code: str, *values: int | str) -> None:
        """Add to the trace."""
        self.trace.add(self.now_ns // 1_000, code, *values)

    def _soon(self, mean_ns: int) -> int:
        return 1 + int(self._fate.expovariate(1 / mean_ns))

    # ------------------------------------------------------------ the run

    def run(self) -> None:
        """Faults first, then none; raises `Broken`, `Stuck`, or what our code raises."""
        for member in self.members:
            member.start()
        self.later(1, self._client)
        for every_ns, call in (
            (self.plan.crash_every_ns, self._crash),
            (self.plan.cut_every_ns, self._change_cut),
            (self.plan.pause_every_ns, self._pause),
        ):
            self.later(self._soon(every_ns), call)
        if self.plan.has("handover"):
            self.later(self._soon(300 * MS), self._hand_over)
        while not (self.is_peace and self._count % 16 == 0 and self._has_converged()):
            self.now_ns, _, call, values = heappop(self._queue)
            call(*values)
            self.counters["events"] += 1
            if not self.is_peace and (
                self.now_ns > FAULTS_END_NS or self._ordered >= self.plan.batches
            ):
                self._make_peace()
            if self.is_peace and self.now_ns > self._peace_ns + PEACE_NS:
                raise Stuck(self._describe())
            if self.counters["events"] > EVENTS_MAX:
                raise Stuck("too many events; " + self._describe())
        self.checkers.at_the_end(self.members)
        for duty in self.checkers.owed:
            self.marks.hit(f"duty:{duty}")
        self.counters["reads"] = self.checkers.answers
        self.counters["decided"] = len(self.checkers.decided) - 1

    def _describe(self) -> str:
        parts = [f"decided {len(self.checkers.decided) - 1}"]
        for member in self.members:
            if member.is_up:
                state = member.state
                parts.append(
                    f"{member.slot}: {state.status.value} view {state.view}/{state.log_view}"
                    f" head {state.head_op} durable {state.durable_op} commit {state.commit_op}"
                )
        return "; ".join(parts)

    def _make_peace(self) -> None:
        self.is_peace = True
        self._peace_ns = self.now_ns
        self._cut.clear()
        self.note("peace")
        self._away = self._fate.sample(self.members, self.plan.away)
        for member in self.members:
            member.paused_until_ns = 0
            if member in self._away:
                if member.is_up:
                    member.lose_power(self.crash)
            elif not member.is_up:
                self.later(MS, self._start, member)

    def _has_converged(self) -> bool:
        if not self._are_together():
            return False
        if self._away:
            self.marks.hit("end:without-some")
            self._peace_ns = self.now_ns
            for member in self._away:
                self._start(member)
            self._away = []
            return False
        return True

    def _are_together(self) -> bool:
        decided = len(self.checkers.decided) - 1
        for member in self.members:
            if member in self._away:
                continue
            if not member.is_up:
                return False
            state = member.state
            if not state.is_normal or {state.head_op, state.commit_op, state.durable_op} != {
                decided
            }:
                return False
        return True

    # ------------------------------------------------------------ disks and network

    def disk_ns(self) -> int:
        """How long one write takes."""
        mean_ns = min(self.plan.disk_ns, MS) if self.is_peace else self.plan.disk_ns
        if not self.is_peace and self._disk.random() < self.plan.slow_disk:
            return int(self._disk.random() * 80 * MS)
        return 20_000 + int(self._disk.expovariate(1 / mean_ns))

    def may_be_garbage(self, slot: int, duty: Duty) -> bool:
        """Whether a crash may leave this write unreadable: one copy of a batch at most."""
        return (
            isinstance(duty, Write)
            and duty.batch.op % self.plan.members == slot
            and self.crash.random() < self.plan.garbage
        )

    def send(self, sender: int, to: int, message: AnyMessage) -> None:
        """Hand a message to the network."""
        random, plan = self._net, self.plan
        self.counters["messages"] += 1
        if not self.is_peace:
            if (sender, to) in self._cut or random.random() < plan.loss:
                self.counters["fault:lost-message"] += 1
                return
            if isinstance(message, _POINTS) and random.random() < plan.point:
                victim = self.members[random.choice((sender, sender, to))]
                delay_ns = random.choice((0, 0, 1, 5)) * MS
                self.later(delay_ns, self._strike, victim, victim.life, type(message).__name__)
        if plan.wire:
            message = decode(encode(message))
        delay_ns = self._delay_ns()
        self.later(delay_ns, self.members[to].hear, sender, message)
        if not self.is_peace and random.random() < plan.duplicate:
            self.counters["fault:duplicate"] += 1
            again_ns = delay_ns + int(random.expovariate(1 / (30 * MS)))
            self.later(again_ns, self.members[to].hear, sender, message)

    def _delay_ns(self) -> int:
        mean_ns = min(self.plan.delay_ns, 2 * MS) if self.is_peace else self.plan.delay_ns
        delay_ns = 20_000 + int(self._net.expovariate(1 / mean_ns))
        if not self.is_peace and self._net.random() < self.plan.delay_tail:
            delay_ns += int(self._net.random() * 30 * MS)
        return delay_ns

    # ------------------------------------------------------------ clients

    def _client(self) -> None:
        if self._ordered < self.plan.batches:
            payload = self._ordered.to_bytes(4, "big")
            for member in self.members:
                if member.propose(payload):
                    self._ordered += 1
                    payload = self._ordered.to_bytes(4, "big")
                self._ask(member)
        self.later(self._soon(self.plan.load_ns), self._client)

    def _ask(self, member: Member) -> None:
        self._asked += member.read(self._asked)

    # ------------------------------------------------------------ faults

    def _start(self, member: Member) -> None:
        if not member.is_up:
            if not self.is_peace:
                self._rot(member)
            member.start()
            self.counters["recoveries"] += 1
            self.note("start", member.slot, member.state.head_op, member.state.status.value)
            if member.disk.unknown is not None:
                self.marks.hit("start:unknown")

    def _strike(self, member: Member, life: int, around: str) -> None:
        if member.is_up and member.life == life and not self.is_peace:
            self.marks.hit(f"crash:{around}")
            self._lose_power(member)

    def _lose_power(self, member: Member) -> None:
        self.counters["crashes"] += 1
        self.note("crash", member.slot)
        was_primary = member.state.is_normal and member.state.is_primary
        member.lose_power(self.crash)
        if was_primary:
            self.marks.hit("crash:primary")
        back_ns = self.crash.choice((2, 40, 150)) * MS
        self.later(1 + int(self.crash.expovariate(1 / back_ns)), self._start, member)
        if self.plan.has("disconnect") and self._fate.random() < 0.7:
            self.counters["fault:disconnect"] += 1
            for other in self.members:
                if other is not member:
                    self.later(self._delay_ns(), other.disconnected, member.slot)

    def _crash(self) -> None:
        if self.is_peace:
            return
        up = [member for member in self.members if member.is_up]
        is_all = self.plan.has("crash-all") and self._fate.random() < 0.2
        if up:
            for member in up if is_all else [self._fate.choice(up)]:
                self._lose_power(member)
            if is_all:
                self.marks.hit("crash:all")
        self.later(self._soon(self.plan.crash_every_ns), self._crash)

    def _rot(self, member: Member) -> None:
        """Damage one copy of a batch at most: of each op only the member whose turn it is."""
        random, frames = self._fate, member.disk.frames
        if random.random() >= self.plan.rot or not frames:
            return
        back = min(int(random.expovariate(0.4)), len(frames) - 1)
        frame = frames[len(frames) - 1 - back]
        if frame.batch.op % self.plan.members != member.slot:
            return
        if back or random.random() < 0.5:
            member.disk.rot(frame.batch.op)
        else:
            member.disk.rot_end()
        self.counters["fault:rot"] += 1
        self.marks.hit(f"rot:{frame.condition.value}")

    def _change_cut(self) -> None:
        if self.is_peace:
            return
        random = self._fate
        if self._cut:
            self._cut = set()
        else:
            count = self.plan.members
            side = set(random.sample(range(count), random.randrange(1, count)))
            is_one_way = self.plan.has("cut-one-way") and random.random() < 0.4
            outward = random.random() < 0.5
            self._cut = {
                (a, b)
                for a in range(count)
                for b in range(count)
                if (a in side) != (b in side) and (not is_one_way or (a in side) == outward)
            }
            self.counters["fault:cut-one-way" if is_one_way else "fault:cut"] += 1
        self.later(self._soon(self.plan.cut_every_ns), self._change_cut)

    def _pause(self) -> None:
        if self.is_peace:
            return
        member = self._fate.choice(self.members)
        member.paused_until_ns = self.now_ns + self._soon(150 * MS)
        self.at(member.paused_until_ns, self._ask, member)  # What has waited meanwhile.
        self.counters["fault:pause"] += 1
        self.later(self._soon(self.plan.pause_every_ns), self._pause)

    def _hand_over(self) -> None:
        if self.is_peace:
            return
        for member in self.members:
            if member.is_up and member.state.is_normal and member.state.is_primary:
                self.counters["fault:handover"] += 1
                member.hand_over(self._fate.choice(member.state.others))
        self.later(self._soon(300 * MS), self._hand_over)
