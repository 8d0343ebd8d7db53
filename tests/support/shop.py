"""A scenario with everything in it: steps of all kinds, retries, gather, sleeps, timeouts,
signals from outside and between runs, queries, refusals, a run that fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import fusee
from fusee import Context, Engine, Query, Retry, Signal
from fusee.base.errors import AlreadyFinished, AlreadyRunning, WorkflowFailed, WorkflowFinished
from fusee.sdk.workflow import Workflow
from tests.support.ledger import ExternalService, Ledger

approve = Signal[str]("approve")
booked = Signal[str]("booked")
progress = Query[None, list[str]]("progress")

ORDERS = ("anna", "bert")
QUICK = Retry(3, initial=0.001, jitter=0)


class Declined(Exception):
    """The service had a bad moment."""


class Till:
    """The steps: each calls the service, first of all."""

    def __init__(self, service: ExternalService) -> None:
        self._service = service

    @fusee.step(read_only=True)
    async def price(self, order: str) -> str:
        return self._service.call(read_only=True, order=order)

    @fusee.step(retry=QUICK)
    async def charge(self, order: str, amount: str) -> str:
        answer = self._service.call(order=order, amount=amount)
        if fusee.current_step().attempt == 1:
            raise Declined(answer)
        return answer

    def pack(self, order: str, item: int) -> str:
        return self._service.call(order=order, item=item)

    async def ship(self, order: str, what: str) -> str:
        answer = self._service.call(order=order, what=what)
        await asyncio.sleep(0)
        return answer

    @fusee.step(retry=Retry(2, initial=0.001, jitter=0))
    async def refuse(self, order: str) -> str:
        raise Declined(self._service.call(order=order))


class Shop:
    """Two orders, the book they are booked in, a chain of steps, and a run that fails."""

    def workflows(self, service: ExternalService) -> list[Workflow[Any, Any]]:
        till = Till(service)

        @fusee.workflow
        async def order(ctx: Context, name: str) -> list[str]:
            seen: list[str] = []
            ctx.on_query(progress)(lambda: seen)
            amount = await ctx.step(till.price, name)
            seen.append(await ctx.step(till.charge, name, amount))
            seen += await asyncio.gather(
                ctx.step(till.pack, name, 1),
                ctx.step(till.ship, name, "a"),
                ctx.step(till.pack, name, 2),
            )
            await ctx.sleep(0.001)
            approved = await ctx.wait_for(approve)
            await ctx.external("book").signal(booked, f"{name} {approved}")
            async with asyncio.timeout(60):
                last = await ctx.step(till.ship, name, approved)
            return [*seen, approved, last]

        @fusee.workflow
        async def book(ctx: Context, count: int) -> list[str]:
            entries = [await ctx.wait_for(booked) for _ in range(count)]
            return [await ctx.step(till.ship, "book", entry) for entry in entries]

        @fusee.workflow
        async def chain(ctx: Context, length: int) -> str:
            link = str(ctx.uuid4())
            for _ in range(length):
                link = await ctx.step(till.ship, "chain", link[-40:])
            return link

        @fusee.workflow
        async def doomed(ctx: Context) -> str:
            return await ctx.step(till.refuse, "doomed")

        self.order, self.book, self.chain, self.doomed = order, book, chain, doomed
        return [order, book, chain, doomed]

    async def drive(self, engine: Engine, ledger: Ledger) -> None:
        """Do everything a client does, as one that repeats calls with their request id."""
        shop = _Client(engine, ledger)
        await shop.start(self.book, "book", len(ORDERS))
        others = [shop.run(self.chain, "chain", 6), shop.run(self.doomed, "doomed")]
        orders = [self._order(shop, name) for name in ORDERS]
        await _all(*orders, *others, shop.result("book"))

    async def _order(self, shop: _Client, name: str) -> None:
        await _all(shop.start(self.order, name, name), shop.refused(self.order, name))
        await shop.ask(name)
        await shop.approve(name)
        await _all(shop.result(name), shop.ask(name))
        await shop.refused(self.order, name)


class _Client:
    def __init__(self, engine: Engine, ledger: Ledger) -> None:
        self._engine = engine
        self._ledger = ledger

    async def start(self, workflow: Workflow[Any, Any], name: str, *args: Any) -> None:
        engine = self._engine.options(request_id=f"start {name}")
        run = await engine.start(workflow, name, *args)
        self._ledger.on_started(name, run.ordinal or 0)

    async def run(self, workflow: Workflow[Any, Any], name: str, *args: Any) -> None:
        await self.start(workflow, name, *args)
        await self.result(name)

    async def refused(self, workflow: Workflow[Any, Any], name: str) -> None:
        """Somebody else wants the same ID."""
        await asyncio.sleep(0)
        try:
            await self._engine.options(reuse="reject").start(workflow, name, "other")
        except (AlreadyRunning, AlreadyFinished) as error:
            self._ledger.on_refusal(f"{name}/{error.run.ordinal}", type(error).__name__)

    async def approve(self, name: str) -> None:
        run = self._engine.get("order", name)
        try:
            await run.signal(approve, f"yes {name}", signal_id=f"approve {name}")
        except WorkflowFinished:
            self._ledger.on_refusal(f"{name}/1", "WorkflowFinished")
            return
        self._ledger.on_signalled(f"{name}/1", f"approve {name}", f'"yes {name}"'.encode())

    async def ask(self, name: str) -> None:
        seen = await self._engine.get("order", name).query(progress)
        self._ledger.on_answer(f"{name}/1", seen)

    async def result(self, name: str) -> None:
        outcome: Any
        try:
            outcome = await self._engine.get("any", name).result()
        except WorkflowFailed as error:
            outcome = str(error)
        self._ledger.on_result(f"{name}/1", outcome)


async def _all(*coroutines: Coroutine[Any, Any, None]) -> None:
    """Run all to their ends, then raise the first error: a stop must be heard by everyone."""
    outcomes = await asyncio.gather(*coroutines, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
