"""Facts as the outcome's prompt tells them: kinds and numbers of turns, never a word of the transcript."""

from collections.abc import Iterator, Sequence

from assay.judges.model.grounds import Record
from assay.judges.model.wording import numbers
from assay.sessions.calls import is_mutating
from assay.types import Failure

ENDS = {
    "answered": "the agent's words close it",
    "landed": "it ends on a commit, push or pull request",
    "unanswered": "the last prompt got neither words nor work",
    "api_error": "the model's service failed",
    "interrupted": "the person stopped the agent",
    "rejected": "the person refused a call, and nothing followed",
    "pending": "a question or plan waits for the person",
    "mid_work": "a tool call is the last that happened",
    "announces_more": "the agent announces more that never came",
    "nothing": "nobody asked for anything",
}


def told(record: Record, failures: Sequence[Failure]) -> str:
    """The facts, one a line."""
    return "\n".join(f"- {line}" for line in lines(record, failures))


def lines(record: Record, failures: Sequence[Failure]) -> Iterator[str]:
    story, turns = record.story, record.turns
    yield f"turns: {len(turns)}" + (
        f"; what the person said next, on another goal, is turn {len(turns) + 1}" if record.after else ""
    )
    yield f"last change of code: turn {record.changed}" if record.changed else "no code was changed"
    yield from checks(record)
    landed = [f"{purpose} in turn {number}" for number, purpose, _ in story.landed]
    yield "handed in: " + (", ".join(dict.fromkeys(landed)) or "no commit, push or pull request")
    stopped = [
        number
        for number, turn in enumerate(turns, 1)
        if any(mark.kind == "interrupt" for mark in turn.marks)
        or any(call.status in ("interrupted", "rejected") for call in turn.calls)
    ]
    if stopped:
        yield f"stopped or refused by the person: turns {numbers(stopped)}"
    if not any(is_mutating(call) for turn in turns for call in turn.calls):
        yield "no tool call had side effects"
    yield f"ending: {ENDS[story.ending.kind]}"
    signals = [f"{one.kind.replace('_', ' ')} in turn {one.turn}" for one in failures]
    yield "failure signals: " + (", ".join(dict.fromkeys(signals)) or "none")


def checks(record: Record) -> Iterator[str]:
    """The last run of each kind of check."""
    story = record.story
    latest = {check.purpose: (place, check) for place, check in zip(story.checked_at, story.checks, strict=True)}
    if not latest:
        yield "checks: no test, linter, type check or build was run"
    for purpose, (place, check) in latest.items():
        ended = {True: "passed", False: "failed", None: "ended in an unknown way"}[check.passed]
        when = "after" if place > story.last_edit and check.turn >= record.changed else "before"
        yield f"last {purpose}: {ended} in turn {check.turn}" + (f", {when} the last change" if record.changed else "")
