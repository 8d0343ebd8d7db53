"""The scan table of docs/internals/log.md, one test a row, on a disk damaged to measure."""

from __future__ import annotations

import msgspec
import pytest

from fusee.base.errors import AcknowledgedDataLost, DirectoryRefused
from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.log.ending import EndClass
from fusee.log.frame import FrameKind, encode_frame_into, frame_bytes
from fusee.log.segment import DATA_START, segment_name
from fusee.log.superblock import BatchId, Checkpoint
from tests.support.logs import SMALL, Opened, next_batch, open_log
from tests.support.ram_device import RamDevice

TAG_PLACE = UNIT_SIZE - 8


class Written:
    """A log of some batches, the last frame's place, and the disk as it was before it."""

    def __init__(self, count: int = 3, size: int = 900) -> None:
        self.device = RamDevice()
        self.opened = open_log(self.device)
        for _ in range(count - 1):
            self.opened.append(100)
        self.before = self.device.copy()
        self.opened.append(size)
        self.file, self.offset, self.size = self.device.writes[-1]

    def lose_unit(self, *units: int) -> None:
        """Let units of the last frame never have been written."""
        for unit in units:
            start = self.offset + unit * UNIT_SIZE
            old = self.before.content[self.file][start : start + UNIT_SIZE]
            self.device.content[self.file][start : start + UNIT_SIZE] = old

    def garble_unit(self, *units: int) -> None:
        for unit in units:
            self.device.garble(self.file, self.offset + unit * UNIT_SIZE)

    def reopen(self, **options: bool) -> Opened:
        return open_log(self.device, new=False, **options)


def expect(opened: Opened, op: int, end_class: EndClass, case: int) -> None:
    assert [batch.op for batch in opened.batches] == list(range(1, op + 1))
    assert (opened.end.op, opened.end.end_class, opened.end.case) == (op, end_class, case)


def lost(log: Written) -> AcknowledgedDataLost:
    before = log.device.copy()
    with pytest.raises(AcknowledgedDataLost) as caught:
        log.reopen()
    assert log.device.content == before.content, "a refused directory is left as it was"
    return caught.value


def put_frame(
    log: Written,
    offset: int,
    op: int,
    prev: bytes,
    *,
    kind: int = FrameKind.BATCH,
    **changes: int,
) -> None:
    """Write a frame behind the log's back, as another boot or a second write in flight would."""
    writer = log.opened.log._writer
    batch = next_batch(op, prev, 900)
    body = batch.data if kind == FrameKind.BATCH else b""
    values = {
        "boot_count": writer.boot_count,
        "local_seq": writer.next_seq,
        "log_gen": 0,
        "accept_view": 0,
        "durable_op": op - 1,
    } | changes
    prev_local = writer.prev_local if "foreign_prev" not in values else b"?" * 16
    values.pop("foreign_prev", None)
    buffer = memoryview(bytearray(frame_bytes(len(body))))
    encode_frame_into(
        buffer,
        offset,
        writer.file_key,
        kind=kind,
        op=op,
        prev_local=prev_local,
        body_hash=batch.hash if kind == FrameKind.BATCH else bytes(16),
        body=body,
        **values,
    )
    log.device.content[writer.file][offset : offset + len(buffer)] = buffer


# ---------------------------------------------------------------- T: never acknowledged


def test_case_1_an_older_tag_is_the_end_of_the_log():
    log = Written()
    opened = log.reopen()
    expect(opened, 3, EndClass.TORN, 1)
    assert opened.recovered.reports == (), "an ordinary end is no news"


def test_case_1_holds_for_stale_frames_of_a_recycled_file():
    device = RamDevice()
    opened = open_log(device)
    for _ in range(150):
        opened.append(3000)
        opened.log.trim(opened.log.head_op, Checkpoint(opened.log.head_op, opened.log.head_hash))
        opened.log.prepare_ahead()
    assert max(start.header.life for start in opened.log._writer.starts) > 2
    again = open_log(device)
    assert again.batches == opened.batches[-len(again.batches) :]
    assert (again.end.op, again.end.case) == (150, 1)
    assert again.recovered.reports == ()


