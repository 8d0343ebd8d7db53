"""Functions of asyncio that do as on a later Python within runs, and as always elsewhere.

A loop has no say in what `wait_for` or `gather` do between its calls, so the function itself
has to choose. Users hold it by many names (`from asyncio import wait_for`), hence its code
is exchanged, not a module's attribute.
"""

from __future__ import annotations

import asyncio
import asyncio.tasks
from asyncio import _get_running_loop
from types import FunctionType
from typing import TYPE_CHECKING, Any

from fusee.loop.workflow_loop import WorkflowLoop

if TYPE_CHECKING:
    from collections.abc import Callable


def exchange(name: str, entry: Callable[..., Any], in_runs: Callable[..., Any]) -> None:
    """Let `asyncio.tasks.<name>` be `in_runs` within runs; once or many times.

    `entry` has the parameters of the function and runs with the globals of `asyncio.tasks`:
    it calls `_fusee_<name>()`, which returns the function that serves, with what it got.
    """
    choice = f"_fusee_{name}"
    if hasattr(asyncio.tasks, choice):
        return
    function: Any = getattr(asyncio.tasks, name)
    plain = FunctionType(
        function.__code__, function.__globals__, name, function.__defaults__, function.__closure__
    )
    plain.__kwdefaults__ = function.__kwdefaults__

    def choose() -> Callable[..., Any]:
        return in_runs if isinstance(_get_running_loop(), WorkflowLoop) else plain

    setattr(asyncio.tasks, choice, choose)
    code: Any = entry.__code__
    function.__code__ = code.replace(co_name=name, co_qualname=name)
