"""The documents hold together: links lead somewhere, and rules that code names are written down."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += [ROOT / folder / "README.md" for folder in ("tests", "bench", "sim", "tla", "cluster")]
SOURCES = sorted((ROOT / "fusee").rglob("*.py"))

LINK = re.compile(r"\]\(([^)#:\"]+)\)")
RULE_DEFINED = re.compile(r"^\| ([A-Z]{1,2}-\d+) \|", re.MULTILINE)
RULE_NAMED = re.compile(r"\b[A-Z]{1,2}-\d+\b")
PAGE_NAMED = re.compile(r"docs/internals/[a-z_]+\.md")


PATH_NAMED = re.compile(r"`((?:fusee|tests|docs|examples|bench|sim|tla|cluster|ansible)/[\w./-]*)`")


def missing(text: str) -> list[str]:
    """Return the paths of this repository that a text names and that are not there."""
    return [path for path in PATH_NAMED.findall(text) if not (ROOT / path).exists()]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def defined_rules() -> list[str]:
    pages = sorted((ROOT / "docs" / "internals").glob("*.md"))
    return [rule for page in pages for rule in RULE_DEFINED.findall(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    targets = LINK.findall(page.read_text())

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_files_and_folders_that_a_page_names_exist(page: Path) -> None:
    assert missing(page.read_text()) == []


def test_a_page_that_names_what_is_gone_is_seen() -> None:
    text = "`fusee/log/scan.py`, `tests/gone/`, `docs/gone.md`, `fusee/<name>.py`, `id/ordinal`"

    assert missing(text) == ["tests/gone/", "docs/gone.md"]


def test_a_rule_id_means_one_rule() -> None:
    rules = defined_rules()

    assert sorted(rule for rule in set(rules) if rules.count(rule) > 1) == []
    assert len(rules) > 40


@pytest.mark.parametrize("source", SOURCES, ids=named)
def test_code_names_only_rules_and_pages_that_exist(source: Path) -> None:
    text = source.read_text()

    assert sorted(set(RULE_NAMED.findall(text)) - set(defined_rules())) == []
    assert [page for page in PAGE_NAMED.findall(text) if not (ROOT / page).exists()] == []