def test_case_2_a_valid_header_with_an_older_unit_is_torn():
    log = Written()
    log.lose_unit(1)
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_case_2_holds_when_the_lost_unit_is_only_padding():
    log = Written()
    log.lose_unit(7)
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_case_2_holds_in_the_last_block_of_a_long_frame():
    log = Written(size=13_000)
    assert log.size == 4 * BLOCK_SIZE
    log.lose_unit(31)
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_case_2_holds_when_two_boots_died_over_the_same_place():
    log = Written()
    log.lose_unit(5)
    second = log.reopen()
    first_attempt = log.device.copy()
    second.append(900)
    for unit in range(1, 8):  # of the second attempt only the header landed
        start = log.offset + unit * UNIT_SIZE
        old = first_attempt.content[log.file][start : start + UNIT_SIZE]
        log.device.content[log.file][start : start + UNIT_SIZE] = old
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_case_2_holds_when_only_the_rest_of_the_second_attempt_landed():
    log = Written()
    log.lose_unit(5)
    second = log.reopen()
    first_attempt = log.device.copy()
    second.append(900)
    old = first_attempt.content[log.file][log.offset : log.offset + UNIT_SIZE]
    log.device.content[log.file][log.offset : log.offset + UNIT_SIZE] = old
    assert log.reopen().end.end_class is EndClass.TORN


def test_case_3_garbage_beside_an_older_unit_is_torn():
    log = Written()
    log.garble_unit(0)
    log.lose_unit(4)
    expect(log.reopen(), 2, EndClass.TORN, 3)


def test_case_7_a_frame_that_does_not_continue_the_physical_chain_is_stale():
    log = Written(size=100)
    put_frame(log, log.offset + BLOCK_SIZE, 4, log.opened.log.head_hash, foreign_prev=1)
    expect(log.reopen(), 3, EndClass.TORN, 7)


def test_case_7_a_frame_of_a_boot_that_never_was_is_stale():
    log = Written(size=100)
    put_frame(log, log.offset + BLOCK_SIZE, 4, log.opened.log.head_hash, boot_count=9)
    expect(log.reopen(), 3, EndClass.TORN, 7)


# ---------------------------------------------------------------- F and U without a witness


def test_case_4_damaged_content_keeps_its_identity_and_is_reported_loudly():
    log = Written()
    log.device.flip(log.file, log.offset + 600)
    opened = log.reopen()
    expect(opened, 2, EndClass.FAULTY, 4)
    last = log.opened.batches[-1]
    assert opened.end.identity == BatchId(last.op, last.hash)
    assert opened.recovered.reports == (opened.end.report,)
    assert f"{log.file}, byte {log.offset}, op 3" in opened.end.report


def test_case_4_holds_for_a_block_of_the_body_that_cannot_be_read():
    log = Written(size=13_000)
    log.device.unreadable.add((log.file, log.offset + 2 * BLOCK_SIZE))
    expect(log.reopen(), 2, EndClass.FAULTY, 4)


def test_case_5_an_unreadable_header_without_an_older_unit_is_unknown():
    log = Written()
    log.garble_unit(0)
    opened = log.reopen()
    expect(opened, 2, EndClass.UNKNOWN, 5)
    assert "op 3" in opened.recovered.reports[0]


def test_case_5_holds_for_a_header_block_that_cannot_be_read():
    log = Written()
    log.device.unreadable.add((log.file, log.offset))
    expect(log.reopen(), 2, EndClass.UNKNOWN, 5)


def test_case_5_holds_for_a_discarded_block_that_reads_as_zeros():
    log = Written()
    log.device.content[log.file][log.offset : log.offset + log.size] = bytes(log.size)
    expect(log.reopen(), 2, EndClass.UNKNOWN, 5)


