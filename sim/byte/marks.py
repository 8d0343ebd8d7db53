"""What a campaign of the byte level must have reached."""

from __future__ import annotations

from typing import Final

MARKS: Final = ("scan:1T",)
