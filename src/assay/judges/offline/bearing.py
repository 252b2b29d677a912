"""Readings of where the work led and how the person took it: outcome, complaints, ending, risks."""

import re
from collections.abc import Iterator
from functools import cache

from assay.facts.signals import QUOTE, Sign, words
from assay.judges.offline.readings import (
    Pattern,
    Reading,
    View,
    bounded,
    many,
    rules,
    said_in,
    strong,
)
from assay.judges.offline.story import Check, Scene
from assay.sessions.calls import is_mutating
from assay.sessions.ending import EndingKind
from assay.types import Call

LIKELY = 0.25
"""Below this chance, what was not completed was not even begun well."""
FAILED, PARTIAL, COMPLETE, EXCEEDED = 0.0, 1 / 3, 2 / 3, 1.0
GLAD = frozenset({"accepted", "praised_after"})
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


def outcome(view: View) -> Reading | None:
    """Failed, partial, complete or exceeded, by what the outcome judge found."""
    found = view.outcome
    if found is None or found.goal_complete is None:
        return None
    signs = tuple(Sign(one.turn, one.quote) for one in found.citations) or said_last(view)
    sure = f"chance of completion {found.confidence:.2f}" if found.confidence is not None else "no chance told"
    if found.goal_complete:
        if is_beyond(view):
            return Reading(EXCEEDED, f"completed, checked unasked, and welcomed ({sure})", signs)
        return Reading(COMPLETE, f"completed by {found.evidence} evidence ({sure})", signs)
    has_work = any(is_mutating(call) for turn in view.turns for call in turn.calls) and bool(view.story.landed)
    is_partial = (found.confidence or 0.0) >= LIKELY or has_work
    told = "not completed, though part of it was done" if is_partial else "not completed"
    return Reading(PARTIAL if is_partial else FAILED, f"{told} ({sure})", signs)


def is_beyond(view: View) -> bool:
    """The person is glad of it, and it was checked without their having asked for that."""
    kinds = {reason.kind for reason in view.outcome.reasons} if view.outcome else set()
    asked = view.rubric.checks.get("verification_requested") if view.rubric else None
    return bool(kinds & GLAD) and "check_passed" in kinds and asked is False and not complaining(view)


def likelihood(view: View) -> Reading | None:
    """The chance that the goal was completed."""
    found = view.outcome
    if found is None or found.confidence is None:
        return None
    signs = tuple(Sign(one.turn, one.quote) for one in found.citations[:2]) or said_last(view)
    return Reading(found.confidence, f"the goal was completed with a chance of {found.confidence:.2f}", signs)


def said_last(view: View) -> tuple[Sign, ...]:
    """The agent's closing words."""
    spoken = [scene for scene in view.story.scenes if scene.closing]
    return (Sign(spoken[-1].number, spoken[-1].closing[:QUOTE]),) if spoken else ()


# --- the person -------------------------------------------------------------------------------


def later(view: View) -> list[Scene]:
    """Turns that the person began, after the first."""
    spoken = [one for one in view.story.scenes if one.turn.prompt and one.turn.prompt.kind != "shell"]
    return spoken[1:]


def complaining(view: View) -> list[Scene]:
    return [scene for scene in later(view) if scene.is_complaint]


def complaint(scene: Scene) -> Sign:
    return Sign(scene.number, scene.said.quote("complains", "frustrated")[:QUOTE])


def complaints(view: View) -> Reading | None:
    """Prompts that say that something is wrong."""
    spoken, sore = later(view), complaining(view)
    if not spoken:
        return None
    told = f"{len(sore)} of {many(len(spoken), 'later prompt')} complained"
    signs = tuple(map(complaint, sore[:3])) or (said_in(view.turns, spoken[-1].number),)
    return Reading(bounded(1 - 1.2 * len(sore) / len(spoken)), told, signs, strong(len(spoken), 2))


def stopped(view: View) -> list[Sign]:
    """Calls that the person rejected, and work that they interrupted."""
    found: list[Sign] = []
    for number, turn in enumerate(view.turns, 1):
        found += [Sign(number, words(call)) for call in turn.calls if call.status == "rejected"]
        found += [said_in(view.turns, number) for mark in turn.marks if mark.kind == "interrupt"]
    return found


def rejections(view: View) -> Reading | None:
    """The person stepped in."""
    found = stopped(view)
    there = sum(len(turn.calls) for turn in view.turns)
    if found:
        return Reading(bounded(1 - 0.25 * len(found)), f"stopped or refused {many(len(found), 'time')}", tuple(found))
    if not later(view) or there < 10:
        return None
    return Reading(1.0, f"none of {many(there, 'call')} was refused", (said_in(view.turns, 1),), 0.4)


