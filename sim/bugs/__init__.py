"""Deliberate bugs, one file each: what the checkers must catch, or they check nothing.

A bug file says

    DESCRIPTION     one sentence: what somebody got wrong
    MODULE          "fusee.engine.turns"
    FRAGMENT        source that is there exactly once, and
    INSTEAD         what stands there with the bug
      or
    FUNCTION        "f" or "Class.f", and
    REPLACEMENT     its source with the bug
    LEVEL           the level of the simulator that reaches the place: "byte", "full" or "protocol"
    SCENARIO        the directed scenario that catches it every time (sim/scenarios)
    EQUIVALENT      an argument, only if no seed can ever catch it: why it breaks no promise
    NOTICED         of a bug in a checker only: how a campaign notices it (sim/README.md)

The files of `checkers` break what watches instead of what is watched. Nothing here imports
the product, so that a bug can be put in first.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any

CHECKERS = "checkers."


@dataclass(frozen=True, slots=True)
class Bug:
    """One deliberate bug."""

    name: str
    file: str
    description: str
    module: str
    level: str
    scenario: str
    fragment: str = ""
    instead: str = ""
    function: str = ""
    equivalent: str = ""
    noticed: str = ""


class UnknownBug(Exception):
    """There is no such file, or it says too little."""


def names(*, checkers: bool = False) -> list[str]:
    """Return the names of all bugs of the product, or of the checkers."""
    if checkers:
        package: Any = importlib.import_module(f"{__name__}.checkers")
        return sorted(CHECKERS + module.name for module in pkgutil.iter_modules(package.__path__))
    return sorted(
        module.name
        for module in pkgutil.iter_modules(__path__)
        if not module.ispkg and not module.name.startswith("_")
    )


def load(name: str) -> Bug:
    """Read one bug. Raises `UnknownBug`."""
    try:
        module: Any = importlib.import_module(f"{__name__}.{name}")
    except ModuleNotFoundError:
        raise UnknownBug(f"there is no bug {name!r}; see python -m sim.bugs --list") from None
    try:
        function = getattr(module, "FUNCTION", "")
        return Bug(
            name=name,
            file=module.__file__,
            description=module.DESCRIPTION,
            module=module.MODULE,
            level=module.LEVEL,
            scenario=module.SCENARIO,
            fragment="" if function else module.FRAGMENT,
            instead=module.REPLACEMENT if function else module.INSTEAD,
            function=function,
            equivalent=getattr(module, "EQUIVALENT", "").strip(),
            noticed=getattr(module, "NOTICED", ""),
        )
    except AttributeError as error:
        raise UnknownBug(f"{module.__file__}: {error}") from None


def load_all(text: str | None) -> list[Bug]:
    """Read the bugs of "a+b": a bug, and one of the checkers that are to see it."""
    return [load(name) for name in text.split("+")] if text else []
