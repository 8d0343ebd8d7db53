"""Drives the demo: works through the orders, kills the engine on the way, proves the outcome.

    payments  <--- HTTP ---  worker 1, killed
       |                     worker 2, killed ...      one data directory
       v                     worker n, finishes
    its log  --->  proofs

Exit code 0 when every proof holds, 1 when one does not or the demo broke, 130 on Ctrl-C.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from examples.checkout import cost, orders, proofs
from examples.checkout.children import child, kill
from examples.checkout.screen import Screen

KILL_AT = (0.12, 0.3, 0.5, 0.7, 0.7)
"""Parts of the orders done. The last comes at once after the restart, while runs still resume."""
DEADLINE_S = 60.0
VIOLATIONS_SHOWN = 5


class DemoBroken(Exception):
    """Something other than a proof failed; the text says what."""


@dataclass
class Progress:
    """What the workers have said so far."""

    shipped: dict[str, bool] = field(default_factory=dict[str, bool])
    failed: set[str] = field(default_factory=set[str])
    begun: set[str] = field(default_factory=set[str])

    @property
    def in_flight(self) -> int:
        return len(self.begun) - self.ended

    @property
    def ended(self) -> int:
        return len(self.shipped) + len(self.failed)


@dataclass
class Demo:
    """One run of the demo in one directory."""

    directory: Path
    orders: list[str]
    screen: Screen
    progress: Progress = field(default_factory=Progress)

    @property
    def log(self) -> Path:
        return self.directory / "payments.jsonl"

    async def work(self) -> None:
        """Run workers until one of them finishes; all but the last are killed."""
        begun = time.monotonic()
        async with child("payments", str(self.log)) as payments:
            assert payments.stdout is not None
            url = (await payments.stdout.readline()).decode().strip()
            self.screen.say(f"payment service  pid {payments.pid}, {url}")
            for life, part in enumerate((*KILL_AT, None), start=1):
                await self.live(life, url, part)
        shipped = sum(self.progress.shipped.values())
        self.screen.close()
        self.screen.say(
            f"worker {len(KILL_AT) + 1}         finished: {shipped} orders shipped, "
            f"{len(self.progress.shipped) - shipped} refunded, {len(self.progress.failed)} failed; "
            f"{time.monotonic() - begun:.1f} s with {len(KILL_AT)} workers killed"
        )

    async def live(self, life: int, url: str, kill_at: float | None) -> None:
        """One life of a worker, ended by SIGKILL when that part of the orders is done."""
        limit = len(self.orders) * kill_at if kill_at is not None else float("inf")
        joined = 0
        async with child("worker", str(self.directory / "data"), payments=url) as worker:
            assert worker.stdout is not None
            async for line in worker.stdout:
                event = json.loads(line)
                joined += event["event"] == "joined"
                self.notice(life, worker.pid, event)
                if self.progress.ended >= limit:
                    kill(worker)
                    resumed = f"; it had resumed {joined}" if life > 1 else ""
                    in_flight = f"{self.progress.in_flight} orders in flight"
                    self.screen.say(f"worker {life}         SIGKILL with {in_flight}{resumed}")
                    return
            if await worker.wait() != 0:
                raise DemoBroken(f"worker {life} ended by itself with code {worker.returncode}")

    def notice(self, life: int, pid: int, event: dict[str, object]) -> None:
        """Keep count of what a worker says."""
        order = str(event.get("order", ""))
        match event["event"]:
            case "open":
                after = f"{self.progress.ended} orders done, {self.progress.in_flight} to resume"
                self.screen.say(
                    f"worker {life}         pid {pid}, engine open after {event['ms']} ms"
                    + (f"; {after}" if life > 1 else "")
                )
            case "done":
                self.progress.begun.add(order)
                self.progress.shipped[order] = bool(event["shipped"])
            case "failed":
                self.progress.begun.add(order)
                if order not in self.progress.failed:
                    self.screen.say(f"{order} failed: {event['text']}")
                self.progress.failed.add(order)
            case _:
                self.progress.begun.add(order)
        note = f"{self.progress.in_flight} in flight, worker {life}"
        self.screen.progress(self.progress.ended, note)

    def prove(self) -> bool:
        """Ask the payment service's log."""
        calls = proofs.read_calls(self.log.read_text().splitlines())
        failed = sum(call.status != 200 for call in calls)
        repeated = sum(call.repeat for call in calls)
        self.screen.say(
            f"\nfrom the payment service's own log: {len(calls):,} calls, {failed} that it failed, "
            f"{repeated} repeated with a key it knew"
        )
        results = proofs.prove(self.orders, calls)
        for proof in results:
            verdict = f"{len(proof.violations)} VIOLATIONS" if proof.violations else "ok"
            self.screen.say(f"  {proof.claim:26}{proof.checked:>14}   {verdict}")
            for text in proof.violations[:VIOLATIONS_SHOWN]:
                self.screen.say(f"    {text}")
        return not any(proof.violations for proof in results)


def fresh_directory(path: Path, *, ours: bool) -> Path:
    """An empty directory; only the demo's own leftovers are ever removed."""
    if ours and path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise DemoBroken(f"{path} is not empty")
    return path


async def run(directory: Path) -> int:
    # Under `make` or a service manager it is SIGTERM that says stop.
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    wanted = [order.id for order in orders.load()]
    demo = Demo(directory, wanted, Screen(len(wanted)))
    demo.screen.say(
        f"checkout: {len(wanted)} orders from {orders.ORDERS_FILE.name}, in {shown(directory)}; "
        f"their engine will be killed {len(KILL_AT)} times"
    )
    try:
        async with asyncio.timeout(DEADLINE_S):
            await demo.work()
    finally:
        demo.screen.close()
    holds = demo.prove()
    demo.screen.say(f"\n{await cost.measure(directory / 'cost')}")
    demo.screen.say(f"\nlook around: .venv/bin/fusee runs list --dir {shown(directory / 'data')}")
    return 0 if holds else 1


def shown(path: Path) -> str:
    """As a person would type it."""
    return os.path.relpath(path)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.checkout", description=__doc__)
    parser.add_argument("--dir", type=Path, help="an empty directory to work in")
    given: Path | None = parser.parse_args().dir
    try:
        directory = given or Path(__file__).with_name("run")
        return asyncio.run(run(fresh_directory(directory, ours=given is None)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("\nstopped; nothing of the demo is left running", file=sys.stderr)
        return 130
    except TimeoutError:
        print(f"\nthe orders did not finish within {DEADLINE_S:g} s", file=sys.stderr)
    except DemoBroken as error:
        print(f"\n{error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
