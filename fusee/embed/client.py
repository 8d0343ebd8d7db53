"""Calls into a running engine: each returns once what it tells is committed.

Everything that leaves here waits at the engine's gate for the ticket it depends on,
refusals included. When the engine stops, every waiter gets `EngineStopped`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from fusee.base.durations import seconds
from fusee.base.errors import (
    EngineStopped,
    FuseeError,
    Overloaded,
    StepFailed,
    WorkflowCancelled,
    WorkflowFailed,
    WorkflowTerminated,
    WorkflowTimedOut,
)
from fusee.base.ids import Ticket
from fusee.base.limits import PAYLOAD_BYTES_WARN, WAITING_CALLS_MAX
from fusee.base.names import check_id
from fusee.engine import admission, messages, views
from fusee.engine.admission import Admitted, StartPolicy
from fusee.engine.commitlog import Pressure
from fusee.engine.listing import Listing, Wanted
from fusee.engine.run import Finished
from fusee.record.failure import decode_failure
from fusee.record.kinds import Started, Status
from fusee.record.payload import large_payload

if TYPE_CHECKING:
    from fusee.engine.core import Core
    from fusee.engine.run import Run
    from fusee.record.payload import Codec
    from fusee.sdk.retry import Duration

T = TypeVar("T")
P = ParamSpec("P")

ADMISSION_TIMEOUT_S = 30.0
ROWS_AT_ONCE = 200
"""How many runs a list looks at before it lets the application's loop turn."""


