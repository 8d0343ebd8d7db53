"""Making a failing seed small: fewer kinds of faults, an earlier end, fewer clients.

A seed is not changed by what is switched off but for that: every concern has its own stream
of random numbers. So what is left of the failure is what it needs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fusee.testing.outcome import SeedOutcome
    from sim.job import Ask

TRIES_MAX = 80
_FIRST_EVENTS_MAX = 1 << 20


class Shrinker:
    """Tries smaller asks and keeps each that still fails with the same verdict."""

    def __init__(
        self,
        found: SeedOutcome,
        ask: Ask,
        run: Callable[[Ask], SeedOutcome],
        *,
        tries_max: int = TRIES_MAX,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self.ask = ask
        self.outcome = found
        self.tries = 0
        self._run = run
        self._tries_max = tries_max
        self._may_go_on = may_go_on

    def shrink(self, families: Iterable[str], options: Iterable[str]) -> None:
        """Make `ask` as small as the tries allow; `outcome` is what it leads to."""
        names = set(options)
        for _ in range(2):
            before = self.ask
            if "without" in names:
                self._drop_families([f for f in families if f not in self.ask.without])
            if "clients_max" in names:
                self._fewer_clients()
            if "events_max" in names:
                self._earlier_end()
            if self.ask == before:
                break

    def _fails(self, ask: Ask) -> bool:
        if self.tries >= self._tries_max or not self._may_go_on():
            return False
        self.tries += 1
        outcome = self._run(ask)
        if outcome.verdict is not self.outcome.verdict:
            return False
        self.ask, self.outcome = ask, outcome
        return True

    def _drop_families(self, families: list[str]) -> None:
        """All at once, then by halves, then one by one."""
        if not families:
            return
        if self._fails(replace(self.ask, without=(*self.ask.without, *families))):
            return
        if len(families) == 1:
            return
        middle = len(families) // 2
        self._drop_families(families[:middle])
        self._drop_families(families[middle:])

    def _fewer_clients(self) -> None:
        for count in (1, 2, 3):
            if self.ask.clients_max is not None and count >= self.ask.clients_max:
                return
            if self._fails(replace(self.ask, clients_max=count)):
                return

    def _earlier_end(self) -> None:
        """Halve the number of events while it fails, then look between."""
        most = self.outcome.counters.get("events") or self.ask.events_max or _FIRST_EVENTS_MAX
        low, high = 0, most
        if self.ask.events_max is None and not self._fails(replace(self.ask, events_max=most)):
            return
        while high - low > max(1, high // 64):
            middle = (low + high) // 2
            if self._fails(replace(self.ask, events_max=middle)):
                high = middle
            else:
                low = middle
            if self.tries >= self._tries_max:
                return
