"""The scan table of docs/internals/log.md, one test a row: at the borders of segments."""

from __future__ import annotations

import msgspec
import pytest

from fusee.base.limits import UNIT_SIZE
from fusee.log.ending import EndClass
from fusee.log.segment import DATA_START, segment_name
from tests.support.damage import Written, expect
from tests.support.logs import SMALL, open_log


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
