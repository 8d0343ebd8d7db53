"""What the disk of a crash test knows of every run; see `fusee.testing.checkers.facts`."""

from __future__ import annotations

from fusee.testing.checkers import facts
from fusee.testing.checkers.facts import Facts, batch_of
from tests.support.ram_device import RamDevice

__all__ = ["Facts", "batch_of", "facts_of"]


def facts_of(image: RamDevice) -> Facts:
    """Read the log of an image; the image stays as it is."""
    return facts.facts_of(image.copy()) or Facts()
