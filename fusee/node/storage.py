"""What a node needs from the place its batches go: the file log, or memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.log.batch import Batch


class Storage(Protocol):
    """One replica's log. Calls report through `on_done`: None is durable."""

    @property
    def is_instant(self) -> bool:
        """Whether writes complete at once and cost nothing."""
        ...

    def submit(
        self, batch: Batch, durable_op: int, on_done: Callable[[BaseException | None], None]
    ) -> None:
        """Write a batch. `durable_op` is what was durable when this write was submitted."""
        ...

    def submit_seal(self, durable_op: int, on_done: Callable[[BaseException | None], None]) -> None:
        """Write a witness that everything up to `durable_op` was acknowledged."""
        ...

    def read(self, from_op: int, bytes_max: int) -> list[Batch]:
        """Return batches from `from_op` on, at least one if there is one.

        Raises OSError where they cannot be read now.
        """
        ...