def test_S_11_an_uncertain_end_is_noted_before_anything_overwrites_it():
    log = Written()
    log.garble_unit(0)
    opened = log.reopen()
    unknown = opened.log.superblock.unknown
    assert unknown is not None
    assert unknown.op == 3
    again = log.reopen()
    assert again.log.superblock.unknown == unknown, "until the batch is durable"
    again.append()
    assert log.reopen().log.superblock.unknown is None


# ---------------------------------------------------------------- with a witness


@pytest.mark.parametrize("damage", ["flip", "garble", "lose_header", "lose_body", "lose_all"])
def test_case_6_any_damage_before_a_later_frame_is_lost_data(damage):
    log = Written()
    log.opened.append()
    if damage == "flip":
        log.device.flip(log.file, log.offset + 600)
    elif damage == "garble":
        log.garble_unit(0)
    else:
        units = {"lose_header": [0], "lose_body": [1], "lose_all": range(8)}[damage]
        log.lose_unit(*units)
    error = lost(log)
    assert f"{log.file}, byte {log.offset}, op 3" in error.positions
    assert f"{log.file}, byte {log.offset + BLOCK_SIZE}, op 4" in error.positions
    assert "byte" in str(error)


def test_case_6_a_seal_is_witness_enough():
    log = Written()
    log.opened.seal()
    log.garble_unit(0)
    assert log.file in lost(log).positions[0]


