"""Clients outside: they start, signal, ask and wait, and write down what they were told.

Each repeats a call whose line broke under the same request id, or now and then gives up and
never learns what became of it: both are things that clients do.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from fusee import Signal
from fusee.base.errors import (
    AlreadyFinished,
    AlreadyRunning,
    FuseeError,
    RunNotFound,
    WorkflowFailed,
    WorkflowFinished,
    WorkflowTerminated,
)
from fusee.testing.checkers.history import Past
from sim.workloads.interpreter import SEEN
from sim.workloads.programs import SIGNALS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from random import Random

    from fusee.embed.engine import Engine
    from fusee.embed.handle import Run
    from fusee.sdk.workflow import Workflow
    from fusee.testing.checkers.ledger import Ledger
    from fusee.testing.process import Process
    from fusee.testing.world import World
    from sim.workloads.programs import Author

T = TypeVar("T")

POLICIES = (("fail", "allow_failed_only"), ("fail", "allow"), ("fail", "reject"),
            ("use_existing", "allow"), ("terminate_existing", "allow"))  # fmt: skip
_OUTCOMES = (WorkflowFailed, WorkflowTerminated)


class Client:
    """One caller with a handful of IDs that it shares with the others."""

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        workflow: Workflow[Any, Any],
        author: Author,
        random: Random,
        ids: list[str],
    ) -> None:
        self._world = world
        self._ledger = ledger
        self._workflow = workflow
        self._author = author
        self._random = random
        self._ids = ids
        self._waits: list[asyncio.Task[None]] = []
        self._started: list[tuple[str, str, Any, int]] = []
        """What was acknowledged: id, request id, program, ordinal."""
        self.starts = 0

    async def work(self, calls: int) -> None:
        """Make so many calls, with pauses, and wait for every result that was asked for."""
        random = self._random
        doings = (self.start,) * 6 + (self.signal,) * 4 + (self.ask,) * 2 + (self.repeat,)
        for _ in range(calls):
            await random.choice(doings)(random.choice(self._ids))
            pause = random.choice([0, 0.001, 0.02, 0.3])
            if pause:
                await self._world.sleep(pause * random.random())
        # Not `gather`: over tasks that are done it takes an iteration more before Python 3.12.
        for wait in self._waits:
            await wait

    # ------------------------------------------------------------ calls

    async def _call(
        self,
        workflow_id: str,
        make: Callable[[Engine], Awaitable[T]],
        seen: Callable[[T | None, BaseException | None, Past], None],
        *,
        is_repeated: bool = True,
    ) -> T | None:
        """Call until somebody answers, or once; errors that are answers are no errors here."""
        ledger = self._ledger
        while True:
            past = Past(ledger.facts, workflow_id)

            def made(
                process: Process, value: T | None, error: BaseException | None, past: Past = past
            ) -> None:
                seen(value, error, past)

            answer = await self._world.attempt(make, made)
            if answer is not None:
                value, error = answer
                if error is not None and not isinstance(error, FuseeError):
                    raise error
                return value  # type: ignore[no-any-return]
            if not is_repeated:
                return None

    async def start(self, workflow_id: str) -> None:
        """Start a run, and perhaps wait for its result meanwhile."""
        random, ledger = self._random, self._ledger
        request_id = random.randbytes(8).hex()
        conflict, reuse = random.choice(POLICIES)
        program = self._author.program()
        is_repeated = random.random() < 0.9

        def make(engine: Engine) -> Awaitable[Run[Any]]:
            view = engine.options(on_conflict=conflict, reuse=reuse, request_id=request_id)  # type: ignore[arg-type]
            return view.start(self._workflow, workflow_id, program)

        def seen(run: Run[Any] | None, error: BaseException | None, past: Past) -> None:
            if run is not None:
                assert run.ordinal is not None
                if not run.started_by_me:
                    self._stale(workflow_id, past, "use_existing", run.ordinal)
                else:  # Perhaps long ago, if this is the same request once more.
                    ledger.on_started(workflow_id, request_id, run.ordinal)
            elif isinstance(error, AlreadyRunning | AlreadyFinished):
                kind, ordinal = type(error).__name__, error.run.ordinal
                assert ordinal is not None
                ledger.on_refusal(f"{workflow_id}/{ordinal}", kind)
                self._stale(workflow_id, past, kind, ordinal)

        run = await self._call(workflow_id, make, seen, is_repeated=is_repeated)
        if run is not None:
            self.starts += 1
            self._author.begins(workflow_id)
            if run.started_by_me:
                self._started.append((workflow_id, request_id, program, run.ordinal or 0))
            if random.random() < 0.7:
                self._waits.append(asyncio.ensure_future(self._result(workflow_id, run.ordinal)))

    async def repeat(self, workflow_id: str) -> None:
        """Send an old request once more: it began a run, and must not begin another."""
        if not self._started:
            return
        old_id, request_id, program, ordinal = self._random.choice(self._started)

        def make(engine: Engine) -> Awaitable[Run[Any]]:
            view = engine.options(request_id=request_id)
            return view.start(self._workflow, old_id, program)

        def seen(run: Run[Any] | None, error: BaseException | None, past: Past) -> None:
            if run is None:
                self._ledger.blame(f"request {request_id} of {old_id}/{ordinal}: {error!r}")
            else:
                self._ledger.on_started(old_id, request_id, run.ordinal or 0)

        await self._call(old_id, make, seen)

    async def _result(self, workflow_id: str, ordinal: int | None) -> None:
        def make(engine: Engine) -> Awaitable[Any]:
            run = engine.get(self._workflow, workflow_id)
            run.ordinal = ordinal
            return run.result()

        def seen(value: Any, error: BaseException | None, past: Past) -> None:
            if error is None:
                self._ledger.on_result(f"{workflow_id}/{ordinal}", value)
            elif isinstance(error, _OUTCOMES):
                self._ledger.on_result(
                    f"{workflow_id}/{ordinal}", f"{type(error).__name__}: {error}"
                )

        await self._call(workflow_id, make, seen)

    async def signal(self, workflow_id: str) -> None:
        """Signal the newest run, or a certain one."""
        random, ledger = self._random, self._ledger
        name = random.choice(SIGNALS)
        signal_id = random.choice([random.randbytes(8).hex(), f"{name} of {workflow_id}"])
        value = f"{name} {signal_id}"
        ordinal = ledger.facts.newest.get(workflow_id) if random.random() < 0.5 else None
        told: list[int] = []

        async def make(engine: Engine) -> int:
            run = engine.get(self._workflow, workflow_id)
            run.ordinal = ordinal
            if ordinal is None:
                run.ordinal = (await run.describe()).ordinal
            told.append(run.ordinal or 0)
            await run.signal(Signal[str](name), value, signal_id=signal_id)
            return run.ordinal or 0

        def seen(taken: int | None, error: BaseException | None, past: Past) -> None:
            if taken is not None:
                ledger.on_signalled(f"{workflow_id}/{taken}", signal_id, f'"{value}"'.encode())
            elif isinstance(error, WorkflowFinished):
                ledger.on_refusal(f"{workflow_id}/{told[-1]}", "WorkflowFinished")
                if (f"{workflow_id}/{told[-1]}", signal_id) in ledger.facts.signals:
                    ledger.blame(f"{workflow_id}/{told[-1]} took {signal_id}, and refuses it now")
            elif isinstance(error, RunNotFound) and ordinal is None:
                self._stale(workflow_id, past, "RunNotFound", 0)

        await self._call(workflow_id, make, seen, is_repeated=random.random() < 0.9)

    async def ask(self, workflow_id: str) -> None:
        """Query the newest run that is known to be there, or look at it."""
        ordinal = self._ledger.facts.newest.get(workflow_id)
        if ordinal is None:
            return
        is_query = self._random.random() < 0.7

        async def make(engine: Engine) -> list[str] | None:
            run = engine.get(self._workflow, workflow_id)
            run.ordinal = ordinal
            if is_query:
                return await run.query(SEEN)
            await run.describe()
            await run.journal()
            return None

        def seen(values: list[str] | None, error: BaseException | None, past: Past) -> None:
            if values is not None:
                self._ledger.on_answer(f"{workflow_id}/{ordinal}", values)

        await self._call(workflow_id, make, seen)

    def _stale(self, workflow_id: str, past: Past, kind: str, ordinal: int) -> None:
        wrong = past.stale(kind, ordinal)
        if wrong is not None:
            self._ledger.blame(f"{workflow_id}: {wrong}")
