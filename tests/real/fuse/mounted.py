"""Mounting the file systems from tests, with the way back in a janitor's hands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.real.helpers import Helper
from tests.real.janitor import Janitor


class MountedServer(Helper):
    """A server and its mount."""

    def __init__(self, janitor: Janitor, kind: str, target: Path, *arguments: str) -> None:
        target.mkdir(parents=True, exist_ok=True)
        self.target = target
        self._janitor = janitor
        super().__init__("tests.real.fuse.server", kind, str(target), *arguments)
        said = self.hear()
        assert "mounted" in said, said
        # If the server is killed, its mount stays and answers nothing.
        self._undo = janitor.undo_later("umount", "-l", "-q", str(target))

    def order(self, what: str, **details: Any) -> dict[str, Any]:
        """Give an order; return the answer."""
        return self.ask(do=what, **details)

    def close(self, patience_s: float = 20.0) -> int:
        code = super().close(patience_s)
        self._janitor.forget(self._undo)
        return code
