"""Every life of a replica writes in a view of its own, later than all before it (R-1).

Two lives in one view could each propose a batch of the same op, and a batch that the second
one never saw could pass for its own.
"""

from __future__ import annotations


class Views:
    """The views in which the lives of one replica have written."""

    def __init__(self) -> None:
        self._newest = self._before = -1

    def begin_life(self) -> None:
        """Another process opens the directory."""
        self._before = self._newest

    def note(self, view: int) -> str:
        """Note the view of a batch that has become durable; return what is wrong with it."""
        self._newest = max(self._newest, view)
        if view > self._before:
            return ""
        return f"wrote in view {view}, though an earlier life had written in view {self._before}"
