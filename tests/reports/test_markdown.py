"""The report as Markdown."""

import re
from datetime import UTC, timedelta, timezone

from assay.reports.markdown import render_markdown
from assay.scores.report import Report
from tests.make_report import report_of, some_sessions
from tests.make_sessions import session_of
from tests.tables import each_row


def text(found: Report) -> str:
    return render_markdown(found, UTC).decode("utf-8")


def cells(line: str) -> list[str]:
    """The cells of a row, as a reader of Markdown splits it."""
    return line.replace("\\|", "¦").strip("| ").split(" | ")


def test_all_that_matters_is_told():
    told = text(report_of(some_sessions(), streams=4))
    assert told.startswith("# PRISM Score\n\n**43**: 3 of 7 counted sessions crushed. The true share lies between ")
    assert "\\`assay audit 40\\`" not in told
    assert "Judged by the offline judge, right in" in told
    assert "(`assay judges`)" in told
    assert "| completed | 4 | −3: 2 unverified, 1 error unresolved |" in told
    assert "- 2 × nothing shows that the change works (" in told
    assert told.partition("## Sessions")[2].count("\n| 2026-03-") == 10
    assert "| 2026-03-02 | 43 (3/7) |" in told.partition("## By week")[2]
    assert told.endswith("too young to tell\n")


def test_nothing_that_counts_is_no_score():
    assert "**No score**, nothing counts: there are no sessions." in text(report_of([]))


def test_times_are_those_of_the_time_zone():
    told = render_markdown(report_of([session_of()]), timezone(timedelta(hours=9)))
    assert "2026-03-02 18:00" in told.decode()


@each_row(
    "hostile",
    [
        "a | b | c",
        "one\ntwo\n# three",
        "one\r\ntwo",
        "<img src=x onerror=alert(1)>",
        "</td><script>alert(1)</script>",
        "`code` ``more``",
        "[click](javascript:alert(1))",
        "![pixel](https://evil.example/x.png)",
        "https://evil.example www.evil.example",
        "**bold** _it_ ~~gone~~ $x$",
        "\\| \\",
        "# heading",
        "- item",
        "&lt;b&gt;",
        "\x1b[2J\u202e",
    ],
)
def test_hostile_text_stays_text_in_its_cell(hostile: str):
    told = text(report_of([session_of(title=hostile, project=f"/x/{hostile}", grade=hostile, id=hostile)]))
    rows = [line for line in told.splitlines() if line.startswith("| 2026-03-02")]
    assert [len(cells(row)) for row in rows] == [8], rows  # the last one is empty
    assert not [sign for sign in ("<", "\x1b", "\u202e", "s://", "www.") if sign in told]
    assert not [line for line in told.splitlines() if line.startswith("# ") and line != "# PRISM Score"]
    assert not re.search(r"(?<!\\)[\[\]]", told)
    unescaped = rows[0].replace("\\\\", "").replace("\\`", "").replace("\\*", "").replace("\\_", "")
    assert not [sign for sign in ("`", "**", "_it_", " ~~gone~~ ") if sign in unescaped]
