"""Secrets that were written down before the rules were looked at."""

import re
from pathlib import Path

import pytest

from assay.sessions.redaction import Redactor
from tests.sessions.redaction_hundred import SECRET, Row, left, rows

ROWS = list(rows())
PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "redaction.md"


@pytest.mark.parametrize("row", ROWS, ids=[one.kind for one in ROWS])
def test_what_is_found_is_gone_and_what_is_missed_is_told(row: Row):
    found = left(row, Redactor().text(row.text))
    assert bool(found) == bool(row.missed), found


@pytest.mark.parametrize(
    "row", [one for one in ROWS if not one.missed], ids=[one.kind for one in ROWS if not one.missed]
)
def test_only_the_secret_goes(row: Row):
    kept = re.findall(r"\w{4,}", SECRET.sub(" ", row.marked))
    said = Redactor().text(row.text)
    assert "[redacted:" in said
    assert len([one for one in kept if one in said]) >= len(kept) * 2 / 3


def test_there_are_a_hundred_in_many_places():
    assert len(ROWS) == 100
    assert len({one.kind for one in ROWS}) == 100
    assert {one.place for one in ROWS} >= {"prompt", "environment", "command", "header", "url", "file", "json", "yaml"}


def test_the_page_says_how_many_are_missed():
    missed = [one for one in ROWS if one.missed]
    assert f"{100 - len(missed)} of 100" in PAGE.read_text("utf-8")
