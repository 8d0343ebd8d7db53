"""Replicas over real sockets: what is said arrives in order, and strangers disturb nobody."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from random import Random

import pytest

from fusee.base.limits import PEER_QUEUE_BYTES_MAX, STRANGERS_MAX
from fusee.io.peers import Peers
from fusee.vr.messages import Batches, ExitView
from fusee.wire.frame import FrameDecoder, FrameKind, encode_frame
from fusee.wire.hello import Purpose, Refusal
from fusee.wire.session import Session
from tests.support.aio import in_loop, spin, until
from tests.wire.groups import blank, replica


class Replica:
    """One end, and what it was told."""

    def __init__(self, me, **options) -> None:
        self.peers = Peers(me, self, Random(me.slot), **options)
        self.heard = []
        self.came = []
        self.went = []
        self.failure = None
        self.raises = None

    def on_message(self, slot, message) -> None:
        if self.raises is not None:
            raise self.raises
        self.heard.append((slot, message))

    def on_connected(self, slot) -> None:
        self.came.append(slot)

    def on_disconnected(self, slot) -> None:
        self.went.append(slot)

    def on_failure(self, error) -> None:
        self.failure = error


@asynccontextmanager
async def group(*selves, tls=None, **options):
    """Replicas that listen, and call each other; `tls` by name."""
    secured = tls or {}
    replicas = [Replica(me, tls=secured.get("abc"[me.slot]), **options) for me in selves]
    try:
        ports = {r.peers.me.slot: await r.peers.listen("127.0.0.1", 0) for r in replicas}
        for r in replicas:
            r.peers.call({slot: ("127.0.0.1", port) for slot, port in ports.items()})
        yield replicas, ports
    finally:
        for r in replicas:
            await r.peers.close()


def view(number: int) -> ExitView:
    return ExitView(epoch=1, view=number)


@in_loop
async def test_each_of_a_group_hears_each_other_in_order():
    async with group(replica("a"), replica("b"), replica("c")) as (replicas, _):
        await until(lambda: all(len(r.peers.connected) == 2 for r in replicas))
        for r in replicas:
            for slot in r.peers.connected:
                for number in range(50):
                    r.peers.send(slot, view(number))
        await until(lambda: all(len(r.heard) == 100 for r in replicas))
        for r in replicas:
            for slot in r.peers.connected:
                said = [message.view for sender, message in r.heard if sender == slot]
                assert said == list(range(50))
            assert not r.peers.refused


@in_loop
async def test_a_replica_that_comes_back_is_called_again():
    async with group(replica("a"), replica("b")) as ((a, b), ports):
        await until(lambda: bool(a.peers.connected))
        await b.peers.close()
        await until(lambda: not a.peers.connected)
        assert a.went == [1]
        a.peers.send(1, view(1))
        assert a.peers.dropped[1] == 1
        again = Replica(replica("b"))
        await again.peers.listen("127.0.0.1", ports[1])
        await until(lambda: bool(a.peers.connected))
        a.peers.send(1, view(2))
        await until(lambda: again.heard == [(0, view(2))])
        await again.peers.close()


@in_loop
async def test_a_new_connection_takes_the_place_of_the_old():
    async with group(replica("a"), replica("b")) as ((a, b), ports):
        await until(lambda: bool(b.peers.connected))
        other = Replica(replica("a"))
        other.peers.call({1: ("127.0.0.1", ports[1])})
        await until(lambda: len(b.came) > 1)
        await other.peers.close()
        await until(lambda: bool(a.peers.connected) and bool(b.peers.connected))
        a.peers.send(1, view(3))
        await until(lambda: (0, view(3)) in b.heard)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "not a frame"),
        (encode_frame(FrameKind.HELLO, b"\xc1"), "bad body"),
        (encode_frame(FrameKind.MESSAGE, b"12345678"), "unexpected kind"),
        (encode_frame(FrameKind.HELLO, bytes(5_000)), "too large"),
        (encode_frame(FrameKind.HELLO, b"1234")[:-1], "cut off"),
    ],
)
@in_loop
async def test_foreign_bytes_are_refused_by_name_and_the_group_goes_on(data, reason):
    async with group(replica("a"), replica("b")) as ((a, b), ports):
        await until(lambda: bool(b.peers.connected))
        reader, writer = await asyncio.open_connection("127.0.0.1", ports[1])
        writer.write(data)
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
        await until(lambda: b.peers.refused[reason] == 1)
        a.peers.send(1, view(4))
        await until(lambda: b.heard == [(0, view(4))])


@in_loop
async def test_a_stranger_that_says_nothing_is_hung_up_on():
    async with group(replica("b"), hello_s=0.05) as ((_,), ports):
        reader, writer = await asyncio.open_connection("127.0.0.1", ports[1])
        assert await reader.read() == b""
        writer.close()


@in_loop
async def test_a_refused_replica_is_told_why_and_comes_again():
    async with group(replica("a"), blank("b")) as ((a, b), _):
        await until(lambda: a.peers.refused["not_initialised"] > 1)
        assert not a.peers.connected
        assert not b.came


@in_loop
async def test_the_refusal_of_a_caller_reaches_it():
    async with group(replica("b")) as ((b,), ports):
        caller = Session(replica("a", life=3), None, wants=1, purpose=Purpose.PROTOCOL)
        reader, writer = await asyncio.open_connection("127.0.0.1", ports[1])
        writer.write(caller.take_output())
        caller.receive(await reader.read())
        writer.close()
        assert caller.ended is not None
        assert caller.ended.reason is Refusal.OTHER_INCARNATION
        await until(lambda: b.peers.refused["other_incarnation"] == 1)


@in_loop
async def test_what_waits_for_a_peer_that_takes_no_bytes_has_a_bound():
    async with group(replica("b")) as ((b,), ports):
        caller = Session(replica("a"), None, wants=1)
        reader, writer = await asyncio.open_connection("127.0.0.1", ports[1], limit=1024)
        writer.write(caller.take_output())
        await until(lambda: bool(b.peers.connected))
        large = Batches(epoch=1, view=1, batches=(bytes(1 << 20),))
        for _ in range(100):
            b.peers.send(0, large)
        assert 0 < b.peers.dropped[0] < 100
        connection = b.peers._up[0]
        assert connection._transport is not None
        assert connection._transport.get_write_buffer_size() <= PEER_QUEUE_BYTES_MAX
        decoder = FrameDecoder()
        frames = 0
        while frames < 1 + 100 - b.peers.dropped[0]:  # What was taken arrives, whole.
            decoder.feed(await reader.read(1 << 16))
            while decoder.take() is not None:
                frames += 1
        writer.close()


@in_loop
async def test_an_owner_that_raises_is_told_and_hears_nothing_more():
    async with group(replica("a"), replica("b")) as ((a, b), _):
        await until(lambda: bool(a.peers.connected))
        b.raises = AssertionError("believed wrongly")
        a.peers.send(1, view(1))
        await until(lambda: b.failure is b.raises)
        b.raises = None
        a.peers.send(1, view(2))
        await spin(50)
        assert not b.heard


@in_loop
async def test_only_so_many_may_be_there_without_a_hello():
    async with group(replica("b")) as ((b,), ports):
        strangers = [
            await asyncio.open_connection("127.0.0.1", ports[1]) for _ in range(STRANGERS_MAX + 3)
        ]
        await until(lambda: b.peers.refused["too many without a hello"] >= 3)
        for _, writer in strangers:
            writer.close()


def test_the_node_s_own_loop_serves_as_well():
    async def main():
        async with group(replica("a"), replica("b")) as ((a, b), _):
            await until(lambda: bool(a.peers.connected) and bool(b.peers.connected))
            a.peers.send(1, view(5))
            b.peers.send(0, view(6))
            await until(lambda: bool(a.heard) and bool(b.heard))

    uvloop = pytest.importorskip("uvloop", reason="uvloop is not for this platform")
    uvloop.run(asyncio.wait_for(main(), 30))
