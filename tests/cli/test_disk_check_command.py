"""`fusee disk-check`: the report in three formats, and nothing left behind."""

from __future__ import annotations

import json


def test_it_reports_every_method_and_leaves_nothing(fusee, tmp_path):
    result = fusee("disk-check", tmp_path, "--writes", 20)

    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{tmp_path}  ")
    assert sum("will be used" in line for line in lines) == 1
    assert "two in flight" in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_document_and_tsv_one_line_a_method(fusee, tmp_path):
    document = json.loads(fusee("disk-check", tmp_path, "--writes", 20, "-o", "json").stdout)
    lines = fusee("disk-check", tmp_path, "--writes", 20, "-o", "tsv").stdout.splitlines()

    assert document["directory"] == str(tmp_path)
    methods = [timing["method"] for timing in document["timings"]]
    assert document["chosen"] in methods
    assert lines[0].split("\t") == ["METHOD", "P50_NS", "P99_NS", "CHOSEN", "ERROR"]
    assert len(lines) == 1 + len(methods)
    assert [line.split("\t")[3] for line in lines[1:]].count("yes") == 1
