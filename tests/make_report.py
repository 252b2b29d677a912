"""Reports made by hand, of sessions made by hand."""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from msgspec.structs import replace

from assay.pipeline.score import ScoreResult
from assay.scores.report import JudgeInfo, Report, Skips, build_report, gather_sessions
from assay.types import LedgerLine, Session
from tests.make_sessions import failing, missed, session_of

JUDGE = JudgeInfo(backend="offline", versions={"outcome": "1"})


def report_of(sessions: Sequence[Session], *, ledger: Sequence[LedgerLine] = (), **more: Any) -> Report:
    """The report on some sessions."""
    skipped = Skips(files=0, lines=0, reasons={})
    told = gather_sessions(sessions, ledger, UTC)
    return build_report(told, **{"streams": len(sessions), "judge": JUDGE, "skipped": skipped} | more)


def hold_report(report: Report) -> Report:
    """A report whose rows are at hand: whatever is told after it, it says the same, and can be compared."""
    return replace(report, sessions=list(report.sessions), ledger=list(report.ledger))


def hold_result(found: ScoreResult) -> ScoreResult:
    """What scoring gave, with its report at hand."""
    return replace(found, report=hold_report(found.report))


def some_sessions() -> list[Session]:
    """Sessions of every fate."""
    checks = {"goal_explicit": True, "scope_bounded": True, "verification_requested": False, "plan_first": None}
    return [
        session_of(day=0, rework="unknown", checks=checks),
        session_of(day=1, evidence="silent", confidence=0.81, intent="question", project="/home/ada/loom"),
        session_of(day=2, rework="yes"),
        session_of(day=3, rework="open", project="/home/ada/wheel"),
        missed(day=4),
        missed(day=5, intent="feature", title="Add a heddle"),
        failing("unresolved_error", day=6),
        session_of(
            day=7, facts={"substance": False}, judge_status="trivial", goal_complete=None, intent=None, grade=None
        ),
        session_of(day=8, judge_status="no_goal", goal_complete=None, intent=None),
        session_of(day=9, judge_status="ungraded", ungraded_reason="thin evidence", goal_complete=None),
    ]
