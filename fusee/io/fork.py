"""Noticing os.fork() without asking for a pid on every call.

A counter that only ever grows in a freshly forked child: whoever remembers the count of the
time it was made compares two ints. Holders of descriptors that a child must not keep (a lock
would outlive its owner in it) name a function to be called in the child.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

generation: int = 0
"""How many forks lie between this process and the one that imported Fusee. Read only."""

_in_child: list[Callable[[], None]] = []


def call_in_child(function: Callable[[], None]) -> None:
    """Have a function called in every forked child, before anything else runs there."""
    _in_child.append(function)


def _after_fork_in_child() -> None:
    global generation  # noqa: PLW0603  # one process, one generation
    generation += 1
    for function in _in_child:
        function()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
