"""The few words in which our own lines speak: nothing of a transcript gets into them but numbers and days."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from assay.sessions.calls import made_commit, made_edits
from assay.sessions.ending import EndingKind
from assay.types import Call, CallKind, CallStatus, Edit, MarkKind, PromptKind, Turn

SPEAKS: dict[PromptKind, str] = {
    "typed": "the person writes",
    "command": "the person gives a command",
    "shell": "the person runs a command",
    "queued": "the person writes while the agent works",
    "rejection": "the person refuses a call and says",
    "plan": "the person accepts a plan",
}
ENDED: dict[CallStatus, str] = {
    "ok": "ended well",
    "error": "failed",
    "open": "no result",
    "rejected": "refused by the person",
    "denied": "refused by a rule",
    "interrupted": "interrupted",
}
MARKED: dict[MarkKind, str] = {
    "clear": "the conversation was cleared before",
    "compact": "the context was summarised",
    "interrupt": "the person interrupted the agent",
    "api_error": "the model's service failed",
    "retry": "a request was sent again",
    "rollback": "turns were undone",
    "pr": "a pull request",
}
KINDS: dict[CallKind, tuple[str, str]] = {
    "shell": ("command", "commands"),
    "edit": ("edit", "edits"),
    "read": ("read", "reads"),
    "search": ("search", "searches"),
    "agent": ("sub-agent", "sub-agents"),
    "plan": ("plan", "plans"),
    "todo": ("to-do list", "to-do lists"),
    "ask": ("question", "questions"),
    "web": ("page", "pages"),
    "skill": ("skill", "skills"),
    "mcp": ("tool", "tools"),
    "other": ("tool", "tools"),
}
HOW = {"create": "created", "update": "changed", "delete": "deleted"}
ENDS: dict[EndingKind, str] = {
    "answered": "ends with an answer",
    "landed": "ends with work handed in",
    "unanswered": "nothing followed",
    "api_error": "ends with a failure of the model's service",
    "interrupted": "ends interrupted",
    "rejected": "ends with a refusal",
    "pending": "ends waiting for the person",
    "mid_work": "ends in mid-work",
    "announces_more": "ends announcing more",
    "nothing": "nothing was asked",
}
TIME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2})")
LARGEST = 10**12
"""Numbers beyond are no numbers of ours."""


def when(at: str) -> str:
    """Day and minute, where a time says them."""
    found = TIME.match(at)
    return f", {found[1]} {found[2]}" if found else ""


def several(n: int, one: str, more: str) -> str:
    return f"{n} {one if n == 1 else more}"


def lines_of(edits: Iterable[Edit]) -> str:
    """Lines added and removed."""
    given = list(edits)
    return f"+{sum(edit.added for edit in given)} -{sum(edit.removed for edit in given)}"


def ended(call: Call) -> str:
    """How a call ended, in all that is known."""
    code = f" with exit code {call.exit_code}" if call.exit_code and abs(call.exit_code) < LARGEST else ""
    runs = list(dict.fromkeys(f"{run.purpose} {run.outcome or 'unknown'}" for run in call.runs if run.purpose))
    is_mixed = call.status == "ok" and any(run.outcome == "failed" for run in call.runs)
    commits = [several(len(call.commits), "commit", "commits") + " made"] if call.commits else []
    return "; ".join(
        ["ended" if is_mixed else ENDED[call.status] + code, *([", ".join(runs)] if runs else []), *commits]
    )


def counted(calls: Sequence[Call]) -> str:
    """How many calls of each kind, and how many did not end well."""
    kinds = Counter(KINDS[call.kind] for call in calls)
    parts = [several(n, *kind) for kind, n in sorted(kinds.items())]
    failed = sum(call.status == "error" for call in calls)
    refused = sum(call.status in ("rejected", "denied", "interrupted") for call in calls)
    if failed:
        parts.append(f"{failed} failed")
    if refused:
        parts.append(f"{refused} stopped or refused")
    return ", ".join(parts)


def checked(calls: Iterable[Call]) -> str:
    """How each sort of check went last."""
    last = {run.purpose: run.outcome or "unknown" for call in calls for run in call.runs if run.purpose}
    return ", ".join(f"{purpose} {outcome}" for purpose, outcome in last.items() if purpose != "commit")


def done(turns: Sequence[Turn]) -> str:
    """What was done in some turns, in one line."""
    calls = [call for turn in turns for call in turn.calls]
    edits = [edit for call in calls for edit in made_edits(call)]
    commits = sum(made_commit(call) for call in calls)
    marks = Counter(mark.kind for turn in turns for mark in turn.marks)
    parts = [
        counted(calls) if calls else "no calls",
        lines_of(edits) + " lines" if edits else "",
        f"last checks: {found}" if (found := checked(calls)) else "",
        several(commits, "commit", "commits") if commits else "",
        *(f"{MARKED[kind]}{times(n)}" for kind, n in sorted(marks.items())),
    ]
    return "; ".join(part for part in parts if part)


def times(n: int) -> str:
    return f", {n} times" if n > 1 else ""
