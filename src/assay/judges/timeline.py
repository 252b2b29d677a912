"""The timeline of a session, as judges read it: what was said, changed, checked and handed in, in order."""

import re
from collections.abc import Sequence

from msgspec import Struct

from assay.sessions import speech
from assay.sessions.calls import CHECKS, LANDING, is_mutating, list_made_edits
from assay.sessions.endings import Ending, find_ending, quote_tail
from assay.types import Call, Turn

REPLY = 1_500
DOCUMENT = re.compile(r"\.(?:md|mdx|rst|txt|adoc|org)$|(?:^|/)(?:LICENSE|CHANGELOG|README)[^/]*$", re.IGNORECASE)
"""Nothing that a test would look at."""
BEGINS_PLANNING = "EnterPlanMode"
"""A plan call that holds no plan yet: that it was allowed accepts none."""


class CheckRun(Struct, frozen=True):
    """A test, lint, type check or build that ran."""

    turn: int
    purpose: str
    passed: bool | None
    call: Call


class TurnReading(Struct, frozen=True):
    """What one turn says and does."""

    number: int
    turn: Turn
    said: speech.Utterance
    reply: speech.Utterance
    """What the agent's last words in it begin with."""
    closing: str
    """The sentence they end with."""
    has_edits: bool
    is_mutating: bool
    is_chore: bool
    is_complaint: bool
    is_acceptance: bool


class Timeline(Struct, frozen=True):
    readings: list[TurnReading]
    """One for each turn."""
    ending: Ending
    checks: list[CheckRun]
    last_edit: int
    """Place of the last edit among all calls, documents apart; -1 without any."""
    checked_at: list[int]
    """Places of the checks."""
    landed: list[tuple[int, str, Call]]
    """Turn, purpose and call of every commit, push and pull request."""
    landed_at: list[int]


def read_timeline(turns: Sequence[Turn]) -> Timeline:
    """Reads the timeline off a session's turns."""
    readings = [read_turn(n, turn) for n, turn in enumerate(turns, 1)]
    checks: list[CheckRun] = []
    checked_at: list[int] = []
    landed: list[tuple[int, str, Call]] = []
    landed_at: list[int] = []
    last_edit, place = -1, 0
    for n, turn in enumerate(turns, 1):
        for call in turn.calls:
            place += 1
            if any(not DOCUMENT.search(edit.path) for edit in list_made_edits(call)):
                last_edit = place
            if call.status in ("rejected", "denied", "open"):
                continue
            for run in call.runs:
                if run.purpose in CHECKS:
                    checks.append(
                        CheckRun(n, run.purpose or "", None if run.outcome is None else run.outcome == "passed", call)
                    )
                    checked_at.append(place)
                elif run.purpose in LANDING and run.outcome != "failed":
                    landed.append((n, run.purpose or "", call))
                    landed_at.append(place)
    return Timeline(readings, find_ending(turns), checks, last_edit, checked_at, landed, landed_at)


def read_turn(number: int, turn: Turn) -> TurnReading:
    prompt = turn.prompt
    said = speech.parse_own_words(prompt)
    replies = [reply.text for reply in turn.replies if reply.text.strip()]
    is_chore = "chores" in said.heard and said.words <= 14
    is_late = number > 1
    complaint = is_late and bool(said.first("frustrated") or (said.find_complaint() and not is_chore))
    return TurnReading(
        number=number,
        turn=turn,
        said=said,
        reply=speech.parse_utterance(replies[-1][:REPLY] if replies else ""),
        closing=quote_tail(replies[-1]) if replies else "",
        has_edits=any(list_made_edits(call) for call in turn.calls),
        is_mutating=any(is_mutating(call) for call in turn.calls),
        is_chore=is_chore,
        is_complaint=complaint,
        is_acceptance=bool(said.first("accepts")) and not complaint,
    )
