"""Every process sees one order: 20 processes with other hash seeds and other addresses."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from fusee.loop.ordered import check_ordered_set, install_ordered_set
from fusee.loop.ordered_set import OrderedSet
from tests.support.loop_host import finish

ROOT = Path(__file__).parents[2]
PROCESSES = 20
AT_ONCE = 2


def orders_of_processes() -> list[dict[str, list[object]]]:
    command = [sys.executable, "-m", "tests.loop.order_scenarios"]
    printed: list[bytes] = []
    for first in range(0, PROCESSES, AT_ONCE):
        running = [
            subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
            )
            for seed in range(first, first + AT_ONCE)
        ]
        printed += [process.communicate()[0] for process in running]
        assert [process.returncode for process in running] == [0] * AT_ONCE
    return [json.loads(line) for line in printed]


def test_twenty_processes_see_one_order() -> None:
    orders = orders_of_processes()
    first = orders[0]
    for other in orders[1:]:
        for scenario, order in other.items():
            assert order == first[scenario], scenario
    created = list(range(12))
    assert first["task_group_abort"][0] == created
    assert first["cancelled_group"][0] == created
    assert first["as_completed_coroutines"][0][:12] == [f"start {n}" for n in created]
    assert first["side_by_side_timeouts"][1] == ["timeout", "sleep"] * 8


def test_the_order_is_checked_on_this_python() -> None:
    install_ordered_set()
    install_ordered_set()
    check_ordered_set()


def test_the_hosts_loop_keeps_the_builtin_set() -> None:
    async def main() -> tuple[type, type]:
        done, pending = await asyncio.wait([asyncio.ensure_future(asyncio.sleep(0))])
        assert await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2)) == [1, 2]
        return type(done), type(pending)

    install_ordered_set()
    assert asyncio.run(main()) == (set, set)
    assert finish(main()) == (OrderedSet, OrderedSet)


def test_an_ordered_set_is_a_set_with_an_order() -> None:
    letters = OrderedSet("hello world")
    assert isinstance(letters, set)
    assert letters == set("hello world")
    assert "".join(letters) == "helo wrd"
    letters.add("h")
    letters.discard("?")
    letters.remove("o")
    assert letters.pop() == "h"
    letters |= set("z")
    assert "".join(letters) == "el wrdz"
    assert "".join(pickle.loads(pickle.dumps(letters))) == "el wrdz"
    with pytest.raises(KeyError):
        letters.remove("?")
    with pytest.raises(TypeError):
        letters | "abc"  # type: ignore[operator]
    with pytest.raises(TypeError):
        hash(letters)
    letters.clear()
    assert not letters
    with pytest.raises(KeyError):
        letters.pop()


@pytest.mark.parametrize("operator", ["or", "and", "sub", "xor"])
@pytest.mark.parametrize("other", [{3, 9, 1}, frozenset({7, 5}), OrderedSet([11, 9])])
def test_operators_agree_with_the_builtin_set(operator: str, other: set[int]) -> None:
    ours, plain = OrderedSet([9, 7, 5, 3]), {9, 7, 5, 3}
    for method in (f"__{operator}__", f"__r{operator}__"):
        result = getattr(ours, method)(other)
        assert type(result) is OrderedSet
        assert result == getattr(plain, method)(set(other))
        assert sorted(result) == sorted(set(result))
    changed = getattr(ours, f"__i{operator}__")(other)
    assert changed is ours
    assert ours == getattr(plain, f"__{operator}__")(set(other))
    kept = [member for member in (9, 7, 5, 3) if member in ours]
    assert list(ours)[: len(kept)] == kept
