"""What a type checker must accept of a user's code, and what it must refuse."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PREFIX = """
import asyncio
from typing import Any
import fusee
from fusee import Context, Engine, Query, Signal, workflow
from fusee.testing import Faults, Simulator
from tests.typing.test_checkout import Order, Quote, charge, checkout, price, review

count = Query[None, int]("count")
at = Query[int, str]("at")
stop = Signal[None]("stop")

def sync_step(x: int) -> str:
    return str(x)
"""

WRONG = {
    "wrong input type": 'await engine.start(checkout, "id", "tea")',
    "missing input": 'await engine.start(checkout, "id")',
    "wrong signal value": 'await engine.get(checkout, "id").signal(review, "yes")',
    "missing signal value": 'await engine.get(checkout, "id").signal(review)',
    "value for a bare signal": 'await engine.get(checkout, "id").signal(stop, 3)',
    "wrong result type": 'x: int = await engine.run(checkout, "id", Order("tea", 1))',
    "wrong step argument": "await ctx.step(charge, Order('tea', 1))",
    "missing step argument": "await ctx.step(charge)",
    "wrong argument of a sync step": "await ctx.step(sync_step, 'one')",
    "wrong step argument after a name": "await ctx.step('pay', charge, 'no quote')",
    "wrong step result": "x: int = await ctx.step(charge, Quote(total=Any))",
    "wrong signal result": "x: str = await ctx.wait_for(review)",
    "wrong default": "x: bool = await ctx.wait_for(review, default=None)",
    "wrong message to a run": 'await ctx.external("x").signal(review, "yes")',
    "wrong query input": 'await engine.get(checkout, "id").query(at, "one")',
    "missing query input": 'await engine.get(checkout, "id").query(at)',
    "wrong query answer": 'x: str = await engine.get(checkout, "id").query(count)',
    "a plain function as workflow": 'await engine.start(price, "id")',
    "a sync workflow": "workflow(sync_step)",
    "a stub of another result": "sim.stub(charge, lambda quote: 3)",
    "a stub of another result of a sync step": "sim.stub(sync_step, lambda x: 3)",
    "a stub without the argument": "sim.stub(charge, lambda: 'ch')",
    "a simulator of one workflow": "Simulator(checkout)",
    "a simulator of functions": "Simulator([price])",
    "a chance that is none": "Faults(crash='often')",
    "a wrong start in the simulator": 'await sim.engine.start(checkout, "id", "tea")',
    "a wrong result in the simulator": 'x: int = await sim.engine.get(checkout, "id").result()',
    "a wrong signal in the simulator": 'await sim.engine.get(checkout, "id").signal(review, 3)',
    "a scenario that is none": "sim.run(lambda sim: None)",
    "no duration": "await sim.advance(None)",
}

RIGHT = [
    "print(await ctx.wait_for(review))",
    "b: bool = await ctx.wait_for(review)",
    "o: object = await ctx.wait_for(review, default=None)",
    "n: bool | None = await ctx.wait_for(review, timeout='1d', default=None)",
    "seen = [word async for word in ctx.signals(review)]; seen[0] is True",
    "s: str = await ctx.step(sync_step, 1)",
    "s2: str = await ctx.step('named', sync_step, x=1)",
    "q: tuple[Quote] = await asyncio.gather(ctx.step(price, Order('tea', 1)))",
    "await asyncio.wait({ctx.sleep(1), ctx.sleep('1m')})",
    "await ctx.external('x').signal(review, True)",
    "await ctx.external('x').signal(stop)",
    "await ctx.external('x').signal('by name', {'any': 1})",
    "r: str | None = await engine.run(checkout, 'id', Order('tea', 1))",
    "r2: str | None = await engine.get(checkout, 'id').result()",
    "r3: object = await engine.get('by name', 'id').result()",
    "await engine.get(checkout, 'id').signal(review, True, signal_id='x')",
    "await engine.get(checkout, 'id').signal(stop)",
    "i: int = await engine.get(checkout, 'id').query(count)",
    "print(await engine.get(checkout, 'id').query(at, 3))",
    "ctx.on_query(count)(lambda: 3)",
    "sim.stub(charge, lambda quote: 'ch'); sim.stub(sync_step, lambda x: 's')",
    "sim.stub(charge, charge); sim.stub(price, price, varies=True).effects()[0].key",
    "r4: str | None = await sim.engine.run(checkout, 'id', Order('tea', 1))",
    "i2: int = await sim.engine.get(checkout, 'id').query(count)",
]


def program(lines: list[str]) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"{PREFIX}\nasync def use(ctx: Context, engine: Engine, sim: Simulator) -> None:\n{body}"


def mypy(path: Path, source: str) -> list[tuple[int, str]]:
    """Return line and text of each complaint."""
    path.write_text(source)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary",
         "--cache-dir", str(path.parent / "cache"), str(path)],
        capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr or done.stdout
    found = re.findall(rf"{path.name}:(\d+): error: (.*)", done.stdout)
    return [(int(line), text) for line, text in found]


@pytest.mark.slow
@pytest.mark.real
def test_mypy_accepts_the_right_uses_and_refuses_each_wrong_one(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    first = PREFIX.count("\n") + 3

    right = mypy(tmp_path / "right.py", program(RIGHT))
    wrong = mypy(tmp_path / "wrong.py", program(list(WRONG.values())))

    assert right == []
    refused = {line - first for line, _ in wrong}
    accepted = [name for i, name in enumerate(WRONG) if i not in refused]
    assert not accepted, f"mypy accepts: {accepted}"