def test_case_6_the_witness_may_lie_in_the_next_segment():
    log = Written(count=2, size=19_500)
    log.opened.append(3_000)
    assert log.device.writes[-1][0] != log.file
    log.lose_unit(*range(log.size // UNIT_SIZE))
    assert len(lost(log).positions) == 2


def test_case_6_a_missing_segment_file_is_named():
    log = Written(count=2, size=19_500)
    log.opened.append(30_000)
    log.opened.append(60_000 - 30_000)
    files = [name for name in log.device.files() if name.startswith("segment")]
    assert len(files) >= 3
    del log.device.content[files[1]]
    assert files[1] in str(lost(log))


def test_case_6_the_superblock_is_a_witness_of_what_it_vouches_for():
    log = Written()
    vouch = BatchId(3, log.opened.log.head_hash)
    log.opened.log.save_superblock(msgspec.structs.replace(log.opened.log.superblock, vouch=vouch))
    assert log.reopen().end.op == 3
    log.lose_unit(*range(8))
    assert "superblock" in str(lost(log))


def test_case_6_in_a_group_is_a_hole_to_be_repaired_not_a_refusal():
    log = Written()
    log.opened.append()
    log.garble_unit(0)
    opened = log.reopen(is_alone=False)
    expect(opened, 2, EndClass.FAULTY, 6)
    assert opened.end.witness is not None
    assert opened.end.witness.op == 4


def test_case_6_a_segment_header_lost_in_both_copies_is_named():
    log = Written()
    log.device.garble(log.file, 0)
    assert log.reopen().end.op == 3, "one copy is enough"
    log.device.garble(log.file, BLOCK_SIZE)
    assert "header" in str(lost(log))


# ---------------------------------------------------------------- refusals


def test_case_8_a_superblock_older_than_the_log_is_refused():
    log = Written()
    superblock = log.opened.log.superblock
    old = bytes(log.device.content["superblock"])
    log.opened.log.save_superblock(msgspec.structs.replace(superblock, view=5, log_view=5))
    log.opened.append()
    assert log.reopen().end.op == 4
    log.device.content["superblock"][:] = old
    with pytest.raises(DirectoryRefused, match="case 8"):
        log.reopen()


@pytest.mark.parametrize("kind", [FrameKind.INST_BEGIN, FrameKind.INST_COMMIT])
def test_case_9_an_install_bracket_is_refused_by_name(kind):
    log = Written(size=100)
    put_frame(log, log.offset + BLOCK_SIZE, 3, bytes(16), kind=kind, durable_op=3)
    with pytest.raises(DirectoryRefused, match="install bracket"):
        log.reopen()


# ---------------------------------------------------------------- two writes in flight


def second_in_flight(log: Written) -> None:
    """Put batch 4 behind batch 3 as if it had been submitted before 3 was durable."""
    put_frame(log, log.offset + log.size, 4, log.opened.log.head_hash, durable_op=2)


def test_a_frame_whose_envelope_and_tag_disagree_is_no_witness():
    log = Written()
    put_frame(log, log.offset + log.size, 5, log.opened.log.head_hash, durable_op=3)
    start = log.offset + log.size
    stolen = bytes(log.device.content[log.file][start : start + TAG_PLACE])
    put_frame(log, start, 5, log.opened.log.head_hash, durable_op=2, local_seq=1 << 20)
    log.device.content[log.file][start : start + TAG_PLACE] = stolen
    log.lose_unit(1)
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_case_10_a_torn_frame_before_one_written_beside_it_is_torn():
    log = Written()
    second_in_flight(log)
    assert log.reopen().end.op == 4, "both landed"
    log = Written()
    second_in_flight(log)
    log.lose_unit(1)
    expect(log.reopen(), 2, EndClass.TORN, 10)


def test_case_10_without_an_older_unit_the_frame_may_have_been_acknowledged():
    log = Written()
    second_in_flight(log)
    log.device.flip(log.file, log.offset + 600)
    opened = log.reopen()
    expect(opened, 2, EndClass.FAULTY, 10)
    assert opened.recovered.reports


def test_leftovers_of_a_dead_boot_never_complete_the_frame_that_overwrites_them():
    log = Written(size=9_000)
    log.lose_unit(*range(8))  # only the second and third block of the first attempt landed
    second = log.reopen()
    dead = log.device.copy()
    second.append(9_100)  # and of the second attempt only the first
    rest = slice(log.offset + BLOCK_SIZE, log.offset + log.size)
    log.device.content[log.file][rest] = dead.content[log.file][rest]
    expect(log.reopen(), 2, EndClass.TORN, 2)


def test_S_2_a_second_write_of_a_dead_boot_never_chains_onto_its_replacement():
    log = Written()
    second_in_flight(log)
    log.lose_unit(1)
    second = log.reopen()
    again = second.append(900)
    assert again.data == log.opened.batches[-1].data, "the same canonical bytes"
    assert log.reopen().end.op == 3


# ---------------------------------------------------------------- segment borders


@pytest.mark.parametrize(
    ("unit", "end_class", "case"), [(0, EndClass.UNKNOWN, 5), (3, EndClass.FAULTY, 4)]
)
def test_damage_of_a_segments_first_frame_is_not_taken_for_the_end(unit, end_class, case):
    log = Written(count=2, size=19_500)
    log.opened.append(3_000)
    file, offset, _ = log.device.writes[-1]
    assert (file, offset) == (segment_name(2), DATA_START)
    log.device.garble(file, offset + unit * UNIT_SIZE)
    opened = log.reopen()
    expect(opened, 2, end_class, case)
    assert opened.end.place.file == file


def test_a_frame_that_no_longer_fitted_behind_a_torn_one_is_found():
    log = Written(count=3, size=900)
    log.lose_unit(1)
    second = log.reopen()
    second.append(30_000)
    assert log.device.writes[-1][0] == segment_name(2)
    second.append(100)
    opened = log.reopen()
    assert opened.batches == second.batches
    assert opened.recovered.reports == ()


def test_segment_sizes_are_those_of_the_file_not_of_the_build():
    log = Written()
    bigger = msgspec.structs.replace(SMALL, first_bytes=128 * 1024)
    assert open_log(log.device, sizes=bigger).end.op == 3
