"""The pump: what the engine does in one iteration of the application's loop.

    timers due -> ready turns (at most 64) -> one flush -> gates open, step functions start

The flush comes after every ready turn, so one write carries all of an iteration's turns;
what the opened gates start is next iteration's work. On an instant device the round repeats
within the iteration until the turns are used up. The pump runs only when there is
something to do: `wake` schedules it once.
"""

from __future__ import annotations

import asyncio
from asyncio import _set_running_loop
from typing import TYPE_CHECKING

from fusee.engine.turns import fire_timers, run_turns
from fusee.loop.asyncgens import AsyncgenHooks

if TYPE_CHECKING:
    from collections.abc import Callable

    from fusee.engine.core import Core
    from fusee.node.local_node import LocalNode


class Pump:
    """Turns one engine on the application's loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        core: Core,
        node: LocalNode,
        *,
        yield_gil: Callable[[], None],
        seal_delay_s: float,
        clock_look_s: float,
        turns_max: int,
        on_turned: Callable[[], None],
    ) -> None:
        self.iterations = 0
        self._hooks = AsyncgenHooks()
        self._loop = loop
        self._core = core
        self._node = node
        self._yield_gil = yield_gil
        self._seal_delay_s = seal_delay_s
        self._clock_look_s = clock_look_s
        self._turns_max = turns_max
        self._on_turned = on_turned
        self._scheduled = False
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due_us = 0
        self._seal: asyncio.TimerHandle | None = None
        self._sealed_at_batch = 0

    def wake(self) -> None:
        """Run soon, on the application's loop. Called there only."""
        if not self._scheduled and not self._closed:
            self._scheduled = True
            self._loop.call_soon(self._run)

    def close(self) -> None:
        """Never run again."""
        self._closed = True
        self._hooks.restore()
        for handle in (self._timer, self._seal):
            if handle is not None:
                handle.cancel()

    def _run(self) -> None:
        if self._closed:
            return
        self.iterations += 1
        self._hooks.ensure()
        try:
            self._iterate()
        except BaseException as error:
            # A failed assert, a bug, Ctrl-C inside workflow code: nothing may commit after it.
            self._node.stop(error)
            if not isinstance(error, Exception):
                raise

    def _iterate(self) -> None:
        core, node = self._core, self._node
        ready, timers = core.ready, core.timers
        is_instant = node.storage.is_instant
        turns_left = self._turns_max
        core.turning = True
        while True:
            if timers.live:
                fire_timers(core, self._turns_max)
            # At least one a round: retries without delay go round without any turn.
            turns_left -= max(1, self._turn(turns_left))
            if core.starting:
                while core.starting:
                    core.start(core.starting.popleft())
                if ready and turns_left > 0:
                    continue  # What read-only steps brought may share this flush.
            flushed = node.flush()
            if not is_instant or turns_left <= 0 or core.draining or not (ready or flushed):
                break
        core.turning = self._scheduled = False
        if timers.live:
            self._arm_timer()
        if (ready and not core.draining and not node.is_full) or node.can_flush:
            self.wake()
        elif not is_instant and self._seal is None:
            self._arm_seal()
        self._on_turned()

    def _turn(self, turns_max: int) -> int:
        """Run ready turns; each leaves its run's loop current, which ends here."""
        core = self._core
        try:
            if not self._node.busy:
                return run_turns(core, turns_max)
            turns = 0
            while turns < turns_max and run_turns(core, 1):
                turns += 1
                self._yield_gil()
            return turns
        finally:
            _set_running_loop(self._loop)

    # ------------------------------------------------------------ timers

    def _arm_timer(self) -> None:
        due_us = self._core.timers.next_due_us()
        if due_us is None or (self._timer is not None and self._timer_due_us <= due_us):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due_us = due_us
        # Due times are wall-clock times: somebody may set the clock meanwhile.
        delay_s = (due_us - self._core.log.now_us()) / 1e6
        self._timer = self._loop.call_later(
            min(max(delay_s, 0.0), self._clock_look_s), self._timer_rang
        )

    def _timer_rang(self) -> None:
        self._timer = None
        self.wake()

    # ------------------------------------------------------------ seals

    def _arm_seal(self) -> None:
        self._sealed_at_batch = self._node.batches_written
        self._seal = self._loop.call_later(self._seal_delay_s, self._seal_due)

    def _seal_due(self) -> None:
        """Seal when nothing was written since the delay began; else begin a new delay."""
        self._seal = None
        if self._closed:
            return
        if self._node.batches_written != self._sealed_at_batch:
            self._arm_seal()
        else:
            self._node.seal_if_idle()
