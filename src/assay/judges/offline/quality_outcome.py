"""Readings of where the work led and how the person took it: outcome, complaints, ending, risks."""

import re
from collections.abc import Iterator
from functools import cache

from assay.facts.signals import QUOTE, Sign, quote_call
from assay.judges.criteria import VERIFIED, format_chance
from assay.judges.offline.quality_signals import (
    CommandPattern,
    SessionView,
    SignalScore,
    clamp,
    format_count,
    load_weights,
    quote_turn,
    weigh_occasions,
)
from assay.judges.timeline import CheckRun, TurnReading
from assay.sessions.calls import is_mutating
from assay.sessions.endings import EndingKind
from assay.types import Call

LIKELY = 0.25
"""Below this chance, what was not completed was not even begun well."""
FAILED, PARTIAL, COMPLETE, EXCEEDED = 0.0, 1 / 3, 2 / 3, 1.0
GLAD = frozenset({"accepted", "accepted_next"})
ENDINGS: dict[EndingKind, float] = {
    "answered": 1.0,
    "landed": 1.0,
    "announces_more": 0.5,
    "pending": 0.5,
    "interrupted": 0.3,
    "rejected": 0.3,
    "api_error": 0.2,
    "mid_work": 0.2,
    "unanswered": 0.0,
}


# --- the goal ---------------------------------------------------------------------------------


def score_outcome(view: SessionView) -> SignalScore | None:
    """Failed, partial, complete or exceeded, by what the outcome judge found."""
    found = view.outcome
    if found is None or found.goal_complete is None:
        return None
    signs = tuple(Sign(one.turn, one.quote) for one in found.citations) or quote_closing(view)
    sure = "no chance told" if found.confidence is None else f"chance of completion {format_chance(found.confidence)}"
    if found.goal_complete:
        if has_exceeded(view):
            return SignalScore(EXCEEDED, f"completed, checked unasked, and welcomed ({sure})", signs)
        return SignalScore(COMPLETE, f"completed by {found.evidence} evidence ({sure})", signs)
    has_work = any(is_mutating(call) for turn in view.turns for call in turn.calls) and bool(view.timeline.landed)
    is_partial = (found.confidence or 0.0) >= LIKELY or has_work
    told = "not completed, though part of it was done" if is_partial else "not completed"
    return SignalScore(PARTIAL if is_partial else FAILED, f"{told} ({sure})", signs)


def has_exceeded(view: SessionView) -> bool:
    """The person is glad of it, and it was checked though neither they nor what done means for it asked for that."""
    if view.rubric and view.rubric.intent in VERIFIED:
        return False
    kinds = {reason.kind for reason in view.outcome.reasons} if view.outcome else set()
    asked = view.rubric.checks.get("verification_requested") if view.rubric else None
    return bool(kinds & GLAD) and "check_passed" in kinds and asked is False and not list_complaints(view)


def score_likelihood(view: SessionView) -> SignalScore | None:
    """The chance that the goal was completed."""
    found = view.outcome
    if found is None or found.confidence is None:
        return None
    signs = tuple(Sign(one.turn, one.quote) for one in found.citations[:2]) or quote_closing(view)
    told = f"the goal was completed with a chance of {format_chance(found.confidence)}"
    return SignalScore(found.confidence, told, signs)


def quote_closing(view: SessionView) -> tuple[Sign, ...]:
    """The agent's closing words."""
    spoken = [reading for reading in view.timeline.readings if reading.closing]
    return (Sign(spoken[-1].number, spoken[-1].closing[:QUOTE]),) if spoken else ()


# --- the person -------------------------------------------------------------------------------


def list_later_turns(view: SessionView) -> list[TurnReading]:
    """Turns that the person began, after the first."""
    spoken = [one for one in view.timeline.readings if one.turn.prompt and one.turn.prompt.kind != "shell"]
    return spoken[1:]


def list_complaints(view: SessionView) -> list[TurnReading]:
    return [reading for reading in list_later_turns(view) if reading.is_complaint]


def quote_complaint(reading: TurnReading) -> Sign:
    return Sign(reading.number, reading.said.quote("complains", "frustrated")[:QUOTE])


def score_complaints(view: SessionView) -> SignalScore | None:
    """Prompts that say that something is wrong."""
    spoken, sore = list_later_turns(view), list_complaints(view)
    if not spoken:
        return None
    told = f"{len(sore)} of {format_count(len(spoken), 'later prompt')} complained"
    signs = tuple(map(quote_complaint, sore[:3])) or (quote_turn(view.turns, spoken[-1].number),)
    return SignalScore(clamp(1 - 1.2 * len(sore) / len(spoken)), told, signs, weigh_occasions(len(spoken), 2))


def list_stops(view: SessionView) -> list[Sign]:
    """Calls that the person rejected, and work that they interrupted."""
    found: list[Sign] = []
    for number, turn in enumerate(view.turns, 1):
        found += [Sign(number, quote_call(call)) for call in turn.calls if call.status == "rejected"]
        found += [quote_turn(view.turns, number) for mark in turn.marks if mark.kind == "interrupt"]
    return found


def score_rejections(view: SessionView) -> SignalScore | None:
    """The person stepped in."""
    found = list_stops(view)
    there = sum(len(turn.calls) for turn in view.turns)
    if found:
        return SignalScore(
            clamp(1 - 0.25 * len(found)), f"stopped or refused {format_count(len(found), 'time')}", tuple(found)
        )
    if not list_later_turns(view) or there < 10:
        return None
    return SignalScore(1.0, f"none of {format_count(there, 'call')} was refused", (quote_turn(view.turns, 1),), 0.4)


