"""Bytes of another time or hand: decode errors name the field."""

from datetime import datetime
from decimal import Decimal
from ipaddress import IPv4Address
from pathlib import Path
from typing import (
    Any,
    Literal,
)

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fusee.base.errors import DecodeError
from fusee.record.payload import codec_for
from tests.support.payload_classes import (
    Car,
    Cat,
    Colour,
    Dog,
    Failed,
    Invoice,
    Level,
    Mixed,
    Money,
    Options,
    Page,
    Pair,
    Point,
    Row,
    Success,
    Tree,
    Wide,
)


@pytest.mark.parametrize(
    ("annotation", "data", "words"),
    [
        (Colour, b'"green"', ["Colour", "green"]),
        (list[Level], b"[1,7]", ["Level", "7", "[1]"]),
        (Mixed, b"3", ["Mixed", "3"]),
        (Point, b"{}", ["Point", "x"]),
        (Tree, b'{"name":"a","children":[{"name":1}]}', ["children[0].name"]),
        (Money, b'{"amount":"x"}', ["Money", "amount"]),
        (Invoice, b'{"total":{},"lines":[]}', ["Invoice", "amount"]),
        (int, b"1.0", ["int"]),
        (dict[int, int], b'{"a":1}', ["int"]),
        (Any, b'{"$fusee":["later",1]}', ["later"]),
        (Any, b'{"$fusee":1}', ["tag"]),
        (Any, b"[" * 100_000, ["deep"]),
    ],
)
def test_a_decode_error_names_type_and_field(annotation, data, words):
    with pytest.raises(DecodeError) as caught:
        codec_for(annotation, where="value").decode(data)
    for word in words:
        assert word in str(caught.value)


def test_unknown_fields_are_ignored_and_missing_ones_take_their_default():
    assert codec_for(Point, where="x").decode(b'{"x":1,"zzz":2}') == Point(1, 0)
    assert codec_for(Page, where="x").decode(
        b'{"items":[{"$fusee":["tuple",[]]}],"zzz":2}'
    ) == Page([()])
    assert codec_for(Pair, where="x").decode(b"[1]") == Pair(1)


ANNOTATIONS = [
    Any, int, str, float, bytes, datetime, Decimal, Path, IPv4Address, Colour, Mixed, Point,
    Tree, Wide,
    Page[Point], Car, Pair, Options, Cat | Dog, Row, Success | Failed, Money, Invoice, list[Money],
    dict[int, set[str]], dict[datetime, Any], set, tuple[int, str], Literal["a"], None,
]  # fmt: skip
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["$fusee", "x", "name", "amount", "items"]) | st.text(), inner
        )
        | st.tuples(st.sampled_from(["tuple", "set", "decimal", "object", "dict"]), inner).map(
            lambda pair: {"$fusee": list(pair)}
        )
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=60) | JSON_VALUES.map(msgspec.json.encode))
def test_foreign_bytes_give_decode_errors_only(data):
    for annotation in ANNOTATIONS:
        try:
            codec_for(annotation, where="value").decode(data)
        except DecodeError as error:
            assert "value" in str(error)  # noqa: PT017
