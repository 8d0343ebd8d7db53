"""The socket of an engine: it serves what is ours, and nothing that connects can disturb it."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fusee import Engine
from fusee.admin.address import owner_address
from fusee.admin.client import NoOwner, Owner, OwnerLost
from fusee.admin.messages import (
    Answered,
    AskInfo,
    AskQuery,
    AskRun,
    AskRuns,
    OwnerInfo,
    Refused,
    Runs,
    SendSignal,
    Shown,
    Signalled,
    encode_message,
)
from fusee.base.errors import EngineStopped
from fusee.base.limits import ADMIN_CONNECTIONS_MAX
from fusee.engine.listing import Wanted
from fusee.wire.frame import FrameKind, encode_frame
from tests.support import dev_shop as shop
from tests.support.owners import live, strange


def ask(directory, request, timeout_s=20.0):
    with Owner.connect(directory, timeout_s) as owner:
        return owner.ask(request)


def connect(directory):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20)
    with owner_address(directory) as address:
        connection.connect(address)
    return connection


def read_to_end(connection):
    found = b""
    try:
        while data := connection.recv(65536):
            found += data
    except ConnectionResetError:
        pass
    return found


async def forever():
    await asyncio.Event().wait()


def test_the_owner_answers_every_request(tmp_path):
    with live(tmp_path) as owner:
        owner.start(shop.checkout, "order/1", "tea")
        owner.until_waiting("order/1", 3)

        info = ask(tmp_path, AskInfo())
        assert isinstance(info, OwnerInfo)
        assert (info.pid, info.open_runs, info.held_runs) == (os.getpid(), 1, 0)
        assert info.workflows == ["checkout@1", "failing@1", "slow@1"]

        runs = ask(tmp_path, AskRuns(Wanted("running", "checkout@1", 5)))
        assert isinstance(runs, Runs)
        assert [row.id for row in runs.rows] == ["order/1"]

        shown = ask(tmp_path, AskRun("order/1"))
        assert isinstance(shown, Shown)
        assert [entry.kind for entry in shown.journal] == ["step", "step", "wait for signal"]

        assert ask(tmp_path, AskQuery("order/1", "cart", b"")) == Answered(b'{"tea":1}')

        signal = SendSignal("order/1", "review", b"true", "webhook-88")
        assert ask(tmp_path, signal) == Signalled()
        run = owner.engine.get(shop.checkout, "order/1")
        assert owner.call(lambda: run.result(timeout=20)) == "ch_3.90 True"


def test_a_signal_known_with_another_value_says_so(tmp_path):
    with live(tmp_path) as owner:
        owner.start(shop.checkout, "order-1", "tea")
        owner.until_waiting("order-1", 3)
        assert ask(tmp_path, SendSignal("order-1", "later", b"1", "x")) == Signalled(False)
        assert ask(tmp_path, SendSignal("order-1", "later", b"2", "x")) == Signalled(True)


def test_only_its_user_may_connect_and_closing_removes_it(tmp_path):
    path = tmp_path / "owner.sock"
    with live(tmp_path):
        assert stat.S_ISSOCK(path.stat().st_mode)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    assert not path.exists()
    with pytest.raises(NoOwner):
        ask(tmp_path, AskInfo())


def test_a_directory_deeper_than_any_socket_address_is_served(tmp_path):
    deep = tmp_path / ("d" * 100) / ("e" * 100)

    with live(deep):
        assert isinstance(ask(deep, AskInfo()), OwnerInfo)


def test_the_socket_of_a_dead_owner_is_replaced(tmp_path):
    left_behind = socket.socket(socket.AF_UNIX)
    left_behind.bind(str(tmp_path / "owner.sock"))
    left_behind.close()
    with pytest.raises(NoOwner):
        ask(tmp_path, AskInfo())

    with live(tmp_path):
        assert isinstance(ask(tmp_path, AskInfo()), OwnerInfo)


def test_an_engine_opens_without_a_socket_and_says_what_to_do(tmp_path, caplog):
    (tmp_path / "owner.sock").write_text("mine")

    with live(tmp_path) as owner:
        owner.start(shop.checkout, "order-1", "tea")

    assert "the fusee command cannot reach this engine" in caplog.text
    assert "move away" in caplog.text
    assert (tmp_path / "owner.sock").read_text() == "mine"


@pytest.mark.real
def test_an_engine_in_memory_has_no_socket():
    script = (
        "import asyncio, sys, fusee\n"
        "async def life():\n"
        "    async with fusee.Engine.open(':memory:', workflows=[]):\n"
        "        return 'fusee.admin.server' in sys.modules\n"
        "print(asyncio.run(life()))"
    )

    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "False\n"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "not a frame"),
        (b"fz\x07\x01\0\0\0\0", "another version"),
        (b"fz\x01\x63\0\0\0\0", "unknown kind"),
        (b"fz\x01\x01\xff\xff\xff\xff", "too large"),
        (encode_frame(FrameKind.LAST, b""), "unexpected kind"),
        (encode_frame(FrameKind.REQUEST, b"\xc1"), "bad body"),
        (encode_frame(FrameKind.REQUEST, b"12345678")[:-1], "cut off"),
    ],
)
def test_foreign_bytes_are_refused_by_name_and_counted(tmp_path, data, reason):
    with live(tmp_path):
        with connect(tmp_path) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            told = read_to_end(connection)

        info = ask(tmp_path, AskInfo())

    assert reason.encode() in told
    assert isinstance(info, OwnerInfo)
    assert info.refused == {reason: 1}


def test_garbage_never_disturbs_the_engine(tmp_path):
    chance = random.Random(7)
    good = encode_frame(FrameKind.REQUEST, encode_message(AskInfo()))

    def disturb(_):
        data = bytearray(good * 3)
        for _ in range(chance.randrange(1, 6)):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        with connect(tmp_path) as connection:
            try:
                connection.sendall(data[: chance.randrange(1, len(data))])
            except (BrokenPipeError, ConnectionResetError):
                return  # Refused already.
            if chance.random() < 0.5:
                connection.shutdown(socket.SHUT_WR)
                read_to_end(connection)

    with live(tmp_path) as owner:
        owner.start(shop.checkout, "order-1", "tea")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(disturb, range(200)))
        owner.until_waiting("order-1", 3)
        owner.call(lambda: owner.engine.get("checkout", "order-1").signal("review", True))

        run = owner.engine.get(shop.checkout, "order-1")
        assert owner.call(lambda: run.result(timeout=20)) == "ch_3.90 True"
        assert owner.engine.stopped is None


def test_thirty_clients_at_once_are_all_answered(tmp_path):
    with live(tmp_path) as owner:
        owner.start(shop.checkout, "order-1", "tea")
        owner.until_waiting("order-1", 3)
        together = threading.Barrier(30)

        def client(number):
            together.wait(20)
            with Owner.connect(tmp_path, 20) as mine:
                return [
                    mine.ask(SendSignal("order-1", "note", b"1", f"{number}-{n}")) for n in range(5)
                ]

        with ThreadPoolExecutor(30) as pool:
            answers = list(pool.map(client, range(30)))

        assert answers == [[Signalled()] * 5] * 30
        info = owner.call(lambda: owner.engine.get("checkout", "order-1").describe())
        assert info.unread_signals == {"note": 150}


def test_more_connections_than_it_takes_wait_for_their_turn(tmp_path):
    with live(tmp_path):
        idle = [Owner.connect(tmp_path, 20) for _ in range(ADMIN_CONNECTIONS_MAX)]
        for owner in idle:
            assert isinstance(owner.ask(AskInfo()), OwnerInfo)

        with (
            Owner.connect(tmp_path, 0.2) as late,
            pytest.raises(OwnerLost, match="did not answer within"),
        ):
            late.ask(AskInfo())
        for owner in idle:
            owner.close()

        assert isinstance(ask(tmp_path, AskInfo()), OwnerInfo)


def test_a_silent_connection_is_ended(tmp_path):
    with strange(tmp_path, forever, idle_s=0.05), connect(tmp_path) as connection:
        connection.sendall(b"fz")

        assert read_to_end(connection) == b""


def test_an_answer_larger_than_a_frame_arrives_whole(tmp_path):
    payload = b'"' + b"x" * 20_000_000 + b'"'

    async def answer():
        return payload

    with strange(tmp_path, answer):
        assert ask(tmp_path, AskQuery("a", "q", b"")) == Answered(payload)


def test_an_error_of_ours_is_an_answer_and_is_logged(tmp_path, caplog):
    async def fail():
        raise KeyError("lost")

    with strange(tmp_path, fail):
        answer = ask(tmp_path, AskQuery("a", "q", b""))

    assert answer == Refused("internal", "KeyError: 'lost'")
    assert "a request failed" in caplog.text


def test_ids_are_checked_before_the_engine_is_asked(tmp_path):
    with strange(tmp_path, forever):
        refused = ask(tmp_path, SendSignal("", "go", b"", "id"))

    assert isinstance(refused, Refused)
    assert (refused.kind, refused.text) == (
        "invalid",
        "the workflow ID is empty; pass one that names it",
    )


def test_closing_answers_the_calls_in_flight(tmp_path):
    reached = threading.Event()

    async def stopped():
        reached.set()
        await asyncio.sleep(0)
        raise EngineStopped("the engine was closed")

    answers = []
    with strange(tmp_path, stopped):
        caller = threading.Thread(
            target=lambda: answers.append(ask(tmp_path, SendSignal("a", "go", b"", "id")))
        )
        caller.start()
        assert reached.wait(20)
    caller.join(20)

    assert answers == [Refused("stopped", "the engine was closed")]


def test_closing_ends_a_call_that_would_never_end(tmp_path):
    reached = threading.Event()

    async def hang():
        reached.set()
        await forever()

    failures = []

    def call():
        with pytest.raises(OwnerLost) as lost:
            ask(tmp_path, SendSignal("a", "go", b"", "id"))
        failures.append(lost.value)

    with strange(tmp_path, hang):
        caller = threading.Thread(target=call)
        caller.start()
        assert reached.wait(20)
    caller.join(20)

    assert failures[0].was_sent


def test_an_engine_closes_with_connections_open_and_leaves_no_task(tmp_path):
    async def life():
        async with Engine.open(tmp_path, workflows=shop.workflows):
            connections = [connect(tmp_path) for _ in range(3)]
            await asyncio.sleep(0)
        for connection in connections:
            connection.close()
        return [task for task in asyncio.all_tasks() if task.get_name() == "fusee-admin"]

    assert asyncio.run(life()) == []


def test_it_serves_on_uvloop_too(tmp_path):
    uvloop = pytest.importorskip("uvloop")

    async def life():
        async with Engine.open(tmp_path, workflows=shop.workflows) as engine:
            await engine.start(shop.checkout, "order-1", "tea")
            silent = connect(tmp_path)
            answers = await asyncio.gather(
                *(asyncio.to_thread(ask, tmp_path, AskRun("order-1")) for _ in range(20))
            )
        silent.close()
        return answers

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        answers = runner.run(life())

    assert all(isinstance(answer, Shown) for answer in answers)


def test_a_closing_engine_says_so(tmp_path):
    def refuse():
        raise EngineStopped("the engine is closed")

    with strange(tmp_path, forever, refuse):
        refused = ask(tmp_path, AskRuns())

    assert isinstance(refused, Refused)
    assert refused.kind == "closing"


@pytest.mark.parametrize("bad", ["", " ", "\t\n", "a\0b", "x" * 513, "é" * 257], ids=ascii)
def test_an_id_that_names_nothing_is_refused_at_the_socket_and_nothing_is_appended(tmp_path, bad):
    with live(tmp_path) as owner:
        owner.start(shop.checkout, "order-1", "tea")
        owner.until_waiting("order-1", 3)
        node = owner.engine.life.assembly.node
        appended = node.appended

        for request in (
            AskRun(bad),
            AskQuery(bad, "cart", b""),
            SendSignal(bad, "review", b"true", "id"),
            SendSignal("order-1", bad, b"true", "id"),
            SendSignal("order-1", "review", b"true", bad),
        ):
            refused = ask(tmp_path, request)
            assert isinstance(refused, Refused)
            assert refused.kind == "invalid"
        assert node.appended == appended
