"""Rows: what was measured, what must be reached, and the verdict, which only figures decide.

A row carries its figures by name and limits on some of them. A limit on a figure that is
missing or not a number is missed: a measurement that did not happen must never read as a pass.
"""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct, field

Verdict = Literal["reached", "NOT REACHED", "DISTURBED", "reported", "FAILED"]

UNREST = "raw_unrest"
"""The figure that tells a disturbed floor: median of the raw writes over their fastest."""
UNREST_MAX = 2.0


class Limit(Struct, frozen=True):
    """A bound on one figure; `label` and `unit` are for people."""

    figure: str
    label: str
    at_most: float | None = None
    at_least: float | None = None
    unit: str = ""

    def holds(self, figures: dict[str, float]) -> bool:
        value = figures.get(self.figure, math.nan)
        if not math.isfinite(value):
            return False
        if self.at_most is not None and value > self.at_most:
            return False
        return self.at_least is None or value >= self.at_least

    def __str__(self) -> str:
        low, high = self.at_least, self.at_most
        if low is not None and high is not None:
            bound = f"{low:,g} to {high:,g}"
        elif high is not None:
            bound = f"<= {high:,g}"
        else:
            bound = f">= {low:,g}"
        return " ".join(part for part in (self.label, bound, self.unit) if part)


class Row(Struct):
    """One line of the table."""

    name: str
    measure: str
    text: str
    figures: dict[str, float] = field(default_factory=dict)
    limits: list[Limit] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a reader needs beside the figure; printed below it."""
    problem: str = ""
    """Why there is no figure: the measurement itself broke."""

    @property
    def missed(self) -> list[Limit]:
        return [limit for limit in self.limits if not limit.holds(self.figures)]

    @property
    def verdict(self) -> Verdict:
        if self.problem:
            return "FAILED"
        if not self.limits:
            return "reported"
        if self.figures.get(UNREST, 1.0) > UNREST_MAX:
            # The floor itself waited for a CPU: a ratio to it can pass, and means nothing.
            return "DISTURBED"
        return "NOT REACHED" if self.missed else "reached"


def failed_row(name: str, problem: str) -> Row:
    """The row of a measurement that broke."""
    return Row(name, name, "-", problem=problem)


def exit_code(rows: list[Row]) -> int:
    """1 when a row that must reach something did not, or was not measured in peace."""
    return int(any(row.verdict not in ("reached", "reported") for row in rows))


def table(rows: list[Row]) -> str:
    """The rows as people read them."""
    cells = [(row.measure, row.text, "; ".join(map(str, row.limits)) or "reported") for row in rows]
    heads = ("measure", "figure", "must reach")
    widths = [max(len(line[n]) for line in [heads, *cells]) for n in range(3)]
    # One long bound must not push the verdicts off the screen: it goes below instead.
    widths[2] = min(widths[2], 32)

    def line(parts: tuple[str, str, str], verdict: str) -> str:
        padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
        return "  ".join([*padded, verdict]).rstrip()

    lines = [line(heads, "verdict"), line(("-" * widths[0], "-" * widths[1], "-" * widths[2]), "")]
    for row, (measure, text, must) in zip(rows, cells, strict=True):
        fits = len(must) <= widths[2]
        lines.append(line((measure, text, must if fits else "all of what is below"), row.verdict))
        if not fits:
            lines += [f"    must: {limit}" for limit in row.limits]
        lines += [f"    missed: {limit}" for limit in row.missed if len(row.limits) > 1]
        lines += [f"    {note}" for note in row.notes]
        lines += [f"    {text}" for text in row.problem.splitlines()]
    return "\n".join(lines)
