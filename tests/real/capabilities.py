"""What this machine offers to the real-process tests. `python -m tests.real.capabilities` lists it.

Each answer is found by looking, and in doubt by trying; a test that needs what is not there
skips with the reason found here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import pytest

_TRY_S = 20.0


def _linux() -> str:
    return "" if sys.platform == "linux" else f"this is {sys.platform}, not Linux"


def _root() -> str:
    return _linux() or ("" if os.geteuid() == 0 else "not root")


def _program(name: str) -> Callable[[], str]:
    return lambda: "" if found(name) else f"no {name} on the PATH (or in /sbin, /usr/sbin)"


def found(name: str) -> str | None:
    """Return where a program is, also where only root usually looks."""
    return shutil.which(name) or shutil.which(name, path="/sbin:/usr/sbin")


def _strace() -> str:
    """Injection also needs the right to trace, which containers take away."""
    missing = _linux() or _program("strace")()
    if missing:
        return missing
    inject = "inject=fchdir:error=ENOSPC:when=1"
    script = "import os\ntry: os.fchdir(0)\nexcept OSError as e: raise SystemExit(e.errno)"
    tried = subprocess.run(
        ["strace", "-qq", "-o", "/dev/null", "-e", inject, sys.executable, "-c", script],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=_TRY_S,
        check=False,
        text=True,
    )
    if tried.returncode == 28:
        return ""
    return f"strace cannot inject here: {tried.stderr.strip() or tried.returncode}"


def _fuse() -> str:
    missing = _root()
    if missing:
        return missing
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse: {error.strerror}"
    known = Path("/proc/filesystems").read_text()
    return "" if "\tfuse\n" in known else "the kernel has no FUSE"


def _loop() -> str:
    missing = _root() or _program("losetup")()
    if missing:
        return missing
    tried = subprocess.run(
        [found("losetup") or "losetup", "--find"],
        capture_output=True,
        timeout=_TRY_S,
        check=False,
        text=True,
    )
    return "" if tried.returncode == 0 else f"no loop device: {tried.stderr.strip()}"


def _ext4() -> str:
    missing = _root() or _program("mkfs.ext4")()
    if missing:
        return missing
    return "" if "\text4\n" in Path("/proc/filesystems").read_text() else "the kernel has no ext4"


Checks = Mapping[str, Callable[[], str]]
"""Each returns why something is not there, empty if it is."""

CHECKS: Checks = {
    "linux": _linux,
    "root": _root,
    "strace": cache(_strace),
    "fuse": _fuse,
    "loop": cache(_loop),
    "ext4": _ext4,
}


def missing(name: str, checks: Checks = CHECKS) -> str:
    """Return why something is not there, empty if it is."""
    try:
        return checks[name]()
    except (OSError, subprocess.SubprocessError) as error:
        return f"looking for it failed: {error}"


def why_not(*names: str, checks: Checks = CHECKS) -> str:
    """Return why something that needs all of these cannot run here, empty if it can."""
    reasons = {name: missing(name, checks) for name in names}
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if reason)


def needs(*names: str, checks: Checks = CHECKS) -> pytest.MarkDecorator:
    """Skip a test, with the reason, where the machine lacks something."""
    reason = why_not(*names, checks=checks)
    return pytest.mark.skipif(bool(reason), reason=reason or "everything is there")


def report() -> str:
    """List everything and whether it is there."""
    return "\n".join(f"{name:8} {missing(name) or 'yes'}" for name in CHECKS)


if __name__ == "__main__":
    print(report())
