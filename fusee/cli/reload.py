"""`fusee dev --reload`: the workflows in a process of their own, started anew when code changes.

    started ──(a file changes)── told to stop, as by Ctrl-C ──(it has ended)── started
       └── could not load the code (2): waits for the next change
       └── ended otherwise: so does this, with the same code

The other process hears of requests to stop through a pipe (stops.py), so it also stops in good
order when this one is killed. One that does not stop is killed in the end, which loses nothing
that was durable: code that blocks its loop is what one edits in such a session.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fusee.cli.exits import CommandFailed, ExitCode
from fusee.cli.loading import split_target

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Iterable, Sequence

    Changes = AsyncIterator[set[tuple[object, str]]]

KILL_AFTER_S = 5.0
"""How much longer than a close may take the other process gets before it is killed."""
KILL_REQUESTS = 3
"""The so-manieth request to stop kills the other process, whatever it does."""
_WORDS = ("stopping", "cutting off what runs; once more kills it")
_DEBOUNCE_MS = 300
_NAMES_MAX = 3


def run_reloading(arguments: Sequence[str], target: str, drain_s: float) -> int:
    """Run `fusee dev` with these arguments, again after each change; return its exit code."""
    try:
        watchfiles = importlib.import_module("watchfiles")
    except ImportError as error:
        text = f"--reload needs another package ({error}): pip install 'fusee[reload]'"
        raise CommandFailed(ExitCode.USAGE, text) from error
    places = places_of(target)

    async def main() -> int:
        changes = watchfiles.awatch(
            *places,
            watch_filter=watchfiles.PythonFilter(),
            debounce=_DEBOUNCE_MS,
            ignore_permission_denied=True,
        )
        kill_after_s = 1.5 * drain_s + KILL_AFTER_S
        return await _Reloader([*arguments, target], places, changes, kill_after_s).run()

    return asyncio.run(main())


def places_of(target: str) -> list[Path]:
    """Return the directories whose files are watched: this one, and where the module lies."""
    here = Path.cwd()
    name = split_target(target)[0].partition(".")[0]
    spec = None
    with suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(name)
    found = list(spec.submodule_search_locations or ()) if spec is not None else []
    if spec is not None and not found and spec.has_location and spec.origin is not None:
        found = [os.path.dirname(spec.origin)]
    places = [Path(place).resolve() for place in found]
    return [here, *(p for p in places if not p.is_relative_to(here) and p.is_dir())]


class _Reloader:
    """One session: who watches, who runs, and who was asked to stop how often."""

    def __init__(
        self, arguments: list[str], places: list[Path], changes: Changes, kill_after_s: float
    ) -> None:
        self._arguments = arguments
        self._places = places
        self._changes = changes
        self._kill_after_s = kill_after_s
        self._child: _Child | None = None
        self._has_changed = False
        self._requests = 0
        self._news = asyncio.Event()
        self._failure: BaseException | None = None

    async def run(self) -> int:
        """Go on until told to stop, or until the other process ends by itself."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_request)
        _say(f"watching {', '.join(map(str, self._places))} (pid {os.getpid()})")
        watching = loop.create_task(self._watch())
        try:
            while True:
                code = await self._live()
                if self._failure is not None:
                    text = f"watching {self._places[0]} failed: {self._failure}"
                    raise CommandFailed(ExitCode.FAILED, text)
                if self._requests:
                    return code
                if not self._has_changed:
                    if code != ExitCode.USAGE:
                        return code
                    _say("waiting for a change")
                    await self._news.wait()
                    if self._requests:
                        return ExitCode.OK
        finally:
            watching.cancel()
            await asyncio.wait([watching])

    async def _live(self) -> int:
        """Start the other process and wait for its end; return its exit code."""
        self._has_changed = False
        self._news.clear()
        child = self._child = await _Child.start(self._arguments, self._kill_after_s)
        self._act()
        try:
            return await child.ended()
        finally:
            self._child = None

    def _act(self) -> None:
        """Let the other process know what it has to know."""
        if self._child is None:
            return
        if self._requests >= KILL_REQUESTS:
            self._child.kill()
        if self._requests or self._has_changed:
            self._child.ask(max(1, self._requests))

    # ------------------------------------------------------------ what happens

    def _on_request(self) -> None:
        self._requests += 1
        if self._child is not None and self._requests < KILL_REQUESTS:
            _say(_WORDS[self._requests - 1])
        self._news.set()
        self._act()

    async def _watch(self) -> None:
        try:
            async for found in self._changes:
                _say(f"{_named(path for _, path in found)} changed")
                self._has_changed = True
                self._news.set()
                self._act()
        except Exception as error:
            self._failure = error
            self._on_request()


class _Child:
    """The process that runs the workflows."""

    def __init__(self, process: Process, pipe_fd: int, kill_after_s: float) -> None:
        self._process = process
        self._pipe_fd = pipe_fd
        self._kill_after_s = kill_after_s
        self._asked = 0
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    async def start(cls, arguments: Sequence[str], kill_after_s: float) -> _Child:
        """Start it; it inherits what this process reads and prints."""
        reader, writer = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "fusee.cli", "dev", "--stop-fd", str(reader), *arguments),
                pass_fds=(reader,),
            )
        except BaseException:
            os.close(writer)
            raise
        finally:
            os.close(reader)
        return cls(process, writer, kill_after_s)

    def ask(self, requests: int) -> None:
        """Ask it to stop, so many times in all; and kill it if it has not long after the first."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._kill_after_s, self.kill)
        missing = requests - self._asked
        if missing > 0:
            self._asked = requests
            with suppress(BrokenPipeError):
                os.write(self._pipe_fd, bytes(missing))

    def kill(self) -> None:
        """End it at once, as a crash would."""
        if self._process.returncode is None:
            text = "did not stop and is killed; what it had not recorded runs again"
            _say(f"pid {self._process.pid} {text}")
            self._process.kill()

    async def ended(self) -> int:
        """Wait for its end; return its exit code, as a shell would tell it."""
        code = await self._process.wait()
        if self._timer is not None:
            self._timer.cancel()
        os.close(self._pipe_fd)
        return code if code >= 0 else 128 - code


def _named(paths: Iterable[str]) -> str:
    names = sorted({os.path.relpath(path) for path in paths})
    more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
    return ", ".join(names[:_NAMES_MAX]) + more


def _say(text: str) -> None:
    click.echo(f"reload: {text}", err=True)