def score_satisfaction(view: SessionView) -> SignalScore | None:
    """Content, by what the person said and did; nothing where they said nothing of it."""
    spoken = list_later_turns(view)
    glad = [reading for reading in spoken if reading.is_acceptance]
    chores = [reading for reading in spoken if reading.is_chore]
    recent = {reading.number for reading in spoken[-2:]}
    sore, halted = list_complaints(view), list_stops(view)
    last_glad = max((reading.number for reading in (*glad, *chores)), default=0)
    lost = [reading for reading in sore if reading.said.first("frustrated")]
    if lost and last_glad < lost[-1].number:
        return SignalScore(FAILED, "lost patience", (quote_complaint(lost[-1]),))
    if sore and last_glad < sore[-1].number and sore[-1].number in recent:
        return SignalScore(PARTIAL, "complained last", (quote_complaint(sore[-1]),))
    praised = [Sign(reading.number, reading.said.quote("accepts")[:QUOTE]) for reading in glad]
    if len(glad) > 1 and not sore and not halted:
        return SignalScore(EXCEEDED, f"praised it {len(glad)} times and never complained", tuple(praised[:2]))
    if glad or chores:
        asked = [Sign(reading.number, reading.said.quote("chores")[:QUOTE]) for reading in chores]
        return SignalScore(COMPLETE, "accepted it" if glad else "had it handed in", tuple((praised or asked)[:2]))
    if len(halted) > 1 or (halted and halted[-1].turn == len(view.turns)):
        return SignalScore(PARTIAL, "stopped or refused it, and never said that it was fine", tuple(halted[-2:]))
    return None


# --- the end ----------------------------------------------------------------------------------


def score_ending(view: SessionView) -> SignalScore | None:
    """How it ended."""
    end = view.timeline.ending
    if end.kind not in ENDINGS or not end.quote:
        return None
    return SignalScore(ENDINGS[end.kind], f"ended {end.kind.replace('_', ' ')}", (Sign(end.turn, end.quote[:QUOTE]),))


def score_landed(view: SessionView) -> SignalScore | None:
    """What was written was handed in."""
    timeline = view.timeline
    after = [one for one, at in zip(timeline.landed, timeline.landed_at, strict=True) if at > timeline.last_edit]
    if timeline.last_edit < 0 or not after:
        return None
    number, purpose, call = after[-1]
    return SignalScore(1.0, f"handed in ({purpose})", (Sign(number, quote_call(call)),))


def score_checks(view: SessionView) -> SignalScore | None:
    """The last run of each kind of check."""
    last: dict[str, CheckRun] = {one.purpose: one for one in view.timeline.checks if one.passed is not None}
    if not last:
        return None
    failed = [one for one in last.values() if not one.passed]
    newest = {one.purpose: one for one in view.timeline.checks}
    is_newest = all(newest[one.purpose] is one for one in failed[:1] or last.values())
    how = "at last" if is_newest else "when last known"
    told = f"{failed[0].purpose} failed {how}" if failed else f"{', '.join(sorted(last))} passed {how}"
    signs = tuple(Sign(one.turn, quote_call(one.call)) for one in (failed or list(last.values()))[:2])
    return SignalScore(1 - len(failed) / len(last), told, signs)


# --- risks ------------------------------------------------------------------------------------


def score_security(view: SessionView) -> SignalScore | None:
    """Secrets, risky commands, refusals; nothing where none of it came up."""
    risks = list(find_commands(view, "risks"))
    care = [(number, call, one) for number, call, one in find_commands(view, "care") if call.status == "ok"]
    refused = [(n, call) for n, turn in enumerate(view.turns, 1) for call in turn.calls if call.status == "denied"]
    grave = [found for found in risks if found[2].grave]
    rash = [found for found in risks if not found[2].grave and not was_asked(view, found[0], found[2])]
    for found, value in ((grave, FAILED), (rash, PARTIAL)):
        if found:
            names = ", ".join(dict.fromkeys(one.name for _, _, one in found))
            return SignalScore(
                value, f"{names}, unasked" if found is rash else names, tuple(map(quote_match, found[:3]))
            )
    if risks or refused:
        signs = [*map(quote_match, risks[:2]), *(Sign(n, quote_call(call)) for n, call in refused[:1])]
        return SignalScore(
            COMPLETE, "risky steps only as asked for" if risks else "a refusal was respected", tuple(signs)
        )
    if care:
        names = ", ".join(dict.fromkeys(one.name for _, _, one in care))
        return SignalScore(max(one.value for _, _, one in care), names, tuple(map(quote_match, care[:2])))
    return None


@cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def find_commands(view: SessionView, kind: str) -> Iterator[tuple[int, Call, CommandPattern]]:
    """Commands that ran and match a pattern."""
    patterns = load_weights().risks if kind == "risks" else load_weights().care
    for number, turn in enumerate(view.turns, 1):
        for call in turn.calls:
            if call.command and call.status in ("ok", "error", "interrupted"):
                for one in patterns:
                    if compile_pattern(one.finds).search(call.command):
                        yield number, call, one


def was_asked(view: SessionView, number: int, risk: CommandPattern) -> bool:
    """Whether the person had spoken of it by then."""
    prompts = [turn.prompt.text for turn in view.turns[:number] if turn.prompt]
    return bool(risk.asked) and any(compile_pattern(risk.asked).search(text) for text in prompts)


def quote_match(found: tuple[int, Call, CommandPattern]) -> Sign:
    """The part of a command that matched, in its line."""
    number, call, one = found
    match = compile_pattern(one.finds).search(call.command)
    start = match.start() if match else 0
    line = call.command.rfind("\n", 0, start) + 1
    begin = max(line, start - QUOTE // 4)
    return Sign(number, call.command[begin:].splitlines()[0][:QUOTE].strip())
