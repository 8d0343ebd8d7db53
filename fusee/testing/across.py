"""`across_seeds`: one test, many seeds.

    @across_seeds(500)
    def test_never_two_amounts_for_one_key(seed: int) -> None: ...

The seeds follow from the test's name: the same in every process and on every machine, and others
for every other test. The first one that fails ends the test and is named, with the command that
runs it alone.
"""

from __future__ import annotations

import functools
import inspect
import os
from typing import TYPE_CHECKING, Any, ParamSpec

from fusee.testing import chosen
from fusee.testing.seeds import number

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
_SEED_BITS = 32
"""Short enough to be typed."""


def across_seeds(seeds: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with so many seeds; it takes `seed: int`, and fixtures beside it if it likes.

    pytest's `--fusee-seeds N` overrides the number, `--fusee-seed S` runs the seed S alone.
    Fixtures are made once for all seeds.
    """
    if type(seeds) is not int or seeds < 1:
        raise ValueError(f"across_seeds({seeds!r}): a whole number of at least 1")

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        if inspect.iscoroutinefunction(test):
            raise TypeError(
                f"{test.__name__} is async; across_seeds takes a plain function that calls "
                "sim.run(scenario), and the scenario is async"
            )
        if "seed" not in signature.parameters:
            raise TypeError(f"{test.__name__} takes no `seed`; across_seeds gives it one")

        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            count = chosen.seeds or seeds
            given = seeds_of(test, count) if chosen.seed is None else [chosen.seed]
            for index, seed in enumerate(given, start=1):
                try:
                    test(*args, seed=seed, **kwargs)
                except Exception as error:
                    error.add_note(_how_to_repeat(test, seed, index, len(given)))
                    raise

        others = [p for name, p in signature.parameters.items() if name != "seed"]
        # pytest reads the fixtures from here; a seed is none.
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate


def seeds_of(test: Callable[..., object], count: int) -> list[int]:
    """Return the seeds of a test."""
    name = f"{test.__module__.rpartition('.')[2]}.{test.__qualname__}"
    return [number(index, name) % (1 << _SEED_BITS) for index in range(count)]


def _how_to_repeat(test: Callable[..., object], seed: int, index: int, count: int) -> str:
    # "tests/test_shop.py::test_checkout (call)", while pytest runs it.
    place = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    which = f"{test.__name__} fails with seed {seed} ({index} of {count})"
    if not place:
        return which
    return f"{which}; this one alone:\n    pytest '{place}' --fusee-seed {seed}"
