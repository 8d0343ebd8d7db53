"""Fusee: durable execution at the speed of the disk.

Workflows are ordinary `async def` functions; a log next to the process makes each
step's result durable before the next step's function may run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fusee.base.errors import (
        AcknowledgedDataLost,
        AlreadyFinished,
        AlreadyRunning,
        Backlogged,
        CodeError,
        DecodeError,
        DirectoryLocked,
        DirectoryRefused,
        EncodeError,
        EngineError,
        EngineStopped,
        ForkedEngine,
        FuseeError,
        IllegalInWorkflow,
        MessageError,
        NonDeterminism,
        NonRetryable,
        OutcomeUnknown,
        Overloaded,
        PayloadError,
        PayloadMismatch,
        PayloadTooLarge,
        QueryFailed,
        ReadOnlyViolation,
        RetriesExhausted,
        RetryAfter,
        RunHeld,
        RunNotFound,
        StartError,
        StepCancelled,
        StepError,
        StepFailed,
        StepTimeout,
        StorageFull,
        UnknownHandler,
        UnknownWorkflow,
        WorkflowCancelled,
        WorkflowError,
        WorkflowFailed,
        WorkflowFinished,
        WorkflowTerminated,
        WorkflowTimedOut,
    )
    from fusee.embed.engine import Engine
    from fusee.embed.handle import Run
    from fusee.engine.views import JournalEntry, RunInfo, RunStatus
    from fusee.record.failure import is_error
    from fusee.sdk.context import Context
    from fusee.sdk.current import StepContext, current_step
    from fusee.sdk.messages import Query, Signal
    from fusee.sdk.op import Op
    from fusee.sdk.retry import Retry
    from fusee.sdk.step import step
    from fusee.sdk.workflow import Workflow, workflow

__all__ = [
    "AcknowledgedDataLost",
    "AlreadyFinished",
    "AlreadyRunning",
    "Backlogged",
    "CodeError",
    "Context",
    "DecodeError",
    "DirectoryLocked",
    "DirectoryRefused",
    "EncodeError",
    "Engine",
    "EngineError",
    "EngineStopped",
    "ForkedEngine",
    "FuseeError",
    "IllegalInWorkflow",
    "JournalEntry",
    "MessageError",
    "NonDeterminism",
    "NonRetryable",
    "Op",
    "OutcomeUnknown",
    "Overloaded",
    "PayloadError",
    "PayloadMismatch",
    "PayloadTooLarge",
    "Query",
    "QueryFailed",
    "ReadOnlyViolation",
    "RetriesExhausted",
    "Retry",
    "RetryAfter",
    "Run",
    "RunHeld",
    "RunInfo",
    "RunNotFound",
    "RunStatus",
    "Signal",
    "StartError",
    "StepCancelled",
    "StepContext",
    "StepError",
    "StepFailed",
    "StepTimeout",
    "StorageFull",
    "UnknownHandler",
    "UnknownWorkflow",
    "Workflow",
    "WorkflowCancelled",
    "WorkflowError",
    "WorkflowFailed",
    "WorkflowFinished",
    "WorkflowTerminated",
    "WorkflowTimedOut",
    "current_step",
    "is_error",
    "step",
    "workflow",
]

_HOMES = {
    "fusee.embed.engine": ("Engine",),
    "fusee.embed.handle": ("Run",),
    "fusee.engine.views": ("JournalEntry", "RunInfo", "RunStatus"),
    "fusee.record.failure": ("is_error",),
    "fusee.sdk.context": ("Context",),
    "fusee.sdk.current": ("StepContext", "current_step"),
    "fusee.sdk.messages": ("Query", "Signal"),
    "fusee.sdk.op": ("Op",),
    "fusee.sdk.retry": ("Retry",),
    "fusee.sdk.step": ("step",),
    "fusee.sdk.workflow": ("Workflow", "workflow"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: importing fusee alone costs nothing more."""
    import importlib

    if name not in __all__:
        raise AttributeError(f"module 'fusee' has no attribute {name!r}")
    home = importlib.import_module(_HOME_OF.get(name, "fusee.base.errors"))
    value = globals()[name] = getattr(home, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
