"""After an orderly close, whatever functions brought before it is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fusee.testing.checkers.facts import Facts


def unrecorded(facts: Facts, ended: Iterable[tuple[str, int]]) -> Iterator[str]:
    """Yield a sentence for each call whose end the log does not know.

    `ended`: key and attempt of each call of the life whose function came to its end. A run
    that was ended from outside takes no results any more.
    """
    for key, attempt in ended:
        if key.rpartition("/")[0] in facts.closed:
            continue
        is_known = key in facts.completed or facts.attempts_failed.get(key, 0) >= attempt
        if not is_known and key in facts.scheduled:
            yield f"step {key}, attempt {attempt}, ended before an orderly close, unrecorded"
