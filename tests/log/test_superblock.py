"""The superblock: a quorum of copies or nothing."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fusee.base.limits import BLOCK_SIZE
from fusee.log.superblock import (
    COPY_COUNT,
    BatchId,
    LogBase,
    Member,
    Role,
    Stored,
    Superblock,
    SuperblockFault,
    SuperblockRefused,
    Unknown,
    choose,
    decode_copy,
    encode_copy,
    not_as_written,
    repair_order,
    store,
)

FIRST = Superblock(
    group_id=b"g" * 16,
    incarnation=b"i" * 16,
    base=LogBase(1, 8192),
    members=tuple(Member(i, f"replica-{i}", f"10.0.0.{i}:7001", b"m" * 16) for i in range(5)),
    view=7,
    log_view=6,
    vouch=BatchId(12, b"v" * 16),
    unknown=Unknown(13, 6),
    role=Role.LEARNER,
)


def chain(length: int) -> list[Stored]:
    line = [store(FIRST, None)]
    while len(line) < length:
        later = msgspec.structs.replace(FIRST, boot_count=len(line))
        line.append(store(later, line[-1]))
    return line


def copies_of(*updates: Stored | None) -> list[bytes | None]:
    return [update and encode_copy(update, index) for index, update in enumerate(updates)]


def refusal(blocks: list[bytes | None]) -> SuperblockRefused:
    with pytest.raises(SuperblockRefused) as caught:
        choose(blocks)
    return caught.value


def test_all_fields_read_back():
    stored = store(FIRST, None)
    assert choose(copies_of(*[stored] * 4)).superblock == FIRST


def test_two_identical_copies_are_enough_whichever_they_are():
    (only,) = chain(1)
    for kept in product([True, False], repeat=COPY_COUNT):
        blocks = copies_of(*[only if keep else None for keep in kept])
        if sum(kept) >= 2:
            assert choose(blocks) == only
        else:
            assert refusal(blocks).fault is SuperblockFault.QUORUM_LOST


@pytest.mark.parametrize("written", range(COPY_COUNT + 1))
@pytest.mark.parametrize("torn", [True, False])
def test_an_update_cut_off_anywhere_leaves_the_old_or_the_new(written, torn):
    old, new = chain(2)
    updates: list[Stored | None] = [new if i < written else old for i in range(COPY_COUNT)]
    if torn and written < COPY_COUNT:
        updates[written] = None
    chosen = choose(copies_of(*updates))
    assert chosen == (new if written >= 2 else old)


def test_a_single_copy_is_never_used():
    old, new = chain(2)
    assert refusal(copies_of(new, old, None, None)).fault is SuperblockFault.QUORUM_LOST


def test_a_copy_two_updates_ahead_proves_a_lost_promise():
    first, _, third = chain(3)
    error = refusal(copies_of(third, first, first, first))
    assert error.fault is SuperblockFault.QUORUM_LOST
    assert "update 3" in str(error)


def test_copies_of_two_histories_are_refused():
    (mine,) = chain(1)
    other = store(msgspec.structs.replace(FIRST, slot=2), None)
    later = store(FIRST, other)
    assert refusal(copies_of(mine, mine, later, mine)).fault is SuperblockFault.FORKED
    assert refusal(copies_of(mine, mine, other, other)).fault is SuperblockFault.FORKED


def test_a_copy_in_another_copys_place_does_not_count():
    (only,) = chain(1)
    misplaced = encode_copy(only, 0)
    assert refusal([misplaced, misplaced, misplaced, None]).fault is SuperblockFault.QUORUM_LOST


def test_another_format_is_named_with_the_one_we_read():
    first = store(FIRST, None)
    error = refusal([reformat(encode_copy(first, copy), version=9) for copy in range(COPY_COUNT)])
    assert error.fault is SuperblockFault.OTHER_FORMAT
    assert "format 9" in str(error)
    assert "reads format 1" in str(error)


def reformat(block: bytes, version: int) -> bytes:
    from fusee.base.checksum import hash128

    tail = version.to_bytes(4, "little") + block[32:]
    return block[:8] + hash128(tail) + block[24:28] + tail


def test_a_file_that_is_something_else_says_so():
    error = refusal([b"SQLite format 3\x00".ljust(BLOCK_SIZE, b"x")] * 4)
    assert error.fault is SuperblockFault.NOT_A_SUPERBLOCK


def test_repair_rewrites_unreadable_copies_first_and_good_ones_never():
    old, new = chain(2)
    blocks = copies_of(old, new, None, new)
    assert repair_order(blocks, choose(blocks)) == [2, 0]


def test_only_copies_that_read_back_as_written_are_counted():
    old, new = chain(2)
    assert not_as_written(copies_of(new, new, old, None), new) == [2, 3]


@given(st.binary(max_size=2 * BLOCK_SIZE), st.integers(0, 3))
def test_arbitrary_bytes_are_never_a_copy(data, copy):
    for block in (data, data[:BLOCK_SIZE].ljust(BLOCK_SIZE, b"\0"), b"FUSEESB\0" + data):
        assert isinstance(decode_copy(block, copy), SuperblockFault)


@settings(deadline=None)
@given(st.integers(0, BLOCK_SIZE * 8 - 1))
def test_one_flipped_bit_is_refused(bit):
    block = bytearray(encode_copy(store(FIRST, None), 1))
    block[bit // 8] ^= 1 << bit % 8
    assert isinstance(decode_copy(bytes(block), 1), SuperblockFault)


@given(st.binary(max_size=300))
def test_a_right_checksum_over_a_foreign_body_is_refused(body):
    import struct

    from fusee.base.checksum import hash128

    checked = struct.pack("<IQ16sI4x", 1, 1, bytes(16), len(body)) + body
    checked = checked.ljust(BLOCK_SIZE - 28, b"\0")
    block = b"FUSEESB\0" + hash128(checked) + bytes(4) + checked
    assert isinstance(decode_copy(block, 0), SuperblockFault)
