"""The scan table of docs/internals/log.md, one test a row: a proven loss, and refusals."""

from __future__ import annotations

import msgspec
import pytest

from fusee.base.errors import DirectoryRefused
from fusee.base.limits import BLOCK_SIZE, UNIT_SIZE
from fusee.log.boot import SEQ_GAP
from fusee.log.ending import EndClass
from fusee.log.frame import FrameKind
from fusee.log.segment import choose_header, fill, next_life, spare_name
from fusee.log.superblock import BatchId
from tests.support.damage import Written, expect, lost, put_frame


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


def test_case_8_holds_for_a_torn_frame_too_whose_header_is_whole():
    log = Written()
    superblock = log.opened.log.superblock
    old = bytes(log.device.content["superblock"])
    log.opened.log.save_superblock(msgspec.structs.replace(superblock, view=5, log_view=5))
    file, offset = log.opened.log.file, log.opened.log._writer.offset
    before = bytes(log.device.content[file])
    log.opened.append(5_000)
    torn = slice(offset + BLOCK_SIZE, len(before))
    log.device.content[file][torn] = before[torn]
    assert log.reopen().end.case == 2
    log.device.content["superblock"][:] = old
    with pytest.raises(DirectoryRefused, match="case 8: written in boot 1 and view 5"):
        log.reopen()


@pytest.mark.parametrize("size", [100, 20_000])
def test_case_8_holds_for_a_frame_of_a_boot_that_the_superblock_does_not_know(size):
    log = Written()
    old = bytes(log.device.content["superblock"])
    log.reopen().append(size)
    assert log.reopen().end.op == 4
    log.device.content["superblock"][:] = old
    with pytest.raises(DirectoryRefused, match="case 8: written in boot 2"):
        log.reopen()


def test_a_spare_made_ready_in_a_boot_that_the_superblock_does_not_know_is_refused():
    log = Written()
    header = choose_header([bytes(log.device.content[log.file][:BLOCK_SIZE])])
    for first_seq, is_refused in ((1 << 10, False), (1 << 30, True)):
        spare = next_life(header, number=9, first_seq=first_seq)
        log.device.content[spare_name(1)] = bytearray(b"".join(fill(spare)))
        if is_refused:
            with pytest.raises(DirectoryRefused, match="superblock is older than the log"):
                log.reopen()
        else:
            assert log.reopen().end.op == 3


def test_a_spare_is_refused_before_a_boot_is_saved_so_that_it_is_refused_again():
    """Each boot begins a gap higher: saved by refused openings, they would soon know the spare."""
    log = Written()
    floor = log.reopen().log.superblock.seq_floor
    header = choose_header([bytes(log.device.content[log.file][:BLOCK_SIZE])])
    spare = next_life(header, number=9, first_seq=floor + SEQ_GAP + 1)
    log.device.content[spare_name(1)] = bytearray(b"".join(fill(spare)))
    before = {name: bytes(content) for name, content in log.device.content.items()}
    for _ in range(3):
        with pytest.raises(DirectoryRefused, match="superblock is older than the log"):
            log.reopen()
        assert log.device.content == before


@pytest.mark.parametrize("kind", [FrameKind.INST_BEGIN, FrameKind.INST_COMMIT])
def test_case_9_an_install_bracket_is_refused_by_name(kind):
    log = Written(size=100)
    put_frame(log, log.offset + BLOCK_SIZE, 3, bytes(16), kind=kind, durable_op=3)
    with pytest.raises(DirectoryRefused, match="install bracket"):
        log.reopen()
