"""Exit codes, and which error ends a command with which. Documented in docs/cli.md."""

from __future__ import annotations

import errno
from enum import IntEnum

import click

from fusee.admin.client import NoOwner, OwnerLost
from fusee.admin.messages import RefusalKind, Refused
from fusee.admin.refusals import refusal_of
from fusee.base.errors import AcknowledgedDataLost, DirectoryLocked, EngineError, FuseeError
from fusee.node.offline import DirectoryChanged, NoFuseeDirectory


class ExitCode(IntEnum):
    """What a command's exit code says."""

    OK = 0
    FAILED = 1
    """The command ran and the answer is negative."""
    USAGE = 2
    UNAVAILABLE = 4
    """Nobody can answer now; nothing was changed."""
    REFUSED = 5
    """Refused; nothing was changed."""
    UNKNOWN = 6
    """It may or may not have happened; the text says how to repeat it safely."""
    NOT_FOUND = 9
    INTERNAL = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


class CommandFailed(click.ClickException):
    """Ends a command with a text on stderr and an exit code."""

    def __init__(self, code: ExitCode, message: str) -> None:
        super().__init__(message)
        # click declares it for classes and reads it from instances.
        self.exit_code = int(code)  # type: ignore[misc]

    def format_message(self) -> str:
        """Return the text without control characters, but for line breaks."""
        return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in self.message)

    def show(self, file: object = None) -> None:
        """Print the text. On stderr, so that what a pipe reads is only ever an answer."""
        click.echo(f"fusee: {self.format_message()}", err=True)


_OF_KIND = {
    RefusalKind.NOT_FOUND: ExitCode.NOT_FOUND,
    RefusalKind.FINISHED: ExitCode.REFUSED,
    RefusalKind.BACKLOGGED: ExitCode.REFUSED,
    RefusalKind.OVERLOADED: ExitCode.REFUSED,
    RefusalKind.STORAGE_FULL: ExitCode.REFUSED,
    RefusalKind.INVALID: ExitCode.REFUSED,
    RefusalKind.TOO_LARGE: ExitCode.REFUSED,
    RefusalKind.BAD_FRAME: ExitCode.REFUSED,
    RefusalKind.HELD: ExitCode.UNAVAILABLE,
    RefusalKind.CLOSING: ExitCode.UNAVAILABLE,
    RefusalKind.UNKNOWN_HANDLER: ExitCode.NOT_FOUND,
    RefusalKind.FAILED: ExitCode.FAILED,
    RefusalKind.STOPPED: ExitCode.UNKNOWN,
    RefusalKind.INTERNAL: ExitCode.INTERNAL,
}
assert set(_OF_KIND) == set(RefusalKind)


def failure_of_refusal(refused: Refused, *, changes: bool) -> CommandFailed:
    """Return how a command ends that was refused; `changes` says whether it would have written."""
    try:
        code = _OF_KIND[RefusalKind(refused.kind)]
    except ValueError:
        # A later engine has reasons this command does not know; its text says them.
        code = ExitCode.REFUSED
    if code is ExitCode.UNKNOWN and not changes:
        code = ExitCode.UNAVAILABLE
    return CommandFailed(code, refused.text)


def failure_of(error: Exception, *, changes: bool = False) -> CommandFailed | None:
    """Return how a command ends that met an error, None for one that is our own bug."""
    match error:
        case OwnerLost():
            code = ExitCode.UNKNOWN if changes and error.was_sent else ExitCode.UNAVAILABLE
        case NoOwner() | DirectoryChanged():
            code = ExitCode.UNAVAILABLE
        case NoFuseeDirectory():
            code = ExitCode.NOT_FOUND
        case AcknowledgedDataLost():
            places = "".join(f"\n  {place}" for place in error.positions)
            return CommandFailed(ExitCode.REFUSED, f"{error}{places}")
        case DirectoryLocked():
            code = ExitCode.REFUSED
        case FuseeError():
            refused = refusal_of(error)
            if refused.kind != RefusalKind.INTERNAL:
                return failure_of_refusal(refused, changes=changes)
            if not isinstance(error, EngineError):
                return None
            code = ExitCode.REFUSED
        case PermissionError():
            code = ExitCode.REFUSED
            text = f"{error.filename or 'owner.sock'}: no permission; run this as the engine's user"
            return CommandFailed(code, text)
        case OSError() if error.errno in (errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP):
            return CommandFailed(ExitCode.REFUSED, f"{error.filename}: {error.strerror}")
        case _:
            return None
    return CommandFailed(code, str(error))
