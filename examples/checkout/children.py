"""The demo's other processes. None of them outlives the demo, however it ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from examples.checkout.payment_client import URL_VARIABLE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

ROOT = Path(__file__).parents[2]


@asynccontextmanager
async def child(module: str, *args: str, payments: str = "") -> AsyncGenerator[Process, None]:
    """Run a module of this package; kill it on the way out."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"examples.checkout.{module}",
        *args,
        cwd=ROOT,
        env=os.environ | {URL_VARIABLE: payments},
        stdin=PIPE,  # Kept open: a child whose input ends knows that we are gone.
        stdout=PIPE,
        start_new_session=True,  # Ctrl-C is for us; what happens to them we decide.
    )
    try:
        yield process
    finally:
        kill(process)
        await process.wait()


def kill(process: Process) -> None:
    """SIGKILL: no handler, no cleanup, no goodbye."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
