"""What a scenario's application is made of: a service that its steps call, and its clients.

Both live outside of the engine, and enter what they see in the ledger.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fusee.base.errors import (
    AlreadyFinished,
    AlreadyRunning,
    WorkflowFailed,
    WorkflowFinished,
    WorkflowTerminated,
)
from fusee.sdk.current import current_step
from fusee.testing.device import PowerLost

if TYPE_CHECKING:
    from fusee import Query, Signal
    from fusee.embed.engine import Engine
    from fusee.sdk.workflow import Workflow
    from fusee.testing.checkers.ledger import Ledger
    from sim.scenarios.play import Play


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the service."""

    key: str
    attempt: int


class Service:
    """Answers differently each time, and forgets nothing."""

    def __init__(self, ledger: Ledger) -> None:
        self.calls: list[Call] = []
        self._ledger = ledger

    def call(self, *, read_only: bool = False, **given: Any) -> str:
        """Be called by a step function, as the first thing it does."""
        step = current_step()
        if not read_only:
            self.calls.append(Call(step.key, step.attempt))
            self._ledger.on_input(step.key, step.attempt, given)
        return f"{'-'.join(map(str, given.values()))}#{len(self.calls)}"


class Client:
    """Repeats every call with its identity, as one does that lost its connection."""

    def __init__(self, play: Play, engine: Engine, ledger: Ledger) -> None:
        self.engine = engine
        self.ledger = ledger
        self._play = play

    @property
    def life(self) -> int:
        """Which life this is, from 1."""
        return self.ledger.life

    def blame(self, text: str) -> None:
        """Say that a promise was broken that only the application knows of."""
        self.ledger.blame(text)

    def expect(self, found: Any, wanted: Any, what: str) -> None:
        """Blame anything else than what is wanted."""
        if found != wanted:
            self.blame(f"{what}: {found!r}, and not {wanted!r}")

    def die(self) -> None:
        """Let the process die here, between two writes."""
        process = self._play.world.process
        assert process is not None, "whoever calls lives"
        process.die()
        raise PowerLost

    def close(self) -> None:
        """Let the process end in order, soon."""
        process = self._play.world.process
        assert process is not None, "whoever calls lives"
        process.close()

    def block(self, time_s: float) -> None:
        """Let time pass in which this process does not turn."""
        self._play.world.scheduler.spend(round(time_s * 1e6))

    async def start(
        self,
        workflow: Workflow[Any, Any],
        name: str,
        *args: Any,
        request: str = "",
        **options: Any,
    ) -> int:
        """Start a run and return its ordinal."""
        engine = self.engine.options(request_id=request or f"start {name}", **options)
        run = await engine.start(workflow, name, *args)
        ordinal = run.ordinal or 0
        self.ledger.on_started(name, request or name, ordinal)
        return ordinal

    async def refused(self, workflow: Workflow[Any, Any], name: str, *args: Any) -> None:
        """Want an ID that somebody else has."""
        try:
            await self.engine.options(reuse="reject").start(workflow, name, *args)
        except (AlreadyRunning, AlreadyFinished) as error:
            self.ledger.on_refusal(f"{name}/{error.run.ordinal}", type(error).__name__)

    async def signal(
        self, name: str, signal: Signal[Any], value: Any, signal_id: str, ordinal: int = 1
    ) -> bool:
        """Send a signal; say whether it was taken."""
        try:
            await self.engine.get("any", name).signal(signal, value, signal_id=signal_id)
        except WorkflowFinished:
            self.ledger.on_refusal(f"{name}/{ordinal}", "WorkflowFinished")
            return False
        payload = json.dumps(value).encode()
        self.ledger.on_signalled(f"{name}/{ordinal}", signal_id, payload)
        return True

    async def ask(self, name: str, query: Query[None, list[str]]) -> list[str]:
        """Ask what a run has seen."""
        seen = await self.engine.get("any", name).query(query)
        self.ledger.on_answer(f"{name}/1", seen)
        return seen

    async def result(self, name: str, ordinal: int = 1) -> Any:
        """Wait for the end of a run."""
        outcome: Any
        try:
            outcome = await self.engine.get("any", name).result()
        except (WorkflowFailed, WorkflowTerminated) as error:
            outcome = str(error)
        self.ledger.on_result(f"{name}/{ordinal}", outcome)
        return outcome

    async def until(self, condition: Any) -> None:
        """Let the engine turn until a condition holds."""
        while not condition():  # noqa: ASYNC110 - what is waited for is inside the engine
            await asyncio.sleep(0)
