"""Processes that own a directory, played by a thread of this one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import contextmanager

from fusee import Engine
from fusee.admin.messages import OwnerInfo
from fusee.admin.server import AdminServer
from tests.support import dev_shop as shop


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def call(self, make: Callable[[], Awaitable]):
        """Run a coroutine there; return what it returns."""

        async def run():
            return await make()

        return self.begin(run).result(30)

    def begin(self, make) -> Future:
        return asyncio.run_coroutine_threadsafe(make(), self.loop)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(30)
        self.loop.close()


class LiveEngine:
    """An engine in another thread: whoever asks it has to go through its socket."""

    def __init__(self, directory, workflows=None):
        self.thread = Loop()
        self.engine = Engine.open(directory, workflows=workflows or shop.workflows, drain=0.05)
        try:
            self.thread.call(self.engine.__aenter__)
        except BaseException:
            self.thread.close()
            raise

    def call(self, make):
        return self.thread.call(make)

    def start(self, workflow, workflow_id, *args):
        return self.call(lambda: self.engine.start(workflow, workflow_id, *args))

    def until_waiting(self, workflow_id, position):
        """Return once an operation of a run waits for the world."""

        async def look():
            info = await self.engine.get("", workflow_id).describe()
            return position in {p.position for p in info.pending}

        self._until(look)

    def until_held(self, workflow_id):
        async def look():
            return (await self.engine.get("", workflow_id).describe()).held is not None

        self._until(look)

    def _until(self, claim):
        # Each look lets the engine's loop turn; the test's own timeout bounds it.
        while not self.call(claim):
            pass

    def close(self):
        self.call(self.engine.close)
        self.thread.close()


@contextmanager
def live(directory, workflows=None):
    owner = LiveEngine(directory, workflows)
    try:
        yield owner
    finally:
        owner.close()


class StrangeTarget:
    """An engine in a state that is hard to bring about: each call does what the test says."""

    def __init__(self, act, check_usable=lambda: None):
        self._act = act
        self.check_usable = check_usable

    def info(self):
        return OwnerInfo(1, "0", [], 0, 0)

    async def runs(self, wanted):
        return await self._act()

    async def show(self, workflow_id, ordinal):
        return await self._act()

    async def signal(self, workflow_id, ordinal, name, payload, signal_id):
        return await self._act()

    async def query(self, workflow_id, ordinal, name, payload):
        return await self._act()


@contextmanager
def strange(directory, act, check_usable=lambda: None, **options):
    """A socket in the directory behind which every call is `act`."""
    thread = Loop()

    async def open_it():
        server = AdminServer(directory, StrangeTarget(act, check_usable), **options)
        server.open()
        return server

    try:
        server = thread.call(open_it)
        try:
            yield server
        finally:
            thread.call(server.close)
    finally:
        thread.close()
