"""A play over one group: real replicas, and every message and write in the script's hands.

    play.lead()                      time passes until somebody leads; returns its slot
    play.order(slot)                 a batch is ordered; nothing moves yet
    play.settle()                    messages arrive and writes end, until nothing is under way
    play.cut(0, 1)                   nothing comes through between two members
    play.freeze(2)                   writes of a member do not end
    play.crash(1, lands=True)        power is lost; what was being written landed, or did not
    play.start(1)

Each step is checked by the checkers of the protocol level; `check` ends the play with peace:
everything comes together, or the play has failed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fusee.testing.trace import Trace
from fusee.vr.messages import Message
from sim.protocol.checkers import Checkers
from sim.protocol.member import Member
from sim.protocol.plan import draw_plan
from sim.scenarios import ScenarioFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.vr.messages import AnyMessage
    from sim.protocol.disk import Duty

M = TypeVar("M", bound=Message)
MS: Final = 1_000_000
STEP_NS: Final = 10 * MS
STEPS_MAX: Final = 300
_ROUNDS_MAX: Final = 20_000


class GroupPlay:
    """Three members in virtual time that only passes when the script says so."""

    members_count = 3

    def __init__(self) -> None:
        self.plan = draw_plan(0, frozenset())
        self.now_ns = STEP_NS
        self.trace = Trace()
        self.checkers = Checkers()
        self.members: list[Member] = []
        self.sent: list[tuple[int, int, AnyMessage]] = []
        """Every message that was ever handed over: sender, receiver, message."""
        self._mail: deque[tuple[int, int, AnyMessage]] = deque()
        self._writes: deque[tuple[Member, Callable[..., None], int, Any]] = deque()
        self._cut: set[tuple[int, int]] = set()
        self._frozen: set[int] = set()
        self._held: set[tuple[int, type[Duty]]] = set()
        self._stopped: set[int] = set()
        self._dropped: tuple[type[Message], ...] = ()
        self._ordered = 0
        self.form(self.members_count)

    def form(self, members: int, *, kept: int = 10_000) -> None:
        """Begin with a new group of so many members, all up.

        `kept` is how many decided batches they keep in memory.
        """
        self.plan = replace(self.plan, members=members, window=8, kept=kept)
        self.members = [Member(self, slot) for slot in range(members)]
        for member in self.members:
            member.start()

    # ------------------------------------------------------------ what a member needs of a world

    def tick_ns(self) -> int:
        """Members look at the time when the script lets it pass."""
        return 0

    def disk_ns(self) -> int:
        """Writes end when the script settles."""
        return 0

    def at(self, when_ns: int, call: Callable[..., None], *values: Any) -> None:
        """Nobody is paused here."""
        raise AssertionError("a play has no pauses")

    def later(self, delay_ns: int, call: Callable[..., None], *values: Any) -> None:
        """Keep what is under way on a disk; ticks come from the script."""
        member: Member = getattr(call, "__self__")  # noqa: B009
        if len(values) == 2:
            self._writes.append((member, call, values[0], values[1]))

    def may_be_garbage(self, slot: int, duty: Duty) -> bool:
        """Damage is the script's to do."""
        return False

    def send(self, sender: int, to: int, message: AnyMessage) -> None:
        """Take a message; it arrives when the script settles."""
        self.sent.append((sender, to, message))
        if (sender, to) not in self._cut and not isinstance(message, self._dropped):
            self._mail.append((sender, to, message))

    # ------------------------------------------------------------ the script

    def cut(self, *slots: int, one_way: bool = False) -> None:
        """Let nothing come through between the first member and the others named."""
        first, *others = slots
        for other in others:
            self._cut.add((first, other))
            if not one_way:
                self._cut.add((other, first))

    def isolate(self, slot: int) -> None:
        """Cut a member off from all others."""
        self.cut(slot, *(m.slot for m in self.members if m.slot != slot))

    def mend(self) -> None:
        """Let everything through again, and writes end."""
        self._cut.clear()
        self._frozen.clear()
        self._held.clear()
        self._stopped.clear()
        self._dropped = ()

    def drop(self, *kinds: type[Message]) -> None:
        """Lose every message of these kinds from now on."""
        self._dropped = kinds

    def stop(self, slot: int) -> None:
        """Cut a member off and let no time pass for it, as if its process were stopped."""
        self.isolate(slot)
        self._stopped.add(slot)

    def freeze(self, *slots: int) -> None:
        """Let no write of these members end."""
        self._frozen.update(slots)

    def hold(self, slot: int, kind: type[Duty]) -> None:
        """Let no write of one kind end on a member."""
        self._held.add((slot, kind))

    def release(self, kind: type[Duty]) -> None:
        """Let writes of a kind end that were held."""
        self._held = {held for held in self._held if held[1] is not kind}

    def settle(self, writes: bool = True) -> None:
        """Deliver messages and end writes, in order, until nothing is under way."""
        for _ in range(_ROUNDS_MAX):
            if self._mail:
                sender, to, message = self._mail.popleft()
                self.members[to].hear(sender, message)
            elif not (writes and self._end_a_write()):
                return
        raise ScenarioFailed("the group never comes to rest")

    def _end_a_write(self) -> bool:
        for place, (member, call, life, duty) in enumerate(self._writes):
            is_held = (member.slot, type(duty)) in self._held
            if member.slot not in self._frozen and not is_held:
                del self._writes[place]
                call(life, duty)
                return True
        return False

    def pass_time(self, ms: int = 10) -> None:
        """Let time pass in steps of a heartbeat; what comes of it settles."""
        for _ in range(max(1, ms * MS // STEP_NS)):
            self.now_ns += STEP_NS
            for member in self.members:
                if member.slot not in self._stopped:
                    member.tick()
            self.settle()

    def leader(self) -> int | None:
        """Return who leads the newest view, if somebody does."""
        leading = [m for m in self.members if m.is_up and m.state.is_normal and m.state.is_primary]
        return max(leading, key=lambda m: m.state.view).slot if leading else None

    def lead(self, *, other_than: int | None = None) -> int:
        """Let time pass until somebody leads; return its slot."""
        for _ in range(STEPS_MAX):
            self.pass_time()
            slot = self.leader()
            if slot is not None and slot != other_than:
                return slot
        raise ScenarioFailed("nobody leads")

    def order(self, slot: int, count: int = 1) -> None:
        """Let a primary order batches; whether they get anywhere is the script's to say."""
        for _ in range(count):
            self._ordered += 1
            if not self.members[slot].propose(self._ordered.to_bytes(4, "big")):
                raise ScenarioFailed(f"member {slot} orders nothing")

    def decide(self, slot: int, count: int = 1) -> None:
        """Let a primary order batches and everything settle."""
        for _ in range(count):
            self.order(slot)
            self.settle()

    def others(self, *slots: int) -> list[int]:
        """Return the slots of all members but these."""
        return [member.slot for member in self.members if member.slot not in slots]

    def said(self, slot: int, kind: type[M]) -> list[M]:
        """Return what a member has said of one kind, the oldest first."""
        return [m for sender, _, m in self.sent if sender == slot and isinstance(m, kind)]

    def crash(self, slot: int, lands: bool = False) -> None:
        """Cut a member's power; all that it was writing has landed, or none of it."""
        member = self.members[slot]
        member.end(lands=lands)
        self._mail = deque(mail for mail in self._mail if mail[1] != slot)

    def start(self, slot: int) -> None:
        """Start a member again."""
        self.members[slot].start()

    def lose_witness(self) -> int:
        """Let op 2 be decided without one member, then end the primary and the other backup.

        Returns that backup, whose disk then holds the only copy there is to be asked for.
        """
        leader = self.lead()
        self.decide(leader)
        witness, absent = self.others(leader)
        self.isolate(absent)
        self.decide(leader)
        self.crash(leader)
        self.crash(witness)
        return witness

    def expect(self, holds: bool, otherwise: str) -> None:
        """Fail the play if something does not hold."""
        if not holds:
            raise ScenarioFailed(otherwise)

    # ------------------------------------------------------------ the end

    def check(self) -> None:
        """Mend everything; the group must come together with all that it acknowledged."""
        self.mend()
        for member in self.members:
            if not member.is_up:
                member.start()
        for _ in range(STEPS_MAX):
            self.pass_time()
            if self._is_together():
                self.checkers.at_the_end(self.members)
                return
        raise ScenarioFailed(f"the group does not come together: {self._describe()}")

    def _is_together(self) -> bool:
        decided = len(self.checkers.decided) - 1
        return all(
            m.state.is_normal
            and {m.state.head_op, m.state.commit_op, m.state.durable_op} == {decided}
            for m in self.members
        )

    def _describe(self) -> str:
        return "; ".join(
            f"{m.slot}: {m.state.status.value} view {m.state.view}/{m.state.log_view}"
            f" head {m.state.head_op} durable {m.state.durable_op} commit {m.state.commit_op}"
            for m in self.members
        )
