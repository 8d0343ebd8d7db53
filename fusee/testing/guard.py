"""The guard: code in the simulator that reaches for the real world is stopped and named.

A socket, a thread, a process, a sleep or a clock is another one in every run of a seed. What
goes through the event loop is refused there (`fusee.testing.host_loop`); the rest is seen here:

- Python's audit events tell of sockets and processes, and from 3.13 on of threads and sleeps,
  whoever calls; before that, `time.sleep` and `Thread.start` are replaced while a world runs;
- so are the clocks of the module `time`, which refuse callers that are neither of the standard
  library, nor of Fusee, nor of an installed package. A function that was imported by name
  before (`from time import time`) is not replaced, and `datetime.now()` cannot be without
  another type in place of `datetime`, which pydantic and others would see.

Only the thread in which the world runs is watched: time limits of tests live in others.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import time
from contextlib import contextmanager
from threading import Thread, current_thread, get_ident, main_thread
from typing import TYPE_CHECKING, Any, NoReturn

from fusee.loop.illegal import user_line
from fusee.loop.workflow_loop import in_workflow_code
from fusee.sdk.current import CURRENT

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_CLOCKS = (
    "time",
    "time_ns",
    "monotonic",
    "monotonic_ns",
    "perf_counter",
    "perf_counter_ns",
    "process_time",
    "process_time_ns",
    "thread_time",
    "thread_time_ns",
)
_EVENTS = {
    "_thread.start_new_thread": "a thread",
    "_thread.start_joinable_thread": "a thread",
    "time.sleep": "time.sleep()",
    "subprocess.Popen": "a subprocess",
    "os.system": "a subprocess",
    "os.exec": "a subprocess",
    "os.spawn": "a subprocess",
    "os.posix_spawn": "a subprocess",
    "os.fork": "a subprocess",
    "os.forkpty": "a subprocess",
    "pty.spawn": "a subprocess",
}
_STDLIB = os.path.dirname(os.__file__) + os.sep
_FUSEE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class NotSimulated(RuntimeError):
    """Code in the simulator reached for the real world: a socket, a thread, a clock."""


def _never() -> bool:
    return False


class Guard:
    """What one world's code reached for."""

    def __init__(self, is_mute: Callable[[], bool] = _never) -> None:
        self.is_mute = is_mute
        """Whether code runs that no real process would run: it is stopped, and not blamed."""
        self.refused: list[NotSimulated] = []
        """Every refusal, also those that the code swallowed."""
        self.paused = 0
        """Above 0 while modules are imported: what they do then is not part of the run."""
        self._thread = 0

    @property
    def watches(self) -> bool:
        """Whether the present code is watched."""
        return not self.paused and self._thread == get_ident()

    @contextmanager
    def watching(self, interrupt: Callable[[BaseException], None]) -> Generator[None, None, None]:
        """Watch what runs in this thread meanwhile. `interrupt` hears of a time limit's end."""
        if _guards:
            raise RuntimeError("a simulator runs within a simulator: let the first one end")
        _install_hook()
        self._thread = get_ident()
        _guards.append(self)
        try:
            with _replaced(), _alarm_heard(interrupt):
                yield
        finally:
            _guards.remove(self)

    @contextmanager
    def pause(self) -> Generator[None, None, None]:
        """Let what runs meanwhile do as it likes."""
        self.paused += 1
        try:
            yield
        finally:
            self.paused -= 1


@contextmanager
def _replaced() -> Generator[None, None, None]:
    """Put functions that refuse in place of those that no audit event tells of."""
    real: list[tuple[Any, str, Any]] = [
        (time, name, getattr(time, name)) for name in _CLOCKS if hasattr(time, name)
    ]
    ours = [_clock(name, clock) for _, name, clock in real]
    for owner, name, what in ((time, "sleep", "time.sleep()"), (Thread, "start", "a thread")):
        real.append((owner, name, getattr(owner, name)))
        ours.append(_refusing(what, getattr(owner, name)))
    for (owner, name, _), function in zip(real, ours, strict=True):
        setattr(owner, name, function)
    try:
        yield
    finally:
        for owner, name, function in real:
            setattr(owner, name, function)


@contextmanager
def _alarm_heard(interrupt: Callable[[BaseException], None]) -> Generator[None, None, None]:
    """Let a test's time limit end the world, although code in it may catch what is raised."""
    number = getattr(signal, "SIGALRM", None)
    if number is None or current_thread() is not main_thread():
        yield
        return
    handler: Any = signal.getsignal(number)
    if not callable(handler):
        yield
        return

    def ring(*args: Any) -> None:
        try:
            handler(*args)
        except BaseException as error:
            interrupt(error)
            raise

    signal.signal(number, ring)
    try:
        yield
    finally:
        if signal.getsignal(number) is ring:
            signal.signal(number, handler)


_guards: list[Guard] = []
"""The guard of the world that runs, if one does."""
_hooks: list[Callable[..., None]] = []


def not_simulated(what: str) -> NoReturn:
    """Refuse what the code did, naming the user's line and what to do instead."""
    line = user_line()
    where = f" at {line}" if line else ""
    if in_workflow_code():
        text = f"{what} in workflow code{where}; {_instead(what)}, or move it into ctx.step(...)"
    elif CURRENT.get(None) is not None:
        text = (
            f"{what} in a step{where}; the simulator has no real world: give the step a stub with "
            "sim.stub(step, function), which may ask sim.now()"
        )
    else:
        text = (
            f"{what} in the simulator{where}; the simulator has no real world: use sim.now() and "
            "`await sim.advance(...)`, or do it before or after sim.run(...)"
        )
    error = NotSimulated(text)
    for guard in _guards:
        if not guard.is_mute():
            guard.refused.append(error)
    raise error


def _instead(what: str) -> str:
    if what == "time.sleep()":
        return "use `await ctx.sleep(...)`"
    return "use ctx.now()" if what.startswith("time.") else "replays would differ in it"


def _install_hook() -> None:
    """Hooks cannot be taken out again; without a world ours returns at once."""
    if not _hooks:
        _hooks.append(_audit)
        sys.addaudithook(_audit)


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if not _guards:
        return
    what = "a socket" if event.startswith("socket.") else _EVENTS.get(event)
    if what is not None and _guards[0].watches:
        not_simulated(what)


def _clock(name: str, real: Callable[[], Any]) -> Callable[[], Any]:
    @functools.wraps(real)
    def clock() -> Any:
        if _guards and _guards[0].watches:
            path = sys._getframe(1).f_code.co_filename  # pyright: ignore[reportPrivateUsage]
            if not _is_ours(path):
                not_simulated(f"time.{name}()")
        return real()

    return clock


def _refusing(what: str, real: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(real)
    def refusing(*args: Any, **kwargs: Any) -> Any:
        if _guards and _guards[0].watches:
            not_simulated(what)
        return real(*args, **kwargs)

    return refusing


def _is_ours(path: str) -> bool:
    """Whether a file is not the user's: the interpreter's, ours, or an installed package's."""
    if path.startswith((_STDLIB, _FUSEE, "<frozen")):
        return True
    return any(part in path for part in _INSTALLED)
