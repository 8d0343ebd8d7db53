"""Fusee: durable execution at the speed of the disk.

Workflows are ordinary `async def` functions; a log next to the process makes each
step's result durable before the next step's function may run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from fusee.base.errors import AcknowledgedDataLost as AcknowledgedDataLost
    from fusee.base.errors import AlreadyFinished as AlreadyFinished
    from fusee.base.errors import AlreadyRunning as AlreadyRunning
    from fusee.base.errors import Backlogged as Backlogged
    from fusee.base.errors import CodeError as CodeError
    from fusee.base.errors import DecodeError as DecodeError
    from fusee.base.errors import DirectoryLocked as DirectoryLocked
    from fusee.base.errors import DirectoryRefused as DirectoryRefused
    from fusee.base.errors import EncodeError as EncodeError
    from fusee.base.errors import EngineError as EngineError
    from fusee.base.errors import EngineStopped as EngineStopped
    from fusee.base.errors import ForkedEngine as ForkedEngine
    from fusee.base.errors import FuseeError as FuseeError
    from fusee.base.errors import IllegalInWorkflow as IllegalInWorkflow
    from fusee.base.errors import MessageError as MessageError
    from fusee.base.errors import NonDeterminism as NonDeterminism
    from fusee.base.errors import NonRetryable as NonRetryable
    from fusee.base.errors import OutcomeUnknown as OutcomeUnknown
    from fusee.base.errors import Overloaded as Overloaded
    from fusee.base.errors import PayloadError as PayloadError
    from fusee.base.errors import PayloadMismatch as PayloadMismatch
    from fusee.base.errors import PayloadTooLarge as PayloadTooLarge
    from fusee.base.errors import QueryFailed as QueryFailed
    from fusee.base.errors import ReadOnlyViolation as ReadOnlyViolation
    from fusee.base.errors import RetriesExhausted as RetriesExhausted
    from fusee.base.errors import RetryAfter as RetryAfter
    from fusee.base.errors import RunHeld as RunHeld
    from fusee.base.errors import RunNotFound as RunNotFound
    from fusee.base.errors import StartError as StartError
    from fusee.base.errors import StepCancelled as StepCancelled
    from fusee.base.errors import StepError as StepError
    from fusee.base.errors import StepFailed as StepFailed
    from fusee.base.errors import StepTimeout as StepTimeout
    from fusee.base.errors import StorageFull as StorageFull
    from fusee.base.errors import UnknownHandler as UnknownHandler
    from fusee.base.errors import UnknownWorkflow as UnknownWorkflow
    from fusee.base.errors import WorkflowCancelled as WorkflowCancelled
    from fusee.base.errors import WorkflowError as WorkflowError
    from fusee.base.errors import WorkflowFailed as WorkflowFailed
    from fusee.base.errors import WorkflowFinished as WorkflowFinished
    from fusee.base.errors import WorkflowTerminated as WorkflowTerminated
    from fusee.base.errors import WorkflowTimedOut as WorkflowTimedOut
    from fusee.embed.engine import Engine as Engine
    from fusee.embed.handle import Run as Run
    from fusee.engine.views import JournalEntry as JournalEntry
    from fusee.engine.views import RunInfo as RunInfo
    from fusee.engine.views import RunStatus as RunStatus
    from fusee.record.failure import is_error as is_error
    from fusee.sdk.context import Context as Context
    from fusee.sdk.current import StepContext as StepContext
    from fusee.sdk.current import current_step as current_step
    from fusee.sdk.messages import Query as Query
    from fusee.sdk.messages import Signal as Signal
    from fusee.sdk.op import Op as Op
    from fusee.sdk.retry import Retry as Retry
    from fusee.sdk.step import step as step
    from fusee.sdk.workflow import Workflow as Workflow
    from fusee.sdk.workflow import workflow as workflow

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

    home = _HOME_OF.get(name, "fusee.base.errors")
    value = getattr(importlib.import_module(home), name, None)
    if value is None or name.startswith("_"):
        raise AttributeError(f"module 'fusee' has no attribute {name!r}")
    globals()[name] = value
    return value
