"""`fusee runs`: the same answers from the owner and from the files, in three formats."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from fusee import Context, workflow
from fusee.base.limits import PAYLOAD_BYTES_MAX
from fusee.cli.show import JOURNAL_HEADER
from tests.support import dev_shop as shop
from tests.support.owners import live

LONG = "x" * 300_000


def snapshot(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def lines_of(result):
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


# ---------------------------------------------------------------- list


def test_a_list_from_the_files_changes_nothing_and_says_where_it_is_from(fusee, shop_dir):
    before = snapshot(shop_dir)

    result = fusee("runs", "list", "--dir", shop_dir)

    header, *rows = lines_of(result)
    assert header.split() == ["ID", "RUN", "WORKFLOW", "STATUS", "HELD", "STARTED", "CLOSED"]
    assert [row.split()[:5] for row in rows] == [
        ["order-2", "1", "checkout@1", "completed", "-"],
        ["order-1", "1", "checkout@1", "running", "?"],
        ["hopeless", "1", "failing@1", "failed", "-"],
    ]
    assert "no process has" in result.stderr
    assert snapshot(shop_dir) == before


def test_the_owner_and_the_files_list_the_same_runs(fusee, shop_dir):
    from_files = json.loads(fusee("runs", "list", "--dir", shop_dir, "-o", "json").stdout)
    with live(shop_dir):
        from_owner = json.loads(fusee("runs", "list", "--dir", shop_dir, "-o", "json").stdout)

    assert (from_files["source"], from_owner["source"]) == ("files", "owner")
    assert from_files["runs"] == from_owner["runs"]


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--status", "running"], ["order-1"]),
        (["--status", "failed"], ["hopeless"]),
        (["--status", "held"], []),
        (["--workflow", "checkout"], ["order-2", "order-1"]),
        (["--workflow", "checkout@1", "--limit", "1"], ["order-2"]),
        (["--workflow", "checkout@2"], []),
        (["--workflow", "check"], []),
    ],
)
def test_a_list_shows_what_is_asked_for(fusee, shop_dir, options, ids):
    header, *rows = lines_of(fusee("runs", "list", "--dir", shop_dir, "-o", "tsv", *options))

    assert header.startswith("ID\tRUN\t")
    assert [row.split("\t")[0] for row in rows] == ids


def test_the_directory_may_come_from_the_environment(fusee, shop_dir):
    assert len(lines_of(fusee("runs", "list", FUSEE_DIR=str(shop_dir)))) == 4


def test_a_list_of_many_runs_is_whole(fusee, tmp_path):
    with live(tmp_path) as owner:

        async def start_all():
            for number in range(500):
                await owner.engine.start(shop.failing, f"run-{number}")

        owner.call(start_all)
        rows = lines_of(fusee("runs", "list", "--dir", tmp_path))

    assert len(rows) == 501


# ---------------------------------------------------------------- show


def test_a_journal_shows_operations_outcomes_and_attempts(fusee, shop_dir):
    lines = lines_of(fusee("runs", "show", "order-1", "--journal", "--dir", shop_dir))

    assert lines[0] == "order-1/1  checkout@1  running"
    assert re.fullmatch(r"started \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", lines[1])
    assert lines[2].split() == list(JOURNAL_HEADER)
    assert re.fullmatch(
        r' 1 +step +price +\{"sku":"tea"\} +"3.90" +\d\d:\d\d:\d\d +\S+ (µs|ms|s) +1', lines[3]
    )
    declined = r"2  \(1: tests.support.dev_shop:Declined: the card is asleep\)"
    assert re.match(rf' 2 +step +charge +.*"ch_3.90".* {declined}$', lines[4])
    assert lines[5].split()[:5] == ["3", "wait", "for", "signal", "review"]
    assert lines[6] == "unread signals: none      keys: order-1/1/<pos>"


def test_without_a_journal_it_shows_what_the_run_waits_for(fusee, shop_dir):
    lines = lines_of(fusee("runs", "show", "order-1", "--dir", shop_dir))

    assert lines[2:5] == [
        "waits for:",
        " POS  KIND  NAME    ATTEMPT  NEXT  LAST ERROR",
        " 3    wait  review  1",
    ]


def test_a_failed_run_shows_its_error(fusee, shop_dir):
    lines = lines_of(fusee("runs", "show", "hopeless", "--dir", shop_dir))

    assert lines[0] == "hopeless/1  failing@1  failed"
    assert "   closed " in lines[1]
    assert lines[2] == "error: tests.support.dev_shop:Declined: as always"


def test_unread_signals_are_counted_by_name(fusee, shop_dir):
    for name in ("b", "a", "b"):
        assert fusee("runs", "signal", "order-1", name, "--dir", shop_dir).exit_code == 0

    lines = lines_of(fusee("runs", "show", "order-1", "--dir", shop_dir))

    assert lines[-1] == "unread signals: b ×2, a ×1      keys: order-1/1/<pos>"


def test_a_held_run_says_why_on_top(fusee, shop_dir):
    with live(shop_dir, shop.changed) as owner:
        owner.until_held("order-1")
        lines = lines_of(fusee("runs", "show", "order-1", "--journal", "--dir", shop_dir))
        rows = lines_of(fusee("runs", "list", "--status", "held", "--dir", shop_dir))
        document = json.loads(
            fusee("runs", "show", "order-1", "-o", "json", "--dir", shop_dir).stdout
        )

    said = "the journal recorded step 'charge' here but the code called step 'refund'"
    assert lines[0] == f"order-1/1  checkout@1  running, held (nondeterminism): {said}"
    assert lines[1].startswith("  run order-1/1 (checkout@1), position 2, at ")
    assert [row.split()[:5] for row in rows[1:]] == [
        ["order-1", "1", "checkout@1", "running", "nondeterminism"]
    ]
    assert document["run"]["held"] == "nondeterminism"


def test_an_earlier_run_of_an_id_is_named_by_its_number(fusee, shop_dir):
    with live(shop_dir) as owner:
        owner.start(shop.failing, "hopeless")
        owner.call(lambda: owner.engine.options(reuse="allow").start(shop.checkout, "order-2", "x"))

    first = lines_of(fusee("runs", "show", "order-2", "--run", "1", "--dir", shop_dir))
    newest = lines_of(fusee("runs", "show", "order-2", "--dir", shop_dir))
    third = fusee("runs", "show", "order-2", "--run", "3", "--dir", shop_dir)

    assert first[0].startswith("order-2/1  checkout@1  completed")
    assert newest[0].startswith("order-2/2  checkout@1  running")
    assert third.exit_code == 9
    assert "there is no run 3 of the ID 'order-2'" in third.stderr


@pytest.mark.parametrize("is_live", [True, False], ids=["owner", "files"])
@pytest.mark.parametrize("output", ["table", "json", "tsv"])
def test_a_very_long_payload_is_never_cut(fusee, tmp_path, output, is_live):
    with live(tmp_path) as owner:
        owner.start(shop.checkout, "order-1", LONG)
        owner.until_waiting("order-1", 3)
        if is_live:
            result = fusee("runs", "show", "order-1", "--journal", "-o", output, "--dir", tmp_path)
    if not is_live:
        result = fusee("runs", "show", "order-1", "--journal", "-o", output, "--dir", tmp_path)

    assert result.exit_code == 0
    assert LONG in result.stdout
    if output == "json":
        assert LONG in json.loads(result.stdout)["journal"][0]["input"]
    else:
        others = [line for line in result.stdout.splitlines() if LONG not in line]
        assert max(map(len, others)) < 300, "one long cell does not widen every line"


def test_names_and_ids_cannot_move_the_cursor(fusee, tmp_path):
    with live(tmp_path) as owner:
        owner.start(shop.checkout, "red\x1b[31m\n", "tea")
        owner.call(lambda: owner.engine.get("", "red\x1b[31m\n").signal("bell\x07", 1))
        shown = fusee("runs", "show", "red\x1b[31m\n", "--journal", "--dir", tmp_path)
        listed = fusee("runs", "list", "--dir", tmp_path)
        missing = fusee("runs", "show", "no\x1b[31m", "--dir", tmp_path)

    for text in (shown.stdout, listed.stdout, missing.stderr):
        assert "\x1b" not in text
        assert "\x07" not in text
    assert "red\\x1b[31m\\n" in listed.stdout
    assert missing.exit_code == 9


def test_tsv_has_one_line_a_row_whatever_is_in_it(fusee, tmp_path):
    with live(tmp_path) as owner:
        owner.start(shop.checkout, "a\tb\\c\nd", "tea")
        rows = lines_of(fusee("runs", "list", "-o", "tsv", "--dir", tmp_path))

    assert [row.split("\t")[0] for row in rows] == ["ID", "a\\tb\\\\c\\nd"]


# ---------------------------------------------------------------- signal, query


def test_a_signal_to_a_live_owner_is_seen_by_the_run(fusee, shop_dir):
    with live(shop_dir) as owner:
        result = fusee("runs", "signal", "order-1", "review", "true", "--dir", shop_dir)
        assert lines_of(result) == ["signalled (durable)"]

        run = owner.engine.get(shop.checkout, "order-1")
        assert owner.call(lambda: run.result(timeout=20)) == "ch_3.90 True"


def test_a_signal_without_an_owner_is_seen_after_the_next_open(fusee, shop_dir):
    result = fusee("runs", "signal", "order-1", "review", "false", "--dir", shop_dir)
    assert lines_of(result) == ["signalled (durable)"]

    with live(shop_dir) as owner:
        run = owner.engine.get(shop.checkout, "order-1")
        assert owner.call(lambda: run.result(timeout=20)) == "ch_3.90 False"


@pytest.mark.parametrize("is_live", [True, False], ids=["owner", "files"])
def test_the_same_signal_id_twice_is_one_signal_and_the_first_value_stands(
    fusee, shop_dir, is_live
):
    def send(value):
        arguments = ("runs", "signal", "order-1", "note", value, "--id", "webhook-88")
        return fusee(*arguments, "-o", "json", "--dir", shop_dir)

    def both():
        return send("1"), send("2")

    if is_live:
        with live(shop_dir):
            first, second = both()
    else:
        first, second = both()

    assert json.loads(first.stdout) == {
        "signalled": True,
        "id": "webhook-88",
        "value_differs": False,
    }
    assert json.loads(second.stdout)["value_differs"]
    assert "another value" in second.stderr
    shown = lines_of(fusee("runs", "show", "order-1", "--dir", shop_dir))
    assert shown[-1].startswith("unread signals: note ×1 ")


def test_a_value_may_come_from_stdin(fusee, shop_dir):
    big = json.dumps("y" * 200_000)
    result = fusee("runs", "signal", "order-1", "note", "-", "--dir", shop_dir, stdin=big)
    assert result.exit_code == 0

    result = fusee(
        "runs", "signal", "order-1", "note", "-", "--dir", shop_dir,
        stdin=json.dumps("z" * PAYLOAD_BYTES_MAX),
    )  # fmt: skip
    assert result.exit_code == 2
    assert "over the limit of 4194304 bytes" in result.stderr


def test_a_query_prints_the_answer_as_one_document(fusee, shop_dir):
    with live(shop_dir):
        for output in ("table", "json", "tsv"):
            result = fusee("runs", "query", "order-1", "cart", "-o", output, "--dir", shop_dir)
            assert json.loads(result.stdout) == {"tea": 2}
        closed = fusee("runs", "query", "order-2", "cart", "--dir", shop_dir)

    assert json.loads(closed.stdout) == {"coffee": 1}


def test_a_run_that_nothing_can_wake_says_so(fusee, tmp_path):
    @workflow
    async def forgotten(ctx: Context) -> None:
        await asyncio.Event().wait()

    with live(tmp_path, [forgotten]) as owner:
        owner.start(forgotten, "w")

        shown = lines_of(fusee("runs", "show", "w", "--dir", tmp_path))
        document = json.loads(fusee("runs", "show", "w", "--dir", tmp_path, "-o", "json").stdout)

    assert shown[2].startswith("nothing can wake it: the code waits at ")
    assert "test_runs.py" in shown[2]
    assert document["run"]["waits_for_nothing"] in shown[2]


def test_the_footer_says_where_the_code_waits(fusee, shop_dir):
    with live(shop_dir) as owner:
        owner.until_waiting("order-1", 3)

        *_, footer = lines_of(fusee("runs", "show", "order-1", "--dir", shop_dir))
        document = json.loads(
            fusee("runs", "show", "order-1", "--dir", shop_dir, "-o", "json").stdout
        )
    *_, from_files = lines_of(fusee("runs", "show", "order-1", "--dir", shop_dir))

    keys, code = footer.split("      code: ")
    assert re.fullmatch(r"tests/support/dev_shop\.py:\d+ in checkout", code)
    assert document["run"]["code"] == code
    assert from_files == keys
