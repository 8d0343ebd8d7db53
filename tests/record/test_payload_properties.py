"""Properties of payloads: a value survives with its type, or a named error comes."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import (
    Any,
)
from uuid import UUID
from zoneinfo import ZoneInfo, available_timezones

from hypothesis import given, settings
from hypothesis import strategies as st

from fusee.base.errors import EncodeError
from fusee.record.payload import codec_for
from tests.support.payload_classes import Colour, Mixed, Page

ZONES = st.sampled_from(sorted(available_timezones())).map(ZoneInfo)
OFFSETS = st.timedeltas(timedelta(hours=-23, minutes=-59), timedelta(hours=23, minutes=59)).map(
    timezone
)
MOMENTS = st.datetimes(timezones=ZONES | OFFSETS | st.none(), allow_imaginary=True)


@settings(deadline=None, max_examples=300)
@given(MOMENTS, st.booleans(), st.sampled_from([datetime, Any, list[datetime], dict[str, Any]]))
def test_an_instant_survives_or_is_refused_by_name(moment, whole, annotation):
    if whole:
        moment = moment.replace(microsecond=0)
    value = {list[datetime]: [moment], dict[str, Any]: {"a": moment}}.get(annotation, moment)
    codec = codec_for(annotation, where="value")
    try:
        data, live = codec.roundtrip(value)
    except EncodeError as error:
        named = "timezone" in str(error) or "UTC form" in str(error)
        assert named
        return
    assert moment.tzinfo is not None
    for got in (live, codec.decode(data)):
        back = got[0] if isinstance(got, list) else got["a"] if isinstance(got, dict) else got
        assert type(back) is datetime
        assert back - moment.astimezone(UTC) == timedelta(0)
        assert back.microsecond == moment.microsecond or moment.utcoffset().microseconds


SCALARS = {
    int: st.integers() | st.integers(-(2**200), 2**200),
    float: st.floats(),
    str: st.text(st.characters()) | st.datetimes().map(str) | st.dates().map(str),
    bool: st.booleans(),
    type(None): st.none(),
    bytes: st.binary(),
    Decimal: st.decimals(allow_nan=False),
    UUID: st.uuids(),
    date: st.dates(),
    time: st.times(),
    timedelta: st.timedeltas(),
    Colour: st.sampled_from(Colour),
    Mixed: st.sampled_from(Mixed),
}


def extend(inner):
    def wrap(pair):
        annotation, values = pair
        point = st.builds(Page, st.lists(values, max_size=2))
        return st.sampled_from(
            [
                (list[annotation], st.lists(values, max_size=3)),
                (tuple[annotation, ...], st.lists(values, max_size=3).map(tuple)),
                (tuple[annotation, int], st.tuples(values, SCALARS[int])),
                (dict[str, annotation], st.dictionaries(st.text(), values, max_size=3)),
                (dict[int, annotation], st.dictionaries(st.integers(), values, max_size=3)),
                (annotation | None, values | st.none()),
                (Page[annotation], point),
            ]
        )

    return inner.flatmap(wrap)


PAIRS = st.recursive(
    st.sampled_from(sorted(SCALARS.items(), key=lambda p: str(p[0]))), extend, max_leaves=3
)


def equal(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, Page):
        return equal(a.items, b.items)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    return a == b


@settings(deadline=None, max_examples=400)
@given(PAIRS.flatmap(lambda p: st.tuples(st.just(p[0]), p[1])))
def test_value_and_type_survive_or_a_named_error_comes(pair):
    annotation, value = pair
    for codec in (codec_for(annotation, where="value"), codec_for(Any, where="value")):
        try:
            data, live = codec.roundtrip(value)
        except EncodeError as error:
            assert str(error).startswith("value: ")  # noqa: PT017
            continue
        assert equal(live, value)
        assert equal(codec.decode(data), value)


PLAIN = st.recursive(
    st.one_of(*(s for c, s in SCALARS.items() if c not in (Colour, Mixed))),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.just("$fusee"), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=300)
@given(PLAIN)
def test_without_annotation_value_and_type_survive_or_a_named_error_comes(value):
    codec = codec_for(Any, where="value")
    try:
        data, live = codec.roundtrip(value)
    except EncodeError as error:
        assert str(error).startswith("value: ")  # noqa: PT017
        return
    assert equal(live, value)
    assert equal(codec.decode(data), value)


@settings(deadline=None, max_examples=100)
@given(st.sets(st.text() | st.integers() | st.frozensets(st.integers())))
def test_sets_are_written_the_same_whatever_order_they_iterate_in(items):
    codec = codec_for(Any, where="value")
    turned = set()
    for item in list(items)[::-1]:
        turned.add(item)
    assert codec.encode(items) == codec.encode(turned)
    assert codec.decode(codec.encode(items)) == items
