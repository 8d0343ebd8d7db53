"""A fault at a system call, and short sequences with a crash in them: the sample CI runs.

The complete matrices are commands: `python -m tests.real.syscalls --all`, `... .ace --all`.
"""

from __future__ import annotations

import pytest

from fusee.io.methods import Method
from tests.real import ace, syscalls
from tests.real.capabilities import needs
from tests.real.syscalls import SAMPLE, SETUPS, Place, Report, Work, run_campaign, run_one, spread
from tests.real.tracing import Injection, Trace

pytestmark = [pytest.mark.real, pytest.mark.slow, needs(*syscalls.NEEDS)]


def test_a_fault_at_a_system_call_breaks_no_promise(tmp_path):
    report = run_campaign(tmp_path, SAMPLE, points=2)

    print(report)
    assert not report.broken, str(report)
    assert report.injected.total() > 50, f"the workload has shrunk:\n{report}"
    for call in ("pwritev2", "pwrite64", "fdatasync", "fsync", "renameat", "openat", "write"):
        assert report.injected[f"{call} kill"], f"{call} was never hit:\n{report}"


def test_every_sequence_of_two_operations_survives_a_crash(tmp_path):
    report = ace.run_all(tmp_path, 2, at=(9, 12))

    print(report)
    assert not report.broken, str(report)
    assert report.injected.total() > 30, str(report)


@pytest.mark.parametrize("method", list(syscalls.DATA))
def test_a_write_that_was_reported_and_never_made_is_found_before_a_later_one(tmp_path, method):
    setup = next(s for s in SETUPS if s.method is method and not s.is_used)
    place = Place(tmp_path)
    report = Report()
    try:
        # Behind the first writes of the superblock. How many frames there are, and which
        # writes are the superblock's, depends on the machine's load: so go on until two are found.
        for when in range(9, 40):
            if report.verdicts["found"] >= 2:
                break
            injection = Injection(syscalls.DATA[Method(method)][0], "lost", when)
            outcome = run_one(place, setup, injection)
            report.verdicts[outcome.verdict] += 1
            report.broken += outcome.reasons
    finally:
        place.close()

    assert set(report.verdicts) <= {"found", "kept"}, str(report)
    assert report.verdicts["found"] >= 2, str(report)


@pytest.mark.parametrize(
    ("fault", "verdict", "complaint"),
    [
        ("eio", "broken", "it went on after a write that failed"),
        ("lost", "found", ""),  # Here the disk lies, not the engine.
    ],
)
def test_an_engine_that_takes_errors_for_success_is_convicted(tmp_path, fault, verdict, complaint):
    setup = next(s for s in SETUPS if s.method is Method.BUFFERED and not s.is_used)
    place = Place(tmp_path)
    outcomes = []
    try:
        for when in range(9, 40):  # Which of them write frames depends on the machine's load.
            deaf = Work(faulty={"device": "deaf"})
            outcomes.append(run_one(place, setup, Injection("pwrite64", fault, when), deaf))
            if outcomes[-1].verdict == verdict:
                break
    finally:
        place.close()

    assert outcomes[-1].verdict == verdict, outcomes
    assert not complaint or complaint in outcomes[-1].reasons


def test_writes_that_go_on_after_an_error_are_seen_in_a_trace(tmp_path):
    log = "9</d/segment-000000000001>"
    (tmp_path / "trace").write_text(
        f'7 pwritev2({log}, [{{iov_base=""..., iov_len=4096}}], 1, 8192, RWF_DSYNC) = -1 EIO'
        " (Input/output error) (INJECTED)\n"
        f'7 pwritev2({log}, [{{iov_base=""..., iov_len=4096}}], 1, 12288, RWF_DSYNC) = 4096\n'
    )
    trace = Trace(tmp_path / "trace")

    assert trace.has_injected
    assert trace.hit_log_file
    assert trace.hit_a_frame()
    assert trace.frames_after() == 1
    assert len(trace.writes_after()) == 1


def test_a_spread_has_both_ends():
    assert spread(3, 5) == [1, 2, 3]
    assert spread(101, 3) == [1, 51, 101]
    assert spread(0, 3) == []
