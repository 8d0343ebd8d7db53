"""A stub for a step that no workflow can call is refused where it is given."""

from __future__ import annotations

from typing import Any

import pytest

from fusee.testing import Simulator
from tests.testing import parcels, reach_flows
from tests.testing import shop as coffee


def stubbed(workflows: list[Any], step: Any) -> None:
    Simulator(workflows).stub(step, lambda *args: args[-1])


@pytest.mark.parametrize(
    ("flow", "step"),
    [
        (reach_flows.names, reach_flows.plain),
        (reach_flows.names, reach_flows.by_another_name),
        (reach_flows.holds, reach_flows.in_a_table),
        (reach_flows.holds, reach_flows.shop.tills[0].method),
        (reach_flows.holds, reach_flows.adds),
        (reach_flows.of_a_module, parcels.weigh),
        (reach_flows.imports, parcels.label),
        (reach_flows.decorated, reach_flows.wrapped),
        (reach_flows.dynamic, parcels.hand_over),
    ],
)
def test_a_step_is_known_however_the_code_finds_it(flow: Any, step: Any) -> None:
    stubbed([flow], step)


@pytest.mark.parametrize(
    ("flow", "step"),
    [
        (reach_flows.names, reach_flows.elsewhere),
        (reach_flows.names, reach_flows.in_a_table),
        (reach_flows.holds, reach_flows.plain),
        (reach_flows.of_a_module, parcels.lose),
        (reach_flows.imports, parcels.weigh),
        (coffee.subscription, coffee.refund),
    ],
)
def test_a_step_that_no_workflow_refers_to_is_refused(flow: Any, step: Any) -> None:
    with pytest.raises(ValueError, match="no workflow of this simulator refers to step"):
        stubbed([flow], step)
    stubbed([flow, reach_flows.dynamic], step)


def test_the_text_names_what_there_is_the_closest_first_whatever_they_are_in() -> None:
    async def refunds(charge_id: str) -> None: ...

    with pytest.raises(ValueError, match="refers to step") as refusal:
        stubbed([coffee.checkout], refunds)

    text = str(refusal.value)
    assert "<locals>.refunds', so nothing would ever call its stub" in text
    assert text.endswith("the functions that they refer to: 'refund', 'charge', 'price'")


def test_the_closest_name_comes_first() -> None:
    with pytest.raises(ValueError, match="they refer to: 'weigh', 'hand_over', 'label', 'look'$"):
        stubbed([parcels.send], weight)


async def weight(x: int) -> int:
    return x