def satisfaction(view: View) -> Reading | None:
    """Content, by what the person said and did; nothing where they said nothing of it."""
    spoken = later(view)
    glad = [scene for scene in spoken if scene.is_acceptance]
    chores = [scene for scene in spoken if scene.is_chore]
    recent = {scene.number for scene in spoken[-2:]}
    sore, halted = complaining(view), stopped(view)
    last_glad = max((scene.number for scene in (*glad, *chores)), default=0)
    lost = [scene for scene in sore if scene.said.first("frustrated")]
    if lost and last_glad < lost[-1].number:
        return Reading(FAILED, "lost patience", (complaint(lost[-1]),))
    if sore and last_glad < sore[-1].number and sore[-1].number in recent:
        return Reading(PARTIAL, "complained last", (complaint(sore[-1]),))
    praised = [Sign(scene.number, scene.said.quote("accepts")[:QUOTE]) for scene in glad]
    if len(glad) > 1 and not sore and not halted:
        return Reading(EXCEEDED, f"praised it {len(glad)} times and never complained", tuple(praised[:2]))
    if glad or chores:
        asked = [Sign(scene.number, scene.said.quote("chores")[:QUOTE]) for scene in chores]
        return Reading(COMPLETE, "accepted it" if glad else "had it handed in", tuple((praised or asked)[:2]))
    if len(halted) > 1 or (halted and halted[-1].turn == len(view.turns)):
        return Reading(PARTIAL, "stopped or refused it, and never said that it was fine", tuple(halted[-2:]))
    return None


# --- the end ----------------------------------------------------------------------------------


def ending(view: View) -> Reading | None:
    """How it ended."""
    end = view.story.ending
    if end.kind not in ENDINGS or not end.quote:
        return None
    return Reading(ENDINGS[end.kind], f"ended {end.kind.replace('_', ' ')}", (Sign(end.turn, end.quote[:QUOTE]),))


def landed(view: View) -> Reading | None:
    """What was written was handed in."""
    story = view.story
    after = [one for one, at in zip(story.landed, story.landed_at, strict=True) if at > story.last_edit]
    if story.last_edit < 0 or not after:
        return None
    number, purpose, call = after[-1]
    return Reading(1.0, f"handed in ({purpose})", (Sign(number, words(call)),))


def checks(view: View) -> Reading | None:
    """The last run of each kind of check."""
    last: dict[str, Check] = {one.purpose: one for one in view.story.checks if one.passed is not None}
    if not last:
        return None
    failed = [one for one in last.values() if not one.passed]
    told = f"{failed[0].purpose} failed at last" if failed else f"{', '.join(sorted(last))} passed at last"
    signs = tuple(Sign(one.turn, words(one.call)) for one in (failed or list(last.values()))[:2])
    return Reading(1 - len(failed) / len(last), told, signs)


# --- risks ------------------------------------------------------------------------------------


def security(view: View) -> Reading | None:
    """Secrets, risky commands, refusals; nothing where none of it came up."""
    risks = list(matching(view, "risks"))
    care = [(number, call, one) for number, call, one in matching(view, "care") if call.status == "ok"]
    refused = [(n, call) for n, turn in enumerate(view.turns, 1) for call in turn.calls if call.status == "denied"]
    grave = [found for found in risks if found[2].grave]
    rash = [found for found in risks if not found[2].grave and not was_asked(view, found[0], found[2])]
    for found, value in ((grave, FAILED), (rash, PARTIAL)):
        if found:
            names = ", ".join(dict.fromkeys(one.name for _, _, one in found))
            return Reading(value, f"{names}, unasked" if found is rash else names, tuple(map(shown, found[:3])))
    if risks or refused:
        signs = [*map(shown, risks[:2]), *(Sign(n, words(call)) for n, call in refused[:1])]
        return Reading(COMPLETE, "risky steps only as asked for" if risks else "a refusal was respected", tuple(signs))
    if care:
        names = ", ".join(dict.fromkeys(one.name for _, _, one in care))
        return Reading(max(one.value for _, _, one in care), names, tuple(map(shown, care[:2])))
    return None


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def matching(view: View, kind: str) -> Iterator[tuple[int, Call, Pattern]]:
    """Commands that ran and match a pattern."""
    patterns = rules().risks if kind == "risks" else rules().care
    for number, turn in enumerate(view.turns, 1):
        for call in turn.calls:
            if call.command and call.status in ("ok", "error", "interrupted"):
                for one in patterns:
                    if compiled(one.finds).search(call.command):
                        yield number, call, one


def was_asked(view: View, number: int, risk: Pattern) -> bool:
    """Whether the person had spoken of it by then."""
    prompts = [turn.prompt.text for turn in view.turns[:number] if turn.prompt]
    return bool(risk.asked) and any(compiled(risk.asked).search(text) for text in prompts)


def shown(found: tuple[int, Call, Pattern]) -> Sign:
    """The part of a command that matched, in its line."""
    number, call, one = found
    match = compiled(one.finds).search(call.command)
    start = match.start() if match else 0
    line = call.command.rfind("\n", 0, start) + 1
    begin = max(line, start - QUOTE // 4)
    return Sign(number, call.command[begin:].splitlines()[0][:QUOTE].strip())
