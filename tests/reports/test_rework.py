"""What became of lines, in words."""

from datetime import UTC
from typing import Any

import pytest

from assay.reports.rework import describe_curve, describe_losses, describe_rework, explain_rework, list_rework_notes
from assay.scores.survival import LostSession, measure_survival
from tests.make_report import report_of
from tests.make_sessions import session_of
from tests.tables import each_row

YES = {
    "state": "yes", "by": "session 1a2b3c4d5e6f", "share": 0.62, "lines": 50, "gone": 31,
    "commit": "0123456789abcdef", "session": "1a2b3c4d5e6f", "at": "2026-03-07T09:00:00Z", "detail": None,
}  # fmt: skip


@each_row(
    ("rework", "said"),
    [
        (YES, "later replaced by session 1a2b3c4d5e6f, 62 % of its lines (31 of 50) gone"),
        ({"state": "yes", "by": "person \x1b[31mBob"}, "later replaced by person \ufffd[31mBob"),
        ({"state": "no", "share": 0.0, "lines": 40, "gone": 0}, "still there, 0 % of its lines (0 of 40) gone"),
        ({"state": "open"}, "too young to tell whether it stays"),
        ({"state": "unknown", "detail": "no repository"}, "unknown whether it stayed: no repository"),
        ({"state": "unknown"}, "unknown whether it stayed"),
        ({"state": "not_judged"}, "too few lines to follow"),
        (None, "unknown whether it stayed"),
    ],
)
def test_a_state_is_told_on_one_line(rework: dict[str, Any] | None, said: str):
    assert describe_rework({"rework": rework}) == said


def test_what_replaced_it_can_be_looked_at():
    said = explain_rework({"rework": YES | {"detail": "half of its commit"}}, UTC)
    assert said == [
        "later replaced by session 1a2b3c4d5e6f, 62 % of its lines (31 of 50) gone",
        "commit 0123456789 of 2026-03-07 09:00: `git show 0123456789` shows what replaced them",
        "`assay show 1a2b3c4d5e6f` shows the session that did it",
        "half of its commit",
    ]


@pytest.mark.parametrize("state", ["no", "open", "unknown", "not_judged"])
def test_nothing_replaced_nothing_to_look_at(state: str):
    assert explain_rework({"rework": {"state": state}}, UTC) == []


def test_lost_sessions_are_named():
    lost = [LostSession(id="1a2b3c4d5e6f", title="Mend\nthe till", by="bot renovate", share=0.5)]
    assert describe_losses(lost) == [
        ("1a2b3c4d5e6f  Mend the till", "later replaced by bot renovate, 50 % of its lines gone")
    ]


def test_the_curve_leaves_out_days_that_nothing_was_followed_for():
    found = describe_curve(measure_survival([(5, True, 5), (14, False, 995)]))
    assert [(days, share) for days, _, share, _ in found] == [
        ("1 day", "100 %"), ("3 days", "100 %"), ("7 days", "99 %"), ("14 days", "99 %"),
    ]  # fmt: skip
    assert describe_curve(None) == []


def test_why_nothing_is_known_is_counted():
    reasons = [*["no repository"] * 3, "no time", None]
    sessions = [session_of(facts={"rework": {"state": "unknown", "detail": why}}) for why in reasons]
    report = report_of([*sessions, session_of(rework="open")])
    unknown, young = list_rework_notes(report.score, report.rework_unknown)
    assert unknown.endswith(" unknown for 5 of 6 crushed sessions (3 no repository, 1 no time, 1 nobody can tell)")
    assert young == "1 of 6 crushed sessions may still be replaced: too young to tell"
