"""pytest's options `--fusee-seed` and `--fusee-seeds`.

Loaded into every session of whoever has Fusee installed, so it imports nothing but the
options' place.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fusee.testing import chosen

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("fusee", "Fusee's simulator")
    group.addoption(
        "--fusee-seed",
        type=_seed,
        metavar="S",
        help="tests with @across_seeds run this seed only",
    )
    group.addoption(
        "--fusee-seeds",
        type=_seeds,
        metavar="N",
        help="tests with @across_seeds run so many seeds, whatever they say themselves",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Note what was asked for."""
    chosen.seed = config.getoption("fusee_seed")
    chosen.seeds = config.getoption("fusee_seeds")


def pytest_unconfigure() -> None:
    """Forget it."""
    chosen.seed = chosen.seeds = None


def _seed(text: str) -> int:
    return _whole(text, 0)


def _seeds(text: str) -> int:
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r}: a whole number of at least {least}")
    return int(text)
