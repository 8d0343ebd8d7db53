import asyncio
import os
import subprocess
import sys
import types
from base64 import b64encode
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fusee.base.errors import (
    DecodeError,
    FuseeError,
    NonDeterminism,
    PayloadTooLarge,
    RetriesExhausted,
    RetryAfter,
    StepCancelled,
    StepFailed,
    WorkflowFailed,
)
from fusee.base.limits import ERROR_TEXT_BYTES_MAX, TRACEBACK_BYTES_MAX
from fusee.record.failure import decode_failure, describe_failure, encode_failure, is_error

sys.path.insert(0, str(Path(__file__).parent))

import errors_of_users as users

EXAMPLES = users.build()


def again(exc):
    return decode_failure(encode_failure(exc))


def told(exc):
    """What a fresh process and this one must agree on."""
    if exc is None:
        return None
    group = [told(e) for e in exc.exceptions] if isinstance(exc, ExceptionGroup) else None
    state = {k: repr(v) for k, v in vars(exc).items() if k not in ("__notes__", "connection")}
    return (
        type(exc).__qualname__,
        str(exc),
        state,
        group,
        told(exc.__cause__),
        told(exc.__context__),
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_exception_comes_back_as_its_class_with_message_and_attributes(name):
    exc = EXAMPLES[name]
    back = again(exc)
    assert type(back) is type(exc)
    assert back.__traceback__ is None
    assert any(
        note.startswith("Recorded traceback") and ("raised" in note or "build" in note)
        for note in back.__notes__
    )
    if name != "unencodable":
        assert told(back) == told(exc)
        if not isinstance(exc, ExceptionGroup):
            assert back.args == exc.args
    assert told(again(back)) == told(back)
    assert describe_failure(encode_failure(exc)) == (
        f"{type(exc).__module__}:{type(exc).__qualname__}",
        str(exc),
    )


def test_a_fresh_process_sees_the_same():
    recorded = {name: b64encode(encode_failure(exc)).decode() for name, exc in EXAMPLES.items()}
    program = (
        "import sys, base64, test_failure as t\n"
        "for name, data in eval(sys.stdin.read()).items():\n"
        "    print(name, t.told(t.decode_failure(base64.b64decode(data))))\n"
    )
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=repr(recorded),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    here = [f"{name} {told(decode_failure(encode_failure(exc)))}" for name, exc in EXAMPLES.items()]
    assert done.stdout.splitlines() == here


def test_a_class_that_is_not_imported_here_becomes_step_failed():
    data = encode_failure(EXAMPLES["keyword"])
    program = (
        "import sys\n"
        "from fusee.record.failure import decode_failure, is_error\n"
        "exc = decode_failure(sys.stdin.buffer.read())\n"
        "print(type(exc).__name__, exc.type, exc, exc.code, 'errors_of_users' in sys.modules,\n"
        "      is_error(exc, 'errors_of_users.KeywordOnly'),\n"
        "      is_error(exc, 'errors_of_users:Other'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=data,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode().strip() == (
        "StepFailed errors_of_users:KeywordOnly code 7: none 7 False True False"
    )


def test_constructors_are_not_called_and_causes_and_notes_survive():
    back = again(EXAMPLES["formatted"])
    assert str(back) == "tea costs 2.50"
    assert type(back.__cause__) is ValueError
    assert back.__notes__[0] == "a note"
    assert again(EXAMPLES["keyword"]).code == 7
    assert again(EXAMPLES["host"]).port == 80
    assert again(EXAMPLES["missing"]).filename == "/nope"
    assert again(EXAMPLES["slotted"]).reason == "of rain"
    with pytest.raises(AttributeError):
        _ = again(EXAMPLES["slotted"]).empty


def test_what_cannot_be_stored_becomes_its_repr_in_place():
    exc = EXAMPLES["unencodable"]
    back = again(exc)
    assert back.args == ("lost", repr(exc.connection))
    assert back.connection == repr(exc.connection)


def test_hostile_exceptions_do_not_stop_the_recording():
    back = again(users.Hostile("x"))
    assert type(back) is users.Hostile
    assert back.args == ("x",)
    kind, text = describe_failure(encode_failure(users.Hostile("x")))
    assert kind == "errors_of_users:Hostile"
    assert "RuntimeError" in text
    for cls in (users.Killer, users.Guarded, users.Nameless, users.Frozen):
        assert isinstance(again(cls("x")), Exception)
        assert not is_error(cls("x"), "os.error")
    assert again(ValueError(users.Hostile("x"), {1: object()})).args[1].startswith("{1: <object")
    assert isinstance(again(ValueError("\ud800")), ValueError)
    assert describe_failure(encode_failure(ValueError("\ud800"))) == (
        "builtins:ValueError",
        "\\ud800",
    )


def test_a_message_that_the_rebuilt_object_cannot_say_is_kept_as_a_note():
    class Response:
        status = 503

    class ByStatus(Exception):
        def __init__(self, response):
            self.response = response

        def __str__(self):
            return f"status {self.response.status}"

    module = types.ModuleType("gone_later")
    ByStatus.__module__, ByStatus.__qualname__ = "gone_later", "ByStatus"
    module.ByStatus = ByStatus
    sys.modules["gone_later"] = module
    try:
        data = encode_failure(ByStatus(Response()))
        back = decode_failure(data)
        assert type(back) is ByStatus
        assert "Recorded message: status 503" in back.__notes__
        assert describe_failure(encode_failure(back)) == describe_failure(data)
    finally:
        del sys.modules["gone_later"]
    back = decode_failure(data)
    assert type(back) is StepFailed
    assert (str(back), back.type) == ("status 503", "gone_later:ByStatus")
    assert is_error(back, "gone_later.ByStatus")
    second = again(back)
    assert (str(second), second.type) == ("status 503", "gone_later:ByStatus")
    assert describe_failure(encode_failure(back)) == ("gone_later:ByStatus", "status 503")


def test_long_texts_are_cut_with_a_note():
    _, text = describe_failure(encode_failure(ValueError("é" * 100_000)))
    assert len(text.encode()) <= ERROR_TEXT_BYTES_MAX
    assert text.endswith("(cut: it had 200000 bytes)")
    data = encode_failure(ValueError(*["x" * 70_000] * 50))
    assert len(data) < 2 * 1024 * 1024
    assert type(decode_failure(data)) is ValueError


def endless():
    endless()


def test_chains_groups_and_tracebacks_are_bounded():
    exc = ValueError(0)
    for n in range(1, 40):
        exc = users.raised(ValueError(n), exc)
    back, length = again(exc), 0
    while back is not None:
        back, length = back.__cause__, length + 1
    assert length == 8
    wide = again(ExceptionGroup("wide", [ValueError(n) for n in range(1000)]))
    assert 50 < len(wide.exceptions) <= 100
    assert any("left out" in note for note in wide.__notes__)
    nested = ValueError("core")
    for _ in range(30):
        nested = ExceptionGroup("g", [nested])
    assert isinstance(again(nested), Exception)
    with pytest.raises(RecursionError) as caught:
        endless()
    data = encode_failure(caught.value)
    assert len(data) < 2 * TRACEBACK_BYTES_MAX + 10_000
    assert type(decode_failure(data)) is RecursionError


def test_an_exception_met_twice_is_one_object_again_and_cycles_end():
    last = ValueError("x")
    exhausted = RetriesExhausted("3 attempts", attempts=3, last=last)
    exhausted.__cause__ = last
    back = again(exhausted)
    assert (type(back), back.attempts) == (RetriesExhausted, 3)
    assert type(back.last) is ValueError
    assert back.last is back.__cause__
    loop = ValueError("loop")
    loop.me = loop
    assert again(loop).me is not None


def test_errors_of_ours_survive():
    failed = WorkflowFailed("run failed")
    failed.__cause__ = PayloadTooLarge("big", size=5, limit=4, where="x")
    back = again(failed)
    assert back.__cause__.where == "x"
    assert again(NonDeterminism("m", position=3, recorded="a")).position == 3
    assert again(RetryAfter(1.5)).delay == 1.5
    assert isinstance(back, FuseeError)


def test_what_would_act_on_the_code_it_is_raised_in_is_wrapped():
    cancelled = again(users.raised(asyncio.CancelledError("why")))
    assert type(cancelled) is StepCancelled
    assert cancelled.spontaneous
    assert "why" in str(cancelled)
    assert "raised" in cancelled.__notes__[-1]
    for stop in (StopIteration(3), StopAsyncIteration()):
        back = again(stop)
        assert type(back) is RuntimeError
        assert type(back.__cause__) is type(stop)
    assert type(again(KeyboardInterrupt("x"))) is StepFailed
    group = again(BaseExceptionGroup("g", [KeyboardInterrupt(), ValueError(1)]))
    assert [type(e) for e in group.exceptions] == [StepFailed, ValueError]


def test_except_star_catches_the_same_classes():
    seen = []
    for exc in (EXAMPLES["group"], again(EXAMPLES["group"])):
        try:
            raise exc
        except* users.KeywordOnly as part:
            seen.append((1, [e.code for e in part.exceptions]))
        except* users.Slotted:
            seen.append((2, []))
    assert seen == [(1, [1]), (2, []), (1, [1]), (2, [])]


def test_only_exception_classes_of_imported_modules_are_used():
    for name in ("os:system", "builtins:SystemExit", "builtins:KeyboardInterrupt", "builtins:int",
                 "antigravity:X", ":", "", "errors_of_users:Outer",
                 "errors_of_users:build.__code__"):  # fmt: skip
        data = f'{{"type":"{name}","text":"t"}}'.encode()
        back = decode_failure(data)
        assert type(back) is StepFailed
        assert (str(back), back.type) == ("t", name)
    assert "antigravity" not in sys.modules


def test_is_error_by_any_name_of_the_class():
    exc = again(EXAMPLES["inner"])
    for name in (
        "errors_of_users.Outer.Inner",
        "errors_of_users:Outer.Inner",
        "ValueError",
        "builtins.ValueError",
    ):
        assert is_error(exc, name)
    for name in ("Inner", "errors_of_users.Inner", "KeyError", "", ".", ":"):
        assert not is_error(exc, name)
    assert is_error(StepFailed("declined", type="stripe._error:CardError"), "stripe.CardError")
    assert not is_error(StepFailed("declined", type="stripe.other:CardError"), "stripe.CardError")
    assert is_error(TimeoutError(), "asyncio.TimeoutError")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(JSON | st.floats() | st.binary() | st.builds(object)), st.dictionaries(st.text(), JSON)
)
def test_any_arguments_and_attributes_are_recorded(args, state):
    exc = ValueError(*args)
    exc.__dict__.update(state)
    back = again(exc)
    assert type(back) is ValueError
    assert len(back.args) == len(args)


@settings(deadline=None, max_examples=200)
@given(
    st.binary(max_size=50)
    | st.builds(
        lambda kind, args, state: (
            repr({"type": kind, "text": "t", "args": args, "state": state, "same_as": 0})
            .replace("'", '"')
            .encode("utf-8", "ignore")
        ),
        st.sampled_from(
            ["builtins:OSError", "builtins:UnicodeDecodeError", "builtins:ExceptionGroup", "x:y"]
        ),
        st.lists(st.integers() | st.lists(st.integers())),
        st.dictionaries(
            st.sampled_from(["errno", "start", "args", "__class__", "code"]), st.integers()
        ),
    )
)
def test_foreign_bytes_give_an_exception_or_a_decode_error(data):
    with suppress(DecodeError):
        assert isinstance(decode_failure(data), Exception)
    with suppress(DecodeError):
        describe_failure(data)
