"""Every error a user of Fusee can meet. Each says what happened and what to do about it.

    FuseeError
    ├─ EngineError     the engine or its directory
    ├─ StartError      a start was refused; nothing was appended
    ├─ WorkflowError   a run ended, or is not there
    ├─ StepError       a step ended without a result
    ├─ MessageError    a signal or query
    ├─ PayloadError    a value could not become bytes, or bytes a value
    └─ CodeError       workflow code did something replay cannot follow

`NonRetryable` and `RetryAfter` are raised by users.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


class FuseeError(Exception):
    """Base of every error that Fusee raises."""


# ---------------------------------------------------------------- engine


class EngineError(FuseeError):
    """The engine or its directory cannot do what was asked."""


class EngineStopped(EngineError):
    """The engine has stopped; what was not acknowledged may or may not have happened.

    `cause` is the failure that stopped it, None after an ordinary close.
    """

    def __init__(
        self, message: str = "the engine is closed", cause: BaseException | None = None
    ) -> None:
        super().__init__(message)
        self.cause = cause


class DirectoryLocked(EngineError):
    """Another process has the directory open."""

    def __init__(self, message: str, pid: int = 0, host: str = "") -> None:
        super().__init__(message)
        self.pid = pid
        self.host = host


class DirectoryRefused(EngineError):
    """The path cannot be opened as a Fusee directory; the message says why and what to do."""


class AcknowledgedDataLost(EngineError):
    """The log proves that data acknowledged earlier is gone or damaged; nothing was opened.

    `positions` names each place as "segment file, byte offset, op".
    """

    def __init__(self, message: str, positions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.positions = tuple(positions)


class StorageFull(EngineError):
    """The disk is nearly full: runs in progress may finish, new ones are refused."""


class ForkedEngine(EngineError):
    """The engine was opened before os.fork() and belongs to the parent process."""


class Overloaded(EngineError):
    """Too much is waiting for the disk; nothing was appended, try again later."""


class OutcomeUnknown(EngineError):
    """The call may or may not have taken effect; repeat it with the same `request_id`."""

    def __init__(self, message: str, request_id: str) -> None:
        super().__init__(message)
        self.request_id = request_id


# ---------------------------------------------------------------- start


class StartError(FuseeError):
    """A start was refused; nothing was appended."""


class UnknownWorkflow(StartError):
    """No workflow of this name and version is registered with the engine."""


class AlreadyRunning(StartError):
    """A run with this ID is open. `run` is its handle."""

    def __init__(self, message: str, run: Any = None) -> None:
        super().__init__(message)
        self.run = run


class AlreadyFinished(StartError):
    """A run with this ID has finished and the reuse policy forbids another. `run` is its handle."""

    def __init__(self, message: str, run: Any = None) -> None:
        super().__init__(message)
        self.run = run


class PayloadMismatch(StartError):
    """Arguments do not fit the registered signature."""


# ---------------------------------------------------------------- workflow


class WorkflowError(FuseeError):
    """A run ended without a result, or is not there."""


class RunNotFound(WorkflowError):
    """No run has this ID."""


class WorkflowFinished(WorkflowError):
    """The run has finished; it takes no more messages."""


class WorkflowFailed(WorkflowError):
    """The workflow raised; `__cause__` is its exception, rebuilt."""


class WorkflowCancelled(WorkflowError):
    """The run was cancelled."""


class WorkflowTerminated(WorkflowError):
    """The run was terminated; none of its code ran for it."""


class WorkflowTimedOut(WorkflowError, TimeoutError):
    """The run reached its time limit."""


class RunHeld(WorkflowError):
    """The run cannot move until something changes; `reason` is one of the words of `describe()`."""

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason


# ---------------------------------------------------------------- step


class StepError(FuseeError):
    """A step ended without a result."""


class StepFailed(StepError):
    """A step raised an exception whose class cannot be rebuilt here.

    `type` is the class as "module:qualname", `message` its text.
    """

    def __init__(self, message: str, type: str = "") -> None:
        super().__init__(message)
        self.type = type
        self.message = message


class RetriesExhausted(StepError):
    """The last attempt that the Retry allowed has failed. `last` is its exception."""

    def __init__(self, message: str, attempts: int = 0, last: BaseException | None = None) -> None:
        super().__init__(message)
        self.attempts = attempts
        self.last = last


class StepTimeout(StepError, TimeoutError):
    """One attempt of a step ran longer than its timeout."""


class StepCancelled(StepError):
    """A step was cancelled; with `spontaneous` it raised CancelledError though nobody asked."""

    def __init__(self, message: str, spontaneous: bool = False) -> None:
        super().__init__(message)
        self.spontaneous = spontaneous


# ---------------------------------------------------------------- message


class MessageError(FuseeError):
    """A signal or query could not be delivered or answered."""


class UnknownHandler(MessageError):
    """The run has no handler of this name. `known` lists those it has."""

    def __init__(self, message: str, known: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.known = tuple(known)


class QueryFailed(MessageError):
    """The query handler raised, or its answer cannot be sent; `__cause__` is the exception."""


class Backlogged(MessageError):
    """The run has too many unread signals; this one was not accepted."""


# ---------------------------------------------------------------- payload


class PayloadError(FuseeError):
    """A value could not become bytes, or bytes a value."""


class EncodeError(PayloadError, TypeError):
    """A value cannot be written as a payload; the message names the fix."""


class DecodeError(PayloadError, ValueError):
    """A payload does not fit the type it is read as."""


class PayloadTooLarge(PayloadError):
    """A payload is over the limit. Sizes are in bytes; `where` says which value."""

    def __init__(self, message: str, size: int = 0, limit: int = 0, where: str = "") -> None:
        super().__init__(message)
        self.size = size
        self.limit = limit
        self.where = where


# ---------------------------------------------------------------- code


class CodeError(FuseeError):
    """Workflow code did something that replay cannot follow."""


class NonDeterminism(CodeError):
    """The code called another operation than the journal recorded at this position."""

    def __init__(
        self,
        message: str,
        position: int = 0,
        recorded: str = "",
        called: str = "",
        source: str = "",
    ) -> None:
        super().__init__(message)
        self.position = position
        self.recorded = recorded
        self.called = called
        self.source = source


class IllegalInWorkflow(CodeError):
    """Workflow code used something that belongs into a step: a socket, a thread, a process."""


class ReadOnlyViolation(CodeError):
    """A query handler or read-only step tried to change something."""


# ---------------------------------------------------------------- raised by users


class NonRetryable(Exception):
    """Raise this, or a subclass, in a step to say that another attempt is useless."""


class RetryAfter(Exception):
    """Raise this in a step to set the delay before the next attempt, in seconds."""

    def __init__(self, delay: float, message: str = "") -> None:
        super().__init__(message or f"retry after {delay:g} s")
        self.delay = delay
