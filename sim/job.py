"""What a campaign runs: a level, perhaps with a bug in it, and what is switched off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ask:
    """What one seed is run with. Everything here can be made smaller when a seed fails."""

    without: tuple[str, ...] = ()
    events_max: int | None = None
    clients_max: int | None = None
    workload: str | None = None

    def values(self) -> dict[str, Any]:
        """Return what differs from the level's own defaults, by the names of its options."""
        values: dict[str, Any] = {
            "without": sorted(self.without) or None,
            "events_max": self.events_max,
            "clients_max": self.clients_max,
            "workload": self.workload,
        }
        return {name: value for name, value in values.items() if value is not None}

    def arguments(self) -> list[str]:
        """Return the same as arguments of a command line."""
        arguments = [f"--without {','.join(sorted(self.without))}"] if self.without else []
        if self.events_max is not None:
            arguments.append(f"--events {self.events_max}")
        if self.clients_max is not None:
            arguments.append(f"--clients {self.clients_max}")
        if self.workload is not None:
            arguments.append(f"--workload {self.workload}")
        return arguments


@dataclass(frozen=True, slots=True)
class Job:
    """What every seed of a campaign shares."""

    level: str
    bug: str | None = None
    ask: Ask = Ask()
    seed_s_max: float = 60.0
    """A seed that takes longer hangs."""

    def command(self, seeds: range, ask: Ask | None = None) -> str:
        """Return the command that runs these seeds again."""
        parts = [f"python -m sim.swarm --seeds {seeds.start}:{seeds.stop} --level {self.level}"]
        if self.bug is not None:
            parts.append(f"--bug {self.bug}")
        return " ".join(parts + (self.ask if ask is None else ask).arguments())
