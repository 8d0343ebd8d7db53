"""The levels of the simulator: what a seed runs, from bytes on a disk to whole applications.

A level is a module here with

    NAME        "byte"
    run_seed    (seed, options) -> SeedOutcome
    Options     a frozen dataclass; the runner fills those of OPTION_NAMES that it has
    FAMILIES    names of the fault families that `without` may switch off
    MARKS       names that a campaign of MARKS_SEEDS_MIN seeds must have reached
    WORK        counter -> floor of its median over a campaign; 0 only measures; may be missing
    WORKLOADS   names that `workload` may have; may be missing
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fusee.testing.outcome import SeedOutcome

OPTION_NAMES = ("without", "events_max", "clients_max", "workload")
"""What a command line can ask of a level, and a failing seed can be shrunk by."""


class Level(Protocol):
    """One level, as the runner uses it."""

    NAME: str
    FAMILIES: Iterable[str]
    MARKS: Iterable[str]
    Options: Any

    def run_seed(self, seed: int, options: Any) -> SeedOutcome:
        """Run one seed to its end. Never raises for what the seed found."""
        ...


def names() -> list[str]:
    """Return the levels there are."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Any:
    """Import a level: one of this package, or any module by its dotted name."""
    return importlib.import_module(name if "." in name else f"{__name__}.{name}")


def option_names(level: Any) -> set[str]:
    """Return which of OPTION_NAMES a level takes."""
    return {field.name for field in fields(level.Options)} & set(OPTION_NAMES)


def make_options(level: Any, asked: Mapping[str, Any]) -> Any:
    """Return the options of a level; what it does not know was refused before."""
    given = {name: value for name, value in asked.items() if name in option_names(level)}
    if "without" in given:
        given["without"] = frozenset(given["without"])
    return level.Options(**given)
