"""Options of `start` and `run`, as `engine.options(...)` collects them."""

from __future__ import annotations

from typing import get_args

import msgspec

from fusee.base.checksum import hash128
from fusee.base.names import check_id, check_name
from fusee.engine.admission import OnConflict, Reuse, StartPolicy


class StartOptions(msgspec.Struct, frozen=True):
    """What was set so far."""

    policy: StartPolicy = StartPolicy()
    version: str | None = None
    request_id: str | None = None

    def updated(
        self,
        on_conflict: OnConflict | None,
        reuse: Reuse | None,
        version: str | None,
        request_id: str | None,
    ) -> StartOptions:
        """Return these options with what is given replaced. Raises `ValueError`."""
        for name, value, allowed in (
            ("on_conflict", on_conflict, get_args(OnConflict)),
            ("reuse", reuse, get_args(Reuse)),
        ):
            if value is not None and value not in allowed:
                raise ValueError(f"{name}={value!r}: one of {', '.join(map(repr, allowed))}")
        if request_id is not None:
            check_id(request_id, what="request_id")
        if version is not None:
            check_name(version, what="version")
        policy = StartPolicy(
            on_conflict or self.policy.on_conflict,
            reuse or self.policy.reuse,
        )
        return StartOptions(policy, version or self.version, request_id or self.request_id)

    def request_bytes(self) -> bytes | None:
        """Return the request id as the log keeps it: 16 bytes, hashed from any text."""
        return None if self.request_id is None else hash128(self.request_id.encode())