class Client:
    """The calls of one engine, on its loop."""

    def __init__(
        self,
        core: Core,
        loop: asyncio.AbstractEventLoop,
        check_usable: Callable[[], None],
        warn: Callable[[str], None],
        on_bug: Callable[[BaseException], None],
        entropy: Callable[[int], bytes],
    ) -> None:
        self.core = core
        self._loop = loop
        self._check_usable = check_usable
        self._warn = warn
        self._on_bug = on_bug
        self.entropy = entropy
        """Makes the identities of calls that bring none."""
        self._waiters: set[asyncio.Future[Any]] = set()
        self._waiting_for_room = 0
        self._room: asyncio.Event = asyncio.Event()

    # ------------------------------------------------------------ waiting

    async def _wait(self, begin: Callable[[Callable[[Any], None]], None]) -> Any:
        """Wait for one answer; `begin` is given the function that takes it."""
        future: asyncio.Future[Any] = self._loop.create_future()

        def take(value: Any) -> None:
            if not future.done():
                future.set_result(value)

        self._guarded(begin, take)
        self._waiters.add(future)
        try:
            return await future
        finally:
            self._waiters.discard(future)

    def _guarded(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call into the engine. What it does not refuse but trips over stops it.

        A call that broke off may have left half of a change in memory, and nothing that
        rests on that may ever commit.
        """
        try:
            return call(*args, **kwargs)
        except messages.Refused:
            raise
        except BaseException as error:
            self._on_bug(error)
            raise

    async def committed(self, ticket: Ticket) -> None:
        """Wait until everything up to `ticket` survives."""
        await self._wait(lambda take: self.core.gate.when(ticket, take, None))

    def stop(self, error: EngineStopped) -> None:
        """The engine has stopped: every waiter hears it."""
        for future in self._waiters:
            if not future.done():
                future.set_exception(error)
        self._waiters.clear()
        self._room.set()

    def room_again(self) -> None:
        """The log takes new work again."""
        if self._waiting_for_room:
            self._room.set()

    async def _admit(self) -> None:
        """Wait while the log is under pressure. Raises `Overloaded`; nothing is appended then."""
        self._check_usable()
        if not self._is_under_pressure():
            return
        if self._waiting_for_room >= WAITING_CALLS_MAX:
            raise Overloaded(
                f"{WAITING_CALLS_MAX} calls wait for the disk already; try again later"
            )
        self._waiting_for_room += 1
        try:
            async with asyncio.timeout(ADMISSION_TIMEOUT_S):
                while self._is_under_pressure():
                    self._room.clear()
                    await self._room.wait()
                    self._check_usable()
        except TimeoutError:
            text = f"the disk did not catch up within {ADMISSION_TIMEOUT_S:g} s; nothing was done"
            raise Overloaded(text) from None
        finally:
            self._waiting_for_room -= 1

    def _note_size(self, what: str, payload: bytes) -> None:
        if len(payload) > PAYLOAD_BYTES_WARN:
            self._warn(large_payload(what, len(payload)))

    def _is_under_pressure(self) -> bool:
        return self.core.log.pressure is not Pressure.NONE

    async def _refusing(self, call: Callable[[], T]) -> T:
        """Make a call of the engine; a refusal leaves once what it rests on is committed."""
        try:
            return self._guarded(call)
        except messages.Refused as refused:
            await self.committed(refused.ticket)
            error: FuseeError = refused.error
        raise error

    # ------------------------------------------------------------ calls

    async def start(
        self,
        workflow_id: str,
        started: Started,
        policy: StartPolicy,
        *,
        is_acknowledged: bool = True,
    ) -> Admitted:
        """Begin a run, or find the one the policy leads to; return once that is durable.

        With `is_acknowledged` false it returns at once, for callers that wait for more.
        """
        await self._admit()
        self._note_size(f"the input of {workflow_id!r}", started.input)
        admitted = await self._refusing(
            lambda: admission.start(self.core, workflow_id, started, policy)
        )
        if admitted.input_differs:
            self._warn(f"start of {workflow_id!r}: the run that was found has another input")
        if is_acknowledged:
            await self.committed(admitted.ticket)
        return admitted

    async def signal(
        self,
        workflow_id: str,
        ordinal: int | None,
        name: str,
        payload: bytes,
        signal_id: str | None,
    ) -> bool:
        """Send a signal; return once it is durable.

        The answer is whether this `signal_id` was known with another value, which then stands.
        """
        await self._admit()
        self._note_size(f"signal {name!r} to {workflow_id!r}", payload)
        given = self.entropy(16).hex() if signal_id is None else signal_id
        unique = check_id(given, what="signal_id")
        signalled = await self._refusing(
            lambda: messages.signal(self.core, workflow_id, ordinal, name, unique, payload)
        )
        if signalled.input_differs:
            self._warn(f"signal {unique!r} of {workflow_id!r} came again with another value")
        await self.committed(signalled.ticket)
        return signalled.input_differs

    async def query(
        self, workflow_id: str, ordinal: int | None, name: str, payload: bytes
    ) -> bytes:
        """Ask a run; the answer waits until the state it reads is durable."""
        self._check_usable()
        answer = await self._wait(
            lambda take: messages.query(self.core, workflow_id, ordinal, name, payload, take)
        )
        if isinstance(answer, BaseException):
            raise answer
        assert isinstance(answer, bytes)
        return answer

    async def _find(self, workflow_id: str, ordinal: int | None) -> Run | Finished:
        self._check_usable()
        found = self.core.table.find(workflow_id, ordinal)
        if found is None:
            await self.committed(self.core.log.appended)
            raise messages.not_found(workflow_id, ordinal)
        return found

    async def describe(self, workflow_id: str, ordinal: int | None) -> views.RunInfo:
        """Describe a run; what it says is durable."""
        return await self._view(workflow_id, ordinal, views.describe)

    async def journal(self, workflow_id: str, ordinal: int | None) -> list[views.JournalEntry]:
        """Return a run's operations; what they say is durable."""
        return await self._view(workflow_id, ordinal, views.journal)

    async def _view(
        self, workflow_id: str, ordinal: int | None, look: Callable[[Run | Finished], T]
    ) -> T:
        found = await self._find(workflow_id, ordinal)
        seen = look(found)
        await self.committed(_ticket_of(found))
        return seen

    async def show(
        self, workflow_id: str, ordinal: int | None
    ) -> tuple[views.RunInfo, list[views.JournalEntry]]:
        """Return the description and the operations of a run, both of one moment."""
        return await self._view(
            workflow_id, ordinal, lambda found: (views.describe(found), views.journal(found))
        )

    async def runs(self, wanted: Wanted) -> list[views.RunRow]:
        """List runs, newest first; what the list says is durable. Lets the loop turn between."""
        self._check_usable()
        listing = Listing(wanted)
        for count, run in enumerate(list(self.core.table.all()), start=1):
            listing.look(run)
            if count % ROWS_AT_ONCE == 0:
                await asyncio.sleep(0)
                self._check_usable()
        await self.committed(self.core.log.appended)
        return listing.rows()

    async def result(
        self, workflow_id: str, ordinal: int | None, codec: Codec, timeout: Duration | None
    ) -> Any:
        """Wait for a run to end; return its value once that is durable."""
        found = await self._find(workflow_id, ordinal)
        waiting = self._closed(found)
        if timeout is None:
            await waiting
        else:
            await _within(waiting, seconds(timeout), workflow_id)
        ended = self.core.table.find(workflow_id, found.ordinal)
        assert ended is not None, "a run that has ended is known"
        return outcome_of(ended, codec)

    async def _closed(self, found: Run | Finished) -> None:
        if isinstance(found, Finished):
            return
        if not found.is_open:
            await self.committed(found.last_ticket)
            return
        registered: list[Callable[[Any], None]] = []

        def begin(take: Callable[[Any], None]) -> None:
            registered.append(take)
            found.on_closed.append(take)

        try:
            await self._wait(begin)
        finally:
            if registered[0] in found.on_closed:
                found.on_closed.remove(registered[0])


def _ticket_of(found: Run | Finished) -> Ticket:
    return Ticket(0) if isinstance(found, Finished) else found.last_ticket


async def _within(waiting: Coroutine[Any, Any, None], timeout_s: float, workflow_id: str) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await waiting
    except TimeoutError:
        text = f"run {workflow_id!r} did not end within {timeout_s:g} s; it goes on"
        raise TimeoutError(text) from None


def outcome_of(ended: Run | Finished, codec: Codec) -> Any:
    """Return the value a run ended with, or raise what it ended by."""
    closed = ended.closed()
    key = f"{ended.workflow_id}/{ended.ordinal}"
    match Status(closed.status):
        case Status.COMPLETED:
            return codec.decode(closed.payload)
        case Status.FAILED:
            error = decode_failure(closed.payload)
            name = type(error).__name__
            if isinstance(error, StepFailed) and error.type:
                name = error.type  # Its class cannot be rebuilt here, but has a name.
            raise WorkflowFailed(f"run {key} failed: {name}: {error}") from error
        case Status.TERMINATED:
            raise WorkflowTerminated(f"run {key} was terminated: {closed.reason}")
        case Status.CANCELLED:
            raise WorkflowCancelled(f"run {key} was cancelled: {closed.reason}")
        case Status.TIMED_OUT:
            raise WorkflowTimedOut(f"run {key} reached its time limit")
        case Status.CONTINUED | Status.RUNNING:
            raise AssertionError(f"run {key} ended as {closed.status}")
