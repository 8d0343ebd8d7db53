"""Tests as users write them, under strict type checkers: results, stubs and logs have types."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from fusee.testing import Faults, Replayer, Simulator, Stub, StubCall, across_seeds
from tests.typing.test_checkout import Order, Quote, charge, checkout, price, review


async def slow(quote: Quote) -> str:
    return "ch_1"


@across_seeds(3)
def test_a_checkout_in_the_simulator(seed: int) -> None:
    sim = Simulator([checkout], seed=seed, faults=Faults(crash=0.1, cold_process=True))
    sim.stub(price, lambda order: Quote(Decimal(order.qty)), varies=True)
    pay: Stub = sim.stub(charge, slow)

    async def scenario(sim: Simulator) -> str | None:
        run = await sim.engine.start(checkout, "o-1", Order("tea", 1))
        await run.signal(review, True)
        await sim.advance("1m")
        now: datetime = sim.now()
        assert now.year > 2000
        return await run.result()

    charge_id: str | None = sim.run(scenario)

    call: StubCall = pay.effects()[0]
    assert (charge_id, call.key) == ("ch_1", "o-1/1/2")


def replays(directory: str) -> dict[str, str]:
    return Replayer([checkout], hash_seeds=2).replay_dir(directory).different
