"""The protocol level: groups of three and five real replicas on modelled disks and network.

Members crash alone and together, are cut off, pause, forget what was being written, lose
one copy of a batch; messages are lost, doubled, late and out of order. At last the faults
end, and then the group must come together with everything that it ever acknowledged.
"""

from __future__ import annotations

from dataclasses import dataclass
from traceback import format_exception
from typing import Final

from fusee.testing.outcome import SeedOutcome, Stuck, Verdict
from fusee.vr.choice import Diverged
from sim.protocol.checkers import Broken
from sim.protocol.plan import FAMILIES, draw_plan
from sim.protocol.world import World

__all__ = ["FAMILIES", "MARKS", "NAME", "WORK", "Options", "run_seed"]

NAME: Final = "protocol"
WORK: Final = {"decided": 10, "messages": 300, "reads": 5}
MARKS: Final = (
    "crash:all",
    "crash:primary",
    "crash:DoViewChange",
    "crash:ExitView",
    "crash:Prepare",
    "crash:PrepareOk",
    "crash:StartView",
    "duty:Install",
    "duty:ReadLog",
    "duty:Rewrite",
    "duty:Stage",
    "end:without-some",
    "rot:damaged",
    "rot:unreadable",
    "start:unknown",
)


@dataclass(frozen=True)
class Options:
    """What a command line can switch off."""

    without: frozenset[str] = frozenset()


def run_seed(seed: int, options: Options) -> SeedOutcome:
    """Run one seed to its end."""
    world = World(seed, draw_plan(seed, options.without))
    verdict, violations = Verdict.CLEAN, ()
    try:
        world.run()
    except (Broken, Diverged) as broken:
        verdict, violations = Verdict.VIOLATION, (str(broken),)
    except Stuck as stuck:
        verdict, violations = Verdict.STUCK, (str(stuck),)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        verdict, violations = Verdict.CRASHED, (text, "".join(format_exception(error)[-6:]))
    return SeedOutcome(
        seed,
        verdict,
        violations,
        world.trace.hash,
        dict(sorted(world.counters.items())),
        world.marks.names(),
        () if verdict is Verdict.CLEAN else world.trace.lines(),
    )
