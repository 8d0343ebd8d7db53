"""What may go wrong in a simulated test, as a user says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fusee.testing.plan import RandomPlan

if TYPE_CHECKING:
    from random import Random

_SHARE: Final = {
    "before-write": 0.05,
    "in-write": 0.1,
    "after-write": 0.05,
    "append": 0.2,
    "iteration": 0.02,
    "before-call": 0.3,
    "after-call": 1.0,
    "before-ack": 0.7,
    "after-ack": 0.3,
}
"""How `crash` is spread: each point has this part of it. Writes and iterations are many, most of
them while a process opens, and would leave nothing of the deaths for what is rarer."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Chances between 0 and 1 of what may go wrong; by default nothing does.

    crash: how likely the process dies around a call of a step and around an answer, and a fifth
    of that around each write; another one follows within a second. flush_fail: how likely a
    write fails, which stops the engine and ends its process. cold_process: each life imports
    the modules of the workflows anew, so that nothing they keep in globals or caches outlives a
    process. evict: how likely a run leaves memory, and comes back by replay, whenever the
    process is idle and something has happened since. deaths_max: after so many deaths there
    is peace.

    Raises ValueError for a chance that is none.
    """

    crash: float = 0.0
    flush_fail: float = 0.0
    cold_process: bool = False
    evict: float = 0.0
    deaths_max: int = 20

    def __post_init__(self) -> None:
        for name in ("crash", "flush_fail", "evict"):
            chance = getattr(self, name)
            is_number = isinstance(chance, int | float) and not isinstance(chance, bool)
            if not is_number or not 0 <= chance <= 1:
                raise ValueError(f"Faults({name}={chance!r}): a chance between 0 and 1")
        if type(self.cold_process) is not bool:
            raise ValueError(f"Faults(cold_process={self.cold_process!r}): True or False")
        if type(self.deaths_max) is not int or self.deaths_max < 0:
            raise ValueError(f"Faults(deaths_max={self.deaths_max!r}): 0 or more")

    def plan(self, random: Random) -> RandomPlan:
        """Return the plan that draws them."""
        chances = {point: self.crash * share for point, share in _SHARE.items()}
        return RandomPlan(random, chances, self.flush_fail, self.deaths_max)
