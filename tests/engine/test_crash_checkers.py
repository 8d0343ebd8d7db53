"""The checkers of the crash tests, checked: each bug put in on purpose must be seen.

The bugs come from outside, as a node or a disk that does wrong; the engine is the real one.
"""

from __future__ import annotations

from typing import Any

import pytest

import fusee
from fusee import Context, Engine
from fusee.base.errors import AcknowledgedDataLost
from fusee.node.local_node import LocalNode
from fusee.record.kinds import Completed
from fusee.sdk.workflow import Workflow
from tests.support.crash_device import Death
from tests.support.facts import Facts
from tests.support.ledger import ExternalService, Ledger
from tests.support.nodes import EagerForEnds, EagerForStarts, EagerForSteps, LazyNode, remade
from tests.support.shop import Shop, approve, progress
from tests.support.world import World


def _world(node_class: type[LocalNode]) -> World:
    return World(Shop(), make_node=lambda node: remade(node, node_class))


@pytest.mark.parametrize(
    ("node_class", "blame"),
    [
        (EagerForSteps, "ran before its scheduled record was durable"),
        (EagerForStarts, "acknowledged before it was durable"),
        (EagerForEnds, "left before it was durable"),
    ],
)
def test_a_gate_that_opens_early_is_seen_when_something_leaves(node_class, blame):
    world = _world(node_class)
    world.live()
    assert any(blame in text for text in world.ledger.violations), world.ledger.violations


class Asker:
    """A run that has seen a result, and somebody who asks it at once what it has seen."""

    def workflows(self, service: ExternalService) -> list[Workflow[Any, Any]]:
        @fusee.step(read_only=True)
        async def look() -> str:
            return service.call(read_only=True, what="look")

        @fusee.workflow
        async def asked(ctx: Context) -> str:
            seen: list[str] = []
            ctx.on_query(progress)(lambda: seen)
            seen.append(await ctx.step(look))
            return await ctx.wait_for(approve)

        self.asked = asked
        return [asked]

    async def drive(self, engine: Engine, ledger: Ledger) -> None:
        run = await engine.start(self.asked, "asked")
        seen: list[str] = []
        while not seen:
            seen = await run.query(progress)
        ledger.on_answer("asked/1", seen)
        await run.signal(approve, "go")
        await run.result()


class VeryLazyEagerNode(EagerForSteps):
    rest = 20


class VeryLazyNode(LazyNode):
    rest = 20


@pytest.mark.parametrize(
    ("node_class", "is_blamed"), [(VeryLazyEagerNode, True), (VeryLazyNode, False)]
)
def test_an_answer_that_tells_of_what_is_not_durable_is_seen(node_class, is_blamed):
    world = World(Asker(), make_node=lambda node: remade(node, node_class))
    assert world.live()
    assert is_blamed == any("which is not durable" in text for text in world.ledger.violations)


def test_a_start_acknowledged_early_is_seen_to_be_lost_after_a_crash():
    lost = 0
    for call in range(11, 16):
        world = _world(EagerForStarts)
        world.live(Death(call))
        lost += any("is lost" in text for text in world.ledger.violations)
    assert lost


def test_a_flush_that_lied_at_the_end_of_the_log_is_seen_though_no_log_can_tell():
    world = World(Shop())
    world.live(Death(20))
    survivor = World(Shop())
    survivor.live(Death(20), lies=[18, 19])
    assert not world.ledger.violations
    assert any("lost" in text for text in survivor.ledger.violations)


def test_a_flush_that_lied_in_the_middle_of_the_log_is_refused_with_its_place():
    for call in range(12, 17):
        world = World(Shop())
        with pytest.raises(AcknowledgedDataLost) as refused:
            world.live(lies=[call])
        file, offset = world.disk.place_of_call[call]
        assert refused.value.positions[0].startswith(f"{file}, byte {offset}, op ")


def test_a_result_that_is_recorded_twice_is_seen():
    facts = Facts()
    facts.learn("anna/1", Completed(1, 0, 0, b"1"))
    facts.learn("anna/1", Completed(1, 0, 0, b"2"))
    assert facts.contradictions
