"""Random programs: what one run does, drawn from a seed and written down as plain JSON.

A program is a list of instructions, each a list that begins with its name. `interpreter.py`
carries them out as workflow code. Because programs are input and not code, a run that comes
back after a crash does exactly what it did before, whatever that is.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from random import Random

Program = list[list[Any]]

LEAVES: Final = (
    ("effect", 10),
    ("sync", 4),
    ("read", 6),
    ("retry", 4),
    ("fails", 3),
    ("late", 2),
    ("slow", 3),
    ("sleep", 5),
    ("wait", 4),
    ("tell", 4),
    ("draw", 4),
    ("yield", 2),
    ("cancel", 3),
    ("big", 1),
    ("shout", 2),
    ("number", 2),
    ("guard", 3),
    ("swallow", 1),
)
BRANCHES: Final = (
    ("gather", 4),
    ("group", 3),
    ("first", 2),
    ("completed", 2),
    ("deadline", 3),
    ("lock", 1),
)
BIG: Final = ("big", "shout")
BIG_MAX: Final = 5
"""So many of them a seed: each is copied by every recovery after it."""
SHOUT: Final = 120_000
"""Of a digest so often the sender's records fit a batch, and what the receivers get does not."""
SIGNALS: Final = ("paid", "packed")


class Author:
    """Writes programs for the runs of one seed."""

    def __init__(
        self, random: Random, ids: list[str], *, has_big: bool, length_max: int = 6
    ) -> None:
        self._random = random
        self._big_left = BIG_MAX
        self._begun: deque[str] = deque(maxlen=4)
        self._ids = ids
        self._length_max = length_max
        self._leaves = self._some(tuple(leaf for leaf in LEAVES if has_big or leaf[0] not in BIG))
        self._branches = self._some(BRANCHES)

    def _some(self, names: tuple[tuple[str, int], ...]) -> list[str]:
        """Draw which instructions this seed knows: without some of them others come often."""
        keep = self._random.random()
        chosen = [name for name, share in names for _ in range(share)]
        kept = {name for name, _ in names if self._random.random() < 0.4 + keep}
        return [name for name in chosen if name in kept] or ["effect"]

    def begins(self, workflow_id: str) -> None:
        """Hear which run was begun last; it is likely to be there still."""
        self._begun.append(workflow_id)

    def program(self, depth: int = 0) -> Program:
        """Write one program."""
        length = self._random.randint(1, self._length_max if depth == 0 else 3)
        program = [self._instruction(depth) for _ in range(length)]
        if depth == 0 and "shout" in self._leaves:
            self._let_shout(program)
        if depth == 0 and self._random.random() < 0.1:
            program.append(["raise"])
        return program

    def _let_shout(self, program: Program) -> None:
        """Let some shout at once, and others stay to hear it.

        With its start before it in one batch: only behind another can a ticket be split.
        """
        chance = self._random.random()
        if chance < 0.3:
            program.insert(0, self._big("shout"))
        elif chance < 0.7:
            program.append(["sleep", 90_000])

    def _instruction(self, depth: int) -> list[Any]:
        random = self._random
        if depth < 2 and random.random() < 0.25:
            name = random.choice(self._branches)
            if name in ("effect",):
                return ["effect", 0]
            if name in ("deadline", "lock"):
                return [name, random.choice([1, 20, 400]), self.program(depth + 1)]
            parts = [self.program(depth + 1) for _ in range(random.randint(2, 4))]
            return [name, parts]
        name = random.choice(self._leaves)
        if name in BIG:
            return self._big(name)
        match name:
            case "effect" | "read" | "sync":
                return [name, random.choice([0, 0, 0, 200, 700])]
            case "retry":
                return [name, random.randint(1, 3)]
            case "sleep" | "slow" | "guard":
                return [name, random.choice([1, 3, 20, 500, 90_000])]
            case "wait":
                return [name, random.choice(SIGNALS), random.choice([2, 50, 3_000])]
            case "tell":
                return [name, random.choice(self._ids), random.choice(SIGNALS)]
            case _:
                return [name]

    def _big(self, name: str) -> list[Any]:
        random = self._random
        self._big_left -= 1
        if self._big_left < 0:
            return ["effect", 0]
        if name == "big":
            return [name, random.choice([5_000, 30_000, 200_000])]
        likely = self._begun or self._ids
        targets = [random.choice(likely) for _ in range(random.choice([1, 1, 2, 4]))]
        return [name, targets, random.choice([90_000, SHOUT // len(targets)])]
