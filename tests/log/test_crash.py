"""Crashes at any write with any tearing: what was acknowledged stays, nothing else appears."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fusee.base.errors import AcknowledgedDataLost, EngineError
from fusee.log.batch import Batch
from fusee.log.boot import SEQ_GAP
from fusee.log.ending import EndClass
from fusee.log.frame import encode_frame_into, frame_bytes
from fusee.log.superblock import Checkpoint
from tests.support.logs import Opened, next_batch, open_log
from tests.support.ram_device import PowerLost, RamDevice

SIZES = (0, 100, 3_000, 9_000, 25_000)


class History:
    """What the outside world was told, against which every reopened log is checked."""

    def __init__(self) -> None:
        self.acknowledged: list[Batch] = []
        self.in_flight: Batch | None = None

    def check(self, opened: Opened) -> None:
        known = self.acknowledged + ([self.in_flight] if self.in_flight else [])
        found = opened.batches
        base_op = opened.log.superblock.base.op
        assert found == known[base_op : base_op + len(found)], "never written, or out of order"
        assert base_op + len(found) >= len(self.acknowledged), "an acknowledged batch is gone"
        self.acknowledged = known[: base_op + len(found)]
        self.in_flight = None


def work(opened: Opened, history: History, random: Random, steps: int) -> None:
    log = opened.log
    for _ in range(steps):
        action = random.choices(("append", "seal", "prepare", "trim"), (20, 3, 4, 1))[0]
        if action == "append":
            batch = next_batch(log.head_op + 1, log.head_hash, random.choice(SIZES))
            history.in_flight = batch
            log.submit(batch, log.durable_op, lambda error: None)
            history.acknowledged.append(batch)
            history.in_flight = None
        elif action == "seal":
            opened.seal()
        elif action == "prepare":
            log.prepare_ahead()
        else:
            checkpoint = Checkpoint(log.durable_op, log.head_hash)
            log.trim(random.randint(0, log.durable_op), checkpoint)


def live(seed: int, boots: int, garbage: float) -> list[Opened]:
    """Run and crash one log over several boots; return the logs as recovered."""
    random = Random(seed)
    device = RamDevice()
    history = History()
    seen: list[Opened] = []
    for _ in range(boots):
        device.lose_power_after(random.randrange(60), random, garbage)
        try:
            opened = open_log(device)
            history.check(opened)
            seen.append(opened)
            work(opened, history, random, steps=80)
        except PowerLost:
            pass
        device.power_on()
    opened = open_log(device)
    history.check(opened)
    seen.append(opened)
    return seen


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
@example(seed=0, boots=6)
def test_a_power_cut_loses_nothing_acknowledged_and_is_always_told_apart(seed, boots):
    for opened in live(seed, boots, garbage=0.0):
        assert opened.end.end_class is EndClass.TORN
        assert opened.log.superblock.unknown is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_units_that_turn_to_garbage_lose_nothing_acknowledged(seed, boots):
    for opened in live(seed, boots, garbage=0.3):
        assert opened.end.end_class in tuple(EndClass)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 40))
def test_rot_is_refused_or_reported_and_never_skipped(seed, boots, flips):
    random = Random(seed)
    opened = live(seed, boots, garbage=0.0)[-1]
    device, whole = opened.device, opened.batches
    for _ in range(flips):
        file = random.choice(device.files())
        device.flip(file, random.randrange(device.size(file)), random.randrange(8))
    try:
        again = open_log(device, new=False)
    except EngineError:
        return
    assert again.batches == whole[: len(again.batches)]
    if len(again.batches) < len(whole):
        assert again.recovered.reports, "a shorter log without a word"


fates_strategy = st.tuples(*[st.sampled_from(["kept", "lost", "torn"])] * 2)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.lists(fates_strategy, min_size=1, max_size=5))
@example(seed=0, boots=[("torn", "kept"), ("lost", "torn"), ("torn", "torn"), ("lost", "lost")])
def test_two_writes_in_flight_may_land_in_any_order_boot_after_boot(seed, boots):
    random = Random(seed)
    device = RamDevice()
    open_log(device).append()
    acknowledged = 1
    for fates in boots:
        opened = open_log(device, new=False)
        assert opened.end.end_class is EndClass.TORN
        assert opened.end.op >= acknowledged
        writer = opened.log._writer
        opened.log.prepare_ahead(is_needed=True)
        acknowledged = opened.end.op
        known = list(opened.batches)
        for fate in fates:
            batch = next_batch(writer.head_op + 1, writer.head_hash, random.choice(SIZES))
            known.append(batch)
            if not writer.has_room(frame_bytes(len(batch.data))):
                if not writer.is_prepared:
                    break
                writer.roll()
            land(device, opened, batch, fate, random)
            if fate == "kept" and acknowledged == batch.op - 1:
                acknowledged = batch.op
        again = open_log(device, new=False)
        assert again.batches == known[: len(again.batches)]
        assert len(again.batches) >= acknowledged


def land(device: RamDevice, opened: Opened, batch: Batch, fate: str, random: Random) -> None:
    writer = opened.log._writer
    buffer = memoryview(bytearray(frame_bytes(len(batch.data))))
    digest = encode_frame_into(
        buffer,
        writer.offset,
        writer.file_key,
        kind=1,
        boot_count=writer.boot_count,
        local_seq=writer.next_seq,
        log_gen=0,
        accept_view=0,
        durable_op=writer.durable_op,
        op=batch.op,
        prev_local=writer.prev_local,
        body_hash=batch.hash,
        body=batch.data,
    )
    image = device.content[writer.file]
    for start in range(0, len(buffer), 512):
        if fate == "kept" or (fate == "torn" and random.random() < 0.5):
            place = writer.offset + start
            image[place : place + 512] = buffer[start : start + 512]
    writer.begin(digest, len(buffer), writer.durable_op, batch.op, batch.hash)


def test_every_boot_starts_above_what_the_last_one_can_have_written():
    device = RamDevice()
    floors = [open_log(device).log.superblock.seq_floor for _ in range(4)]
    assert [b - a for a, b in pairwise(floors)] == [SEQ_GAP] * 3


def test_a_segment_that_a_crash_left_unnoted_is_missed_once_it_holds_frames():
    opened = open_log(RamDevice())
    opened.append()
    plan = opened.log.plan_ahead(is_needed=True)
    assert plan is not None
    opened.log.carry_out(plan)  # And then the process dies, before the superblock knows.
    again = open_log(opened.device, new=False)
    again.append(25_000)
    assert again.device.writes[-1][0] == plan.header.file
    del again.device.content[plan.header.file]
    with pytest.raises(AcknowledgedDataLost, match="the file is missing"):
        open_log(again.device, new=False)
