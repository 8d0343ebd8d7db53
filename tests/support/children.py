"""Programs run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def command(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-W", "error", "-m", module, *arguments]


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **variables}


def run(module: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a module to its end."""
    return subprocess.run(
        command(module, *arguments),
        env=environment(**variables),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def begin(module: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Begin a module and return its process."""
    return subprocess.Popen(
        command(module, *arguments),
        env=environment(**variables),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
