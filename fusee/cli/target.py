"""Whom a command asks: the process that has the directory open, else the files themselves.

Between two looks a process may open or close the directory. What was refused because of that
changed nothing, so the command looks again, for a few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from fusee.admin.client import NoOwner, Owner, OwnerLost
from fusee.admin.messages import Answer, RefusalKind, Refused, Request
from fusee.base.errors import DirectoryLocked
from fusee.cli.exits import CommandFailed, ExitCode, failure_of_refusal
from fusee.io.directory import LockHolder
from fusee.io.holder import find_holder
from fusee.node.offline import DirectoryChanged, check_directory

A = TypeVar("A", bound=Answer)
T = TypeVar("T")

SETTLE_S = 5.0
"""How long a command waits for a directory that is being opened or closed."""
_LOOK_AGAIN_S = 0.05


class Target(msgspec.Struct, frozen=True):
    """One directory, and how long its owner may take."""

    directory: Path
    timeout_s: float

    def ask(
        self,
        request: Request,
        expected: type[A],
        otherwise: Callable[[], T],
        *,
        changes: bool = False,
    ) -> A | T:
        """Return the owner's answer, or what `otherwise` returns when there is no owner."""
        check_directory(self.directory)
        deadline = time.monotonic() + min(SETTLE_S, self.timeout_s)
        while True:
            try:
                answer = self._ask_owner(request)
                if not isinstance(answer, Refused):
                    return _checked(answer, expected)
                if answer.kind != RefusalKind.CLOSING or time.monotonic() >= deadline:
                    raise failure_of_refusal(answer, changes=changes)
            except NoOwner:
                holder = find_holder(self.directory)
                if holder is not None and time.monotonic() >= deadline:
                    raise _silent(self.directory, holder) from None
                if holder is None:
                    try:
                        return otherwise()
                    except (DirectoryChanged, DirectoryLocked):
                        if time.monotonic() >= deadline:
                            raise
            time.sleep(_LOOK_AGAIN_S)

    def _ask_owner(self, request: Request) -> Answer:
        with Owner.connect(self.directory, self.timeout_s) as owner:
            return owner.ask(request)


def _checked(answer: Answer, expected: type[A]) -> A:
    if not isinstance(answer, expected):
        text = f"the owner answered with {type(answer).__name__}; is it another version?"
        raise OwnerLost(text, was_sent=True)
    return answer


def _silent(directory: Path, holder: LockHolder) -> CommandFailed:
    since = f" since {holder.started}" if holder.started else ""
    return CommandFailed(
        ExitCode.UNAVAILABLE,
        f"{directory} is open in process {holder.pid} on {holder.host}{since}, which does not"
        " listen at owner.sock: it is being opened or closed, or its log says why it does not",
    )
