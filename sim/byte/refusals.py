"""Which row of the product's table refused a directory, told by the words that it promises."""

from __future__ import annotations

from typing import Final

from fusee.log import superblock as sb

_REFUSALS: Final = (
    ("read again", "refused:read-again"),
    ("reports errors", "refused:unreadable"),
    ("case 8", "refused:case-8"),
    ("superblock is older", "refused:superblock-older"),
    ("install bracket", "refused:install-bracket"),
    ("later build", "refused:later-build"),
    ("belongs to another place", "refused:foreign"),
    ("holds another batch", "refused:mixed"),
    ("there is none", "refused:no-superblock"),
    ("no superblock", "refused:log-without-superblock"),
    ("file is missing", "refused:missing"),
    ("cut short", "refused:short"),
    ("copies of the header", "refused:header"),
    ("a later frame proves", "scan:6F"),
    ("the superblock proves", "scan:6F-superblock"),
)


def refusal_mark(error: Exception) -> str:
    """Return which row of the product's table refused, by the words it promises."""
    if isinstance(error, sb.SuperblockRefused):
        return f"refused:superblock-{error.fault}"
    for words, mark in _REFUSALS:
        if words in str(error):
            return mark
    return f"refused:{type(error).__name__}"
