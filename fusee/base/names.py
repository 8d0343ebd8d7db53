"""Which texts may name a run, a workflow, a signal, a step.

Checked at every entry before anything is appended: an empty ID that got into a log would
be recovered again and again under IDs of its own.
"""

from __future__ import annotations

from fusee.base.limits import ID_BYTES_MAX, NAME_BYTES_MAX


def check_id(value: str, what: str = "workflow ID") -> str:
    """Return the ID. Raises `ValueError` unless it is 1 to 512 bytes, not blank, without NUL."""
    return _check(value, what, ID_BYTES_MAX)


def check_name(value: str, what: str = "name") -> str:
    """Return the name. Raises `ValueError` unless it is 1 to 256 bytes, not blank, without NUL."""
    return _check(value, what, NAME_BYTES_MAX)


def _check(value: str, what: str, limit: int) -> str:
    if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the {what} is a {type(value).__name__}; pass a str")
    # Most are short and ASCII, and isascii, len and find are all this costs then.
    if not value.isascii() or len(value) > limit:
        try:
            size = len(value.encode())
        except UnicodeEncodeError:
            raise ValueError(
                f"the {what} {value[:40]!r} holds a lone surrogate, which is no Unicode; "
                "decode the bytes it came from, or use their hex form"
            ) from None
        if size > limit:
            raise ValueError(
                f"the {what} {value[:40]!r}... is {size} bytes, over the limit of {limit}; "
                "use a hash of the long part"
            )
    if not value.strip():
        raise ValueError(f"the {what} is {'blank' if value else 'empty'}; pass one that names it")
    if "\0" in value:
        raise ValueError(f"the {what} {value[:40]!r} holds a NUL character; remove it")
    return str(value)
