"""A hostile, repeatable world for everything that Fusee writes, and the checkers that watch it.

For tests of your own workflows there are `Simulator`, `Faults`, `Stub`, `across_seeds` and
`Replayer`; docs/testing.md shows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fusee.testing.across import across_seeds
    from fusee.testing.faults import Faults
    from fusee.testing.guard import NotSimulated
    from fusee.testing.replayer import Replayer
    from fusee.testing.simulator import Simulator
    from fusee.testing.stubs import Stub, StubCall

__all__ = ["Faults", "NotSimulated", "Replayer", "Simulator", "Stub", "StubCall", "across_seeds"]

_HOME_OF = {
    "Faults": "faults",
    "NotSimulated": "guard",
    "Replayer": "replayer",
    "Simulator": "simulator",
    "Stub": "stubs",
    "StubCall": "stubs",
    "across_seeds": "across",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: the pytest plugin lives here, and must be light."""
    import importlib

    if name not in _HOME_OF:
        raise AttributeError(f"module 'fusee.testing' has no attribute {name!r}")
    home = importlib.import_module(f"fusee.testing.{_HOME_OF[name]}")
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
