"""The heart of the replay tests: after a crash at any point, a run goes on as if there was none.

A scenario is run once to its end. Then, for each ticket of its log, an engine is opened on the
log up to there, as a crash would have left it, and driven again. `drive` must be repeatable: it
starts with a `request_id` and signals with a `signal_id`, as a client does that lost its
connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import fusee
from fusee.embed.engine import Engine
from fusee.engine.run import Run
from fusee.sdk.workflow import Workflow
from tests.support.worlds import Log, World, completed_steps, opened

Drive = Callable[[Engine], Awaitable[Any]]


class Ledger:
    """Which step functions ran, by key."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def note(self) -> str:
        """Say, in a step function, that it runs."""
        key = fusee.current_step().key
        self.keys.append(key)
        return key


class Story:
    """What one scenario did, live and after each crash."""

    def __init__(self) -> None:
        self.result: Any = None
        self.log: Log = []
        self.results: list[Any] = []
        """By the number of tickets that survived, from 1."""


async def crash_at_every_point(
    workflows: Sequence[Workflow[Any, Any]],
    drive: Drive,
    ledger: Ledger | None = None,
    *,
    same: bool = True,
) -> Story:
    """Drive a scenario live, then from every prefix of its log; return what happened.

    Checks that no run is held, that no function runs again whose outcome had survived, that none
    runs twice in one life, and (with `same`) that the result is the live one.
    """
    ledger = ledger or Ledger()
    story = Story()
    async with opened(*workflows) as world:
        story.result = await world.finish(drive(world.engine))
        story.log = list(world.log)
        _check_once(ledger, set())
    for count in range(1, len(story.log) + 1):
        survived = story.log[:count]
        ledger.keys.clear()
        async with opened(*workflows, log=survived) as world:
            result = await world.finish(drive(world.engine))
            _check_no_held(world)
        _check_once(ledger, completed_steps(survived))
        assert not same or result == story.result, f"after {count} tickets: {result!r}"
        story.results.append(result)
        await check_replay(workflows, world.log, drive, result)
    return story


async def check_replay(
    workflows: Sequence[Workflow[Any, Any]], log: Log, drive: Drive, result: Any
) -> None:
    """All but the last ticket of a finished scenario decide its result: no race is run again."""
    async with opened(*workflows, log=log[:-1]) as world:
        again = await world.finish(drive(world.engine))
        _check_no_held(world)
        assert again == result, f"decided anew: {again!r} instead of {result!r}"


def _check_once(ledger: Ledger, recorded: set[str]) -> None:
    again = recorded & set(ledger.keys)
    assert not again, f"ran again though their outcome was durable: {sorted(again)}"
    twice = {key for key in ledger.keys if ledger.keys.count(key) > 1}
    assert not twice, f"ran twice in one life: {sorted(twice)}"


def _check_no_held(world: World) -> None:
    held = [r for r in world.core.table.all() if isinstance(r, Run) and r.held is not None]
    assert not held, held[0].held.text if held[0].held else ""
