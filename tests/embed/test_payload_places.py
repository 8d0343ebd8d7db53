"""Payloads at each place a value enters or leaves: refused by name before anything, or exact."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fusee
from fusee import Context, EncodeError, Engine, PayloadTooLarge, Query, Signal, workflow
from fusee.base.limits import PAYLOAD_BYTES_MAX, PAYLOAD_BYTES_WARN
from fusee.record.kinds import SignalReceived, Started
from tests.support.aio import in_loop
from tests.support.prefixes import Ledger, crash_at_every_point
from tests.support.worlds import opened

LIMIT = PAYLOAD_BYTES_MAX


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Thing:
    when: datetime
    price: Decimal
    colour: Colour
    tags: set[str]
    counts: dict[int, str]
    data: bytes
    nested: list[Thing] = field(default_factory=list)
    maybe: int | str | None = None


carry: Signal[Thing] = Signal[Thing]("carry")
last: Query[None, list[Thing]] = Query[None, list[Thing]]("last")


async def same(thing: Thing) -> Thing:
    return thing


@workflow
async def carries(ctx: Context, thing: Thing) -> list[Thing]:
    seen: list[Thing] = [thing]
    ctx.on_query(last)(lambda: seen)
    seen.append(await ctx.step(same, thing))
    seen.append(await ctx.wait_for(carry))
    return seen


aware = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-3, minutes=-30))]))
things = st.builds(
    Thing,
    when=aware,
    price=st.decimals(allow_nan=False, allow_infinity=False, places=4),
    colour=st.sampled_from(Colour),
    tags=st.sets(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=4),
    counts=st.dictionaries(st.integers(), st.text(st.characters(exclude_categories=["Cs"]))),
    data=st.binary(max_size=64),
    maybe=st.one_of(st.none(), st.integers(), st.just("2026-01-01T00:00:00Z")),
)


@settings(max_examples=20, deadline=None)
@given(things)
def test_values_survive_start_step_signal_query_result_and_replay(thing: Thing) -> None:
    @in_loop
    async def scenario() -> None:
        async with opened(carries) as world:
            run = await world.engine.start(carries, "w", thing)
            await run.signal(carry, thing)
            assert await run.result() == [thing] * 3
            assert await run.query(last) == [thing] * 3
            log = list(world.log)
        async with opened(carries, log=log[:-1]) as again:
            assert await again.engine.get(carries, "w").result() == [thing] * 3

    scenario()


@in_loop
async def test_the_code_sees_a_fixed_offset_live_as_on_replay() -> None:
    seen: list[str] = []

    @workflow
    async def zoned(ctx: Context, when: datetime) -> str:
        seen.append(repr(when.tzinfo))
        await ctx.wait_for("go")
        return when.isoformat()

    async with opened(zoned) as world:
        when = datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
        run = await world.engine.start(zoned, "w", when)
        await run.signal("go", None)
        assert await run.result() == "2026-07-01T12:00:00+02:00"
        log = list(world.log)
    async with opened(zoned, log=log[:-1]) as again:
        await again.engine.get(zoned, "w").result()
    assert len(set(seen)) == 1


# ---------------------------------------------------------------- refused by name


@workflow
async def takes_any(ctx: Context, value: Any) -> str:
    op = ctx.wait_for("any")
    try:
        return await ctx.step(ignores, value)
    except (EncodeError, PayloadTooLarge) as error:
        return f"{type(error).__name__} {error}"
    finally:
        op.cancel()


async def ignores(value: Any) -> str:
    return "taken"


BAD: dict[str, Any] = {
    "NaN": float("nan"),
    "infinity": float("inf"),
    "naive": datetime(2026, 1, 1),
    "surrogate": "\ud800",
    "function": print,
    "generator": (i for i in range(3)),
    "number keys": {1: "x"},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_values_that_would_not_come_back_are_refused_at_start_and_signal(bad: Any) -> None:
    @in_loop
    async def scenario() -> None:
        async with opened(takes_any) as world:
            with pytest.raises(EncodeError, match="takes_any"):
                await world.engine.start(takes_any, "w", bad)
            assert world.log == []
            run = await world.engine.start(takes_any, "w", 1)
            with pytest.raises(EncodeError, match="signal 'any'"):
                await run.signal("any", bad)
            assert not world.records(SignalReceived)

    scenario()


def text_of_size(payload: int) -> str:
    """Return a text whose payload has this many bytes: JSON adds two quotes."""
    return "x" * (payload - 2)


@pytest.mark.parametrize("over", [0, 1])
def test_the_limit_is_exact_at_start_and_signal(over: int) -> None:
    @in_loop
    async def scenario() -> None:
        async with opened(takes_any) as world:
            value = text_of_size(LIMIT - len('{"value":}') + over)
            if over:
                with pytest.raises(PayloadTooLarge, match="arguments of workflow") as refused:
                    await world.engine.start(takes_any, "w", value)
                error = refused.value
                assert (error.size, error.limit) == (LIMIT + 1, LIMIT)
                assert "takes_any" in error.where
                assert world.log == []
            else:
                await world.engine.start(takes_any, "w", value)
                assert len(world.records(Started)[0].input) == LIMIT

    scenario()


@workflow
async def large_arguments(ctx: Context, size: int) -> list[str]:
    seen: list[str] = []
    for over in (0, 1):
        value = text_of_size(size - len('{"value":}') + over)
        try:
            seen.append(await ctx.step(ignores, value))
        except PayloadTooLarge as error:
            seen.append(f"{error.size} over {error.limit} at {error.where}")
    return seen


@in_loop
async def test_the_limit_is_exact_at_the_arguments_of_a_step_and_the_code_can_catch_it() -> None:
    async def drive(engine: fusee.Engine) -> Any:
        run = await engine.options(request_id="r").start(large_arguments, "w", LIMIT)
        return await run.result()

    story = await crash_at_every_point([large_arguments], drive, Ledger())
    assert story.result == ["taken", f"{LIMIT + 1} over {LIMIT} at arguments of step 'ignores'"]


# ---------------------------------------------------------------- turns over the bound of a group


async def echo(value: str) -> str:
    return value


@workflow
async def large_turns(ctx: Context) -> list[int]:
    """Results of 4 MiB that go right into the next call, and several in one turn."""
    value = text_of_size(LIMIT - 100)
    value = await ctx.step(echo, value)
    value = await ctx.step(echo, value)
    many = await asyncio.gather(*(ctx.step(echo, value) for _ in range(3)))
    return [len(v) for v in many]


@in_loop
async def test_a_turn_larger_than_any_group_survives_a_crash_at_every_point() -> None:
    async def drive(engine: fusee.Engine) -> Any:
        return await (await engine.options(request_id="r").start(large_turns, "w")).result()

    story = await crash_at_every_point([large_turns], drive, Ledger())
    assert story.result == [LIMIT - 102] * 3
    sizes = [sum(len(group) for group in ticket) for ticket in story.log]
    assert max(sizes) <= 6 * 1024 * 1024


big: Signal[str] = Signal[str]("big")


@workflow
async def sends_large(ctx: Context, target: str) -> str:
    value = text_of_size(LIMIT)
    for op in [ctx.external(target).signal(big, value) for _ in range(2)]:
        await op
    return await ctx.step(ignores, "small")


@workflow
async def receives_large(ctx: Context) -> int:
    return len(await ctx.wait_for(big)) + len(await ctx.wait_for(big))


@in_loop
async def test_large_messages_arrive_once_after_a_crash_at_every_point() -> None:
    async def drive(engine: fusee.Engine) -> Any:
        fixed = engine.options(request_id="r")
        receiver = await fixed.start(receives_large, "receiver")
        sender = await fixed.start(sends_large, "sender", "receiver")
        return [await sender.result(), await receiver.result()]

    story = await crash_at_every_point([receives_large, sends_large], drive, Ledger())
    assert story.result == ["taken", 2 * (LIMIT - 2)]
    sizes = [sum(len(group) for group in ticket) for ticket in story.log]
    assert max(sizes) <= 6 * 1024 * 1024


# ---------------------------------------------------------------- exceptions


class KeywordOnly(Exception):
    def __init__(self, *, code: int) -> None:
        super().__init__(f"code {code}")
        self.code = code


class Slotted(Exception):
    __slots__ = ("detail",)

    def __init__(self, detail: str) -> None:
        super().__init__()
        self.detail = detail

    def __str__(self) -> str:
        return f"detail {self.detail}"


class Opaque:
    def __repr__(self) -> str:
        return "<opaque>"


class Unencodable(Exception):
    def __init__(self) -> None:
        super().__init__(Opaque())
        self.handle = print


async def raises(kind: str) -> None:
    match kind:
        case "keyword":
            raise KeywordOnly(code=7)
        case "slots":
            raise Slotted("d")
        case "unencodable":
            raise Unencodable
        case "cause":
            try:
                raise KeyError("inner")
            except KeyError as error:
                error.add_note("a note")
                raise ValueError("outer") from error
        case "group":
            raise ExceptionGroup("several", [KeywordOnly(code=1), Slotted("x")])
        case "timeout":
            raise TimeoutError("builtin")


@workflow
async def catches(ctx: Context, kind: str) -> list[str]:
    try:
        await ctx.step(raises, kind)
    except* KeywordOnly as group:
        seen = [f"{e!r} {e.code}" for e in group.exceptions]  # type: ignore[attr-defined]
    except* Exception as group:
        (error,) = group.exceptions[:1]
        notes = [n for n in getattr(error, "__notes__", ()) if not n.startswith("Recorded")]
        cause = error.__cause__
        seen = [type(error).__name__, str(error), repr(cause), *notes]
        if cause is not None:
            seen += [n for n in cause.__notes__ if not n.startswith("Recorded")]
    await ctx.step(ignores, "x")
    return seen


@pytest.mark.parametrize("kind", ["keyword", "slots", "unencodable", "cause", "group", "timeout"])
def test_what_except_clauses_see_is_the_same_live_and_on_replay(kind: str) -> None:
    @in_loop
    async def scenario() -> None:
        async def drive(engine: fusee.Engine) -> Any:
            run = await engine.options(request_id="r").start(catches, "w", kind)
            return await run.result()

        story = await crash_at_every_point([catches], drive, Ledger())
        if kind == "keyword":
            assert story.result == ["KeywordOnly('code 7') 7"]
        if kind == "cause":
            assert story.result == ["ValueError", "outer", "KeyError('inner')", "a note"]

    scenario()


async def large_document() -> str:
    return "x" * (PAYLOAD_BYTES_WARN + 1)


@workflow
async def carries_much(ctx: Context, text: str) -> int:
    return len(await ctx.step(large_document)) + len(text)


def test_large_payloads_are_named_once_where_they_enter(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with Engine.open(":memory:", workflows=[carries_much]) as engine:
            await engine.run(carries_much, "w", "y" * PAYLOAD_BYTES_WARN)

    with caplog.at_level("WARNING", logger="fusee"):
        asyncio.run(main())
    texts = [record.getMessage() for record in caplog.records]
    assert [text.split(" is ")[0] for text in texts] == [
        "the input of 'w'",
        "the result of step 'large_document'",
    ]
