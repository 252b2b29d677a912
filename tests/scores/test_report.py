"""The report: every part of it from the same sessions, and JSON under the promised names."""

from datetime import UTC
from typing import Any

import msgspec
import pytest

from assay.reports.json import encode_document
from assay.scores import prism
from assay.scores.prism import has_crushed
from assay.scores.report import JudgeInfo, Report, Skips, build_report, gather_sessions
from assay.types import LedgerLine, Session
from tests.make_sessions import failing, session_of

JUDGE = JudgeInfo(backend="offline", versions={"topic": "1", "outcome": "1"})
SKIPPED = Skips(files=1, lines=2, reasons={"no JSON": 2})
ENTRY = LedgerLine(
    at="2026-03-02T09:00:00Z",
    agent="codex",
    stream="s1",
    session="a",
    signal="clear",
    effect="began",
    confidence=1.0,
    evidence="/clear",
)


def made(*sessions: Session) -> Report:
    return build_report(gather_sessions(sessions, [ENTRY], UTC), streams=2, judge=JUDGE, skipped=SKIPPED)


def as_json(one: Report) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(b"".join(encode_document(one)))
    return found


def test_the_report_has_the_promised_names() -> None:
    found = as_json(made(session_of(), failing("frustration"), session_of(judge_status="no_goal")))
    assert (found["schema_version"], found["grade"], found["audit"]) == (1, None, None)
    assert found["no_grade"].startswith("the interval goes from F to ")
    assert found["score"].keys() == {
        "value", "low", "high", "crushed", "counted", "rework_open", "rework_unknown", "corrected",
        "predicted", "is_mixed",
    }  # fmt: skip
    assert list(found["waterfall"].items()) == [
        ("streams", 2), ("sessions", 3), ("substance", 3), ("goal", 2), ("judged", 2), ("complete", 1), ("crushed", 1),
    ]  # fmt: skip
    assert found["judge"] == {
        "backend": "offline", "versions": {"topic": "1", "outcome": "1"}, "calibrated": False, "floors": "measured",
        "model": None, "where": None, "fallback": None, "spending": None,
    }  # fmt: skip
    assert [(one["judge"], one["score"]["counted"]) for one in found["by_judge"]] == [("offline", 2)]
    assert found["skipped"] == {"files": 1, "lines": 2, "reasons": {"no JSON": 2}}
    assert found["exclusions"] == {"no_goal": 1}
    periods = {"day", "week", "month"}
    assert (
        found["slices"].keys()
        == {"project", "branch", "model", "agent", "intent", "language", "tenant", "person", "machine"} | periods
    )
    assert found["trends"].keys() == periods
    assert [window["ended"] for window in found["windows"]] == ["2026-03-02", "2026-03-02"]
    assert [len(obstacle["sessions"]) for obstacle in found["obstacles"]] == [1]
    assert [entry["signal"] for entry in found["ledger"]] == ["clear"]


def test_each_session_says_of_itself_what_the_score_says() -> None:
    found = made(session_of(crushed=True, rework="yes"), session_of(), session_of(judge_status="no_goal", crushed=True))
    assert [one.crushed for one in found.sessions] == [False, True, None]
    assert found.score.crushed == 1


def test_whether_a_session_crushed_is_not_worked_out_for_every_part_of_the_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[bool] = []

    def ask(session: Session) -> bool | None:
        asked.append(True)
        return has_crushed(session)

    monkeypatch.setattr(prism, "has_crushed", ask)
    sessions = [session_of() for _ in range(5)]
    assert made(*sessions).score.crushed == len(asked) == len(sessions)


def test_no_sessions_are_no_score_and_no_grade() -> None:
    found = as_json(made())
    assert found["score"]["value"] is found["score"]["low"] is found["score"]["high"] is found["grade"] is None
    assert (found["windows"], found["obstacles"], found["slices"]["project"]) == ([], [], [])
