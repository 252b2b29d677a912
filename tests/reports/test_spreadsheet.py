"""The sessions as CSV."""

import csv
import io
from typing import Any

import pytest

from assay.reports.spreadsheet import list_columns, render_csv
from tests.make_report import report_of, some_sessions
from tests.make_sessions import failing, missed, session_of
from tests.tables import each_row


def rows(*sessions: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(render_csv(report_of(sessions)).decode("utf-8"), newline="")))


def test_every_session_is_a_row_under_a_header():
    found = rows(*some_sessions())
    assert len(found) == 10
    assert list(found[0]) == list_columns()


def test_an_empty_report_is_a_header():
    assert render_csv(report_of([])).decode().count("\n") == 1


@each_row(
    ("session", "column", "cell"),
    [
        (session_of(), "crushed", "true"),
        (missed(), "crushed", "false"),
        (session_of(judge_status="no_goal"), "crushed", ""),
        (session_of(facts={"cost_usd": None}), "cost_usd", ""),
        (session_of(facts={"cost_usd": 0.0}), "cost_usd", "0.0"),
        (session_of(facts={"files": ["a", "b"]}), "files", "2"),
        (session_of(), "tokens", "100"),
        (session_of(facts={"lines_added": -3}), "lines_added", "-3"),
        (failing("frustration", "unresolved_error"), "failure_signals", "frustration, unresolved_error"),
        (missed(), "why", "unverified"),
        (session_of(rework="open"), "rework", "open"),
    ],
)
def test_a_value_stands_under_its_name_and_what_is_not_known_is_empty(session: Any, column: str, cell: str):
    assert rows(session)[0][column] == cell


@each_row(
    "hostile",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", '=HYPERLINK("http://evil.example")', "＝1", "－1"],
)
def test_no_spreadsheet_takes_text_for_a_formula(hostile: str):
    found = rows(session_of(title=hostile, summary=hostile, branch=hostile, id=hostile))
    assert [found[0][name][0] for name in ("title", "summary", "branch", "id")] == ["'"] * 4


@pytest.mark.parametrize("hostile", ["a;=1", 'a",=1', "a\n=1", "a\x1b[2J", "a,b"])
def test_text_stays_in_its_cell(hostile: str):
    session = session_of(title=hostile)
    raw = render_csv(report_of([session])).decode()
    assert raw.count("\n") == 2
    assert len(rows(session)[0]) == len(list_columns())
    assert "\x1b" not in raw
    assert f'"{rows(session)[0]["title"]}"'.replace('a"', 'a""') in raw  # quoted, whatever separates
