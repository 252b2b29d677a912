"""A row per session for spreadsheets: CSV whose text no spreadsheet takes for a formula."""

import csv
import io
from typing import Any

from assay.reports.format import sanitize_text
from assay.reports.summary import explain_outcome
from assay.scores.reasons import advise_session
from assay.scores.report import Report
from assay.types import Session

FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")
"""What a cell must not begin with: spreadsheets would run it."""
FACTS = (
    "turns", "tool_calls", "tool_errors", "mutating_calls", "lines_added", "lines_removed",
    "commit_runs", "active_s", "wall_s", "cost_usd",
)  # fmt: skip

REWORK = ("by", "share", "lines", "gone", "commit", "detail")


def render_csv(found: Report) -> bytes:
    """The CSV, with a header."""
    rows = [build_row(one) for one in found.sessions]
    text = io.StringIO()
    # Text is always quoted: a semicolon must not open a new cell where that is what separates them.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(list_columns())
    writer.writerows([[format_cell(value) for value in one.values()] for one in rows])
    return text.getvalue().encode("utf-8")


def list_columns() -> list[str]:
    """The header."""
    return [
        "id", "started_at", "ended_at", "agent", "project", "branch", "models", "streams", "language",
        "programming_language", "intent", "judge_status", "ungraded_reason", "goal_complete", "confidence", "evidence",
        "crushed", "marked", "marked_why", "why", "advice", "grade", "failure_signals", "rework", "rework_by",
        "rework_share", "rework_lines", "rework_gone", "rework_commit", "rework_detail", "files", "tokens", *FACTS,
        "title", "summary",
    ]  # fmt: skip


def build_row(one: Session) -> dict[str, Any]:
    """The cells of a session by column; what is not known is empty."""
    facts = one.facts
    rework = facts.get("rework") or {}
    made = {
        "models": ", ".join(one.models),
        "streams": ", ".join(one.streams),
        "marked": one.marked and one.marked.verdict,
        "marked_why": one.marked and one.marked.why,
        "why": explain_outcome(one),
        "advice": advise_session(one),
        "failure_signals": ", ".join(signal["kind"] for signal in facts.get("failure_signals", [])),
        "rework": rework.get("state"),
        **{f"rework_{name}": rework.get(name) for name in REWORK},
        "files": len(facts["files"]) if "files" in facts else None,
        "tokens": sum(facts["tokens"].values()) if facts.get("tokens") else None,
        **{name: facts.get(name) for name in FACTS},
    }
    return {name: made[name] if name in made else getattr(one, name) for name in list_columns()}


def format_cell(value: Any) -> Any:
    """A value as a cell; text on one line, harmless."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return value
    flat = " ".join(sanitize_text(value).split())
    return f"'{flat}" if value.startswith(FORMULA) or flat.startswith(FORMULA) else flat
