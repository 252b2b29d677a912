"""The outcome judge: collects evidence, adds it up, says explicit, silent or failure, and cites."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from math import exp

from msgspec import Struct

from assay.facts.failures import DISMISSED
from assay.judges.criteria import VERIFIED, is_goal_complete
from assay.judges.timeline import BEGINS_PLANNING, CheckRun, Timeline, TurnReading, read_timeline
from assay.resources import load_table
from assay.sessions import speech
from assay.sessions.calls import find_telling_line
from assay.sessions.endings import BROKEN_ENDINGS
from assay.types import Citation, EvidenceKind, Failure, Intent, OutcomeJudgement, Prompt, Reason, Turn

MOST_CITATIONS = 6
QUOTE = 200
EVEN = 0.5
CHANGES: frozenset[Intent] = frozenset({"small_change", "bug_fix", "feature", "refactor"})
READS: frozenset[Intent] = frozenset({"question", "investigation", "review"})
LONG_ANSWER, MANY_WORDS, MANY_COMPLAINTS = 400, 40, 3
OPENING = 160
SHORT_QUOTE = 120
LINT_ALONE = 0.3
"""Linters complain of much that was there before."""
QUESTION = re.compile(r"[?？]\W*\Z")
UNFINISHED = re.compile(r"^.*(?:⬜|🚧|☐|⏳|\[ \]).*$", re.MULTILINE)
"""An item of a list that is still open, as agents draw it."""


class OutcomeWeights(Struct, frozen=True):
    version: int
    explicit: list[str]
    thin: float
    prior: dict[Intent, float]
    weights: dict[str, float]


def outcome(
    turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None
) -> OutcomeJudgement:
    """Whether the goal was completed, how sure, and why."""
    rules = load_table("assay.judges.offline", "outcome.toml", OutcomeWeights)
    reasons = tuple(weigh_evidence(turns, intent, failures, after, rules))
    start = Reason(kind="starting_point", turn=0, quote="", weight=rules.prior[intent])
    if why := explain_thin(turns, reasons, failures, rules):
        return OutcomeJudgement(goal_complete=None, confidence=None, evidence=None, reasons=reasons, ungraded=why)
    confidence = round(1 / (1 + exp(-sum(reason.weight for reason in (start, *reasons)))), 3)
    evidence = pick_evidence_kind(reasons, confidence, failures, rules)
    complete = is_goal_complete(intent, evidence, confidence, failures)
    return OutcomeJudgement(
        goal_complete=complete,
        confidence=confidence,
        evidence=evidence,
        citations=tuple(pick_citations(reasons, failures, complete)),
        reasons=(start, *reasons),
    )


def weigh_evidence(
    turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None, rules: OutcomeWeights
) -> Iterator[Reason]:
    """All evidence with its weight; a failure signal counts once, and not beside the broken ending it was read from."""
    timeline = read_timeline(turns)
    found = [*collect_evidence(timeline, intent, after)]
    if failures and timeline.ending.kind not in BROKEN_ENDINGS:
        found.append(OutcomeEvidence("failure_signal", failures[0].turn, failures[0].quote))
    for one in found:
        weight = round(rules.weights[one.kind] * one.share, 3)
        yield Reason(kind=one.kind, turn=one.turn, quote=one.quote[:QUOTE], weight=weight)


def explain_thin(
    turns: Sequence[Turn], reasons: Sequence[Reason], failures: Sequence[Failure], rules: OutcomeWeights
) -> str:
    """Why nothing should be said of the outcome, or nothing."""
    if not any(turn.replies or turn.calls or turn.marks for turn in turns):
        return "nothing but the prompt is there"
    if not failures and sum(abs(reason.weight) for reason in reasons) < rules.thin:
        return "too little evidence either way"
    return ""


def pick_evidence_kind(
    reasons: Sequence[Reason], confidence: float, failures: Sequence[Failure], rules: OutcomeWeights
) -> EvidenceKind:
    """Failure where a signal fired or quoted evidence is against it; explicit where somebody or something said so."""
    if failures or (confidence < EVEN and any(reason.weight < 0 and reason.quote for reason in reasons)):
        return "failure"
    if confidence < EVEN:
        return "silent"
    is_said = any(reason.kind in rules.explicit and reason.weight > 0 and reason.quote for reason in reasons)
    return "explicit" if is_said else "silent"


def pick_citations(reasons: Sequence[Reason], failures: Sequence[Failure], complete: bool) -> Iterator[Citation]:
    """The weightiest words for the conclusion, failure signals first."""
    quoted = [(failure.turn, failure.quote) for failure in failures]
    ordered = sorted(
        (reason for reason in reasons if reason.quote), key=lambda reason: -reason.weight if complete else reason.weight
    )
    quoted += [(reason.turn, reason.quote) for reason in ordered if (reason.weight > 0) == complete]
    for turn, quote in list(dict.fromkeys(pair for pair in quoted if pair[1].strip()))[:MOST_CITATIONS]:
        yield Citation(turn=turn, quote=quote)


class OutcomeEvidence(Struct, frozen=True):
    """A piece of evidence; `share` scales its weight."""

    kind: str
    turn: int
    quote: str = ""
    share: float = 1.0


def collect_evidence(timeline: Timeline, intent: Intent, after: Prompt | None) -> Iterator[OutcomeEvidence]:
    """All evidence of a session."""
    return chain(
        read_ending(timeline, intent),
        read_last_words(timeline, intent),
        read_next_prompt(after, len(timeline.readings) + 1),
        read_changes(timeline, intent),
        read_checks(timeline, intent),
        read_landings(timeline),
        read_plans(timeline, intent),
        read_closing_words(timeline, intent),
    )


def read_ending(timeline: Timeline, intent: Intent) -> Iterator[OutcomeEvidence]:
    """A broken ending, and a conclusion that was given before it."""
    end = timeline.ending
    if end.kind == "landed":
        yield OutcomeEvidence("landed", end.turn, end.quote)
    if end.kind not in BROKEN_ENDINGS:
        return
    yield OutcomeEvidence(end.kind, end.turn, end.quote)
    before = [
        reading for reading in timeline.readings if reading.number < end.turn and len(reading.reply.text) > LONG_ANSWER
    ]
    if intent in READS and before:
        yield OutcomeEvidence("concluded_before", before[-1].number, before[-1].closing)


def read_last_words(timeline: Timeline, intent: Intent) -> Iterator[OutcomeEvidence]:
    """The person's last words, and complaints before them."""
    asked = [reading for reading in timeline.readings if reading.turn.prompt and reading.turn.prompt.kind != "shell"]
    if len(asked) < 2:
        return
    last = asked[-1]
    said = last.said
    if said.first("drops") and not (last.has_edits or last.is_acceptance) and said.words <= MANY_WORDS:
        yield OutcomeEvidence("dropped", last.number, said.quote("drops"))
    if said.first("frustrated"):
        yield OutcomeEvidence("frustrated", last.number, said.quote("frustrated"))
    if last.is_complaint:
        yield from read_complaint(timeline, last, sum(reading.is_complaint for reading in asked))
    elif last.is_acceptance:
        yield OutcomeEvidence("accepted", last.number, said.quote("accepts"))
    elif last.is_chore:
        yield OutcomeEvidence("landing_asked", last.number, said.quote("chores"))
    elif QUESTION.search(said.text[-200:]) and intent not in READS:
        yield OutcomeEvidence("went_on_asking", last.number, said.source.strip()[-SHORT_QUOTE:])


def read_complaint(timeline: Timeline, last: TurnReading, complaints: int) -> Iterator[OutcomeEvidence]:
    """A problem reported last, and what was done about it."""
    quote = last.said.quote("complains", "frustrated") or last.said.source.strip()[:SHORT_QUOTE]
    yield OutcomeEvidence("complained_last", last.number, quote, weigh_complaint(last))
    if last.is_mutating and timeline.ending.kind not in BROKEN_ENDINGS:
        yield OutcomeEvidence("complaint_worked_on", last.number)
        if any(check.turn == last.number and check.passed for check in timeline.checks):
            yield OutcomeEvidence("complaint_checked", last.number)
    if complaints >= MANY_COMPLAINTS:
        yield OutcomeEvidence("kept_complaining", last.number)


def weigh_complaint(reading: TurnReading) -> float:
    """One mild word among many is half a complaint."""
    heard = reading.said.count("complains") + 2 * reading.said.count("frustrated")
    return 1.0 if heard >= 2 or reading.said.words <= 25 else 0.5


def read_next_prompt(after: Prompt | None, turn: int) -> Iterator[OutcomeEvidence]:
    """What the person said when turning to the next goal."""
    if after is None:
        return
    said = speech.parse_utterance(after.text[:600])
    if any(heard.word <= 4 for heard in said.heard.get("accepts", ())):
        yield OutcomeEvidence("praised_after", turn, said.quote("accepts"))
    elif not said.first("complains", "frustrated"):
        yield OutcomeEvidence("moved_on", turn, after.text.strip()[:SHORT_QUOTE])


def read_changes(timeline: Timeline, intent: Intent) -> Iterator[OutcomeEvidence]:
    """Whether what was asked for was done at all."""
    if intent not in CHANGES or not timeline.readings:
        return
    last = timeline.readings[-1]
    if not any(reading.is_mutating for reading in timeline.readings):
        yield OutcomeEvidence(
            "nothing_changed_small" if intent == "small_change" else "nothing_changed", len(timeline.readings)
        )
        return
    asks = [reading for reading in timeline.readings if is_change_request(reading)]
    if asks and not any(reading.is_mutating for reading in timeline.readings[asks[-1].number - 1 :]):
        latest = asks[-1]
        kind = (
            "change_stopped"
            if any(call.status in ("rejected", "interrupted") for call in latest.turn.calls)
            else "change_not_made"
        )
        yield OutcomeEvidence(kind, latest.number, latest.said.source.strip()[:SHORT_QUOTE])
    undone = [
        call
        for call in last.turn.calls
        for run in call.runs
        if run.purpose in ("revert", "restore", "reset") and run.outcome != "failed"
    ]
    if undone and not last.has_edits:
        yield OutcomeEvidence("reverted", last.number, undone[-1].command[:160])


def is_change_request(reading: TurnReading) -> bool:
    """The prompt asks to change something, by its opening words."""
    kinds = ("asks.bug_fix", "asks.feature", "asks.refactor", "asks.small_change")
    is_question = bool(QUESTION.search(reading.said.text[-200:]))
    return not is_question and any(heard.word <= 2 for kind in kinds for heard in reading.said.heard.get(kind, ()))


def read_checks(timeline: Timeline, intent: Intent) -> Iterator[OutcomeEvidence]:
    """The last run of each kind of check, before or after the last edit."""
    latest: dict[str, tuple[int, CheckRun]] = {}
    for place, check in zip(timeline.checked_at, timeline.checks, strict=True):
        if check.passed is not None:
            latest[check.purpose] = (place, check)
    failed = [check for place, check in latest.values() if not check.passed and place > timeline.last_edit]
    passed = [check for place, check in latest.values() if check.passed and place > timeline.last_edit]
    if failed and not is_dismissed(timeline):
        worst = min(failed, key=lambda check: ("test", "build", "types", "lint").index(check.purpose))
        share = LINT_ALONE if worst.purpose == "lint" else 1.0
        yield OutcomeEvidence("check_failed", worst.turn, find_telling_line(worst.call), share)
    elif passed:
        best = min(passed, key=lambda check: check.purpose != "test")
        yield OutcomeEvidence("check_passed", best.turn, best.call.command[:160])
    elif any(check.passed for _, check in latest.values()):
        yield OutcomeEvidence("check_passed_before", len(timeline.readings))
    elif intent in VERIFIED and not latest and timeline.last_edit >= 0:
        yield OutcomeEvidence(
            "never_verified_feature" if intent == "feature" else "never_verified", len(timeline.readings)
        )


def is_dismissed(timeline: Timeline) -> bool:
    """The agent says that what still fails is not of this work."""
    replies = timeline.readings[-1].turn.replies
    return bool(replies) and bool(DISMISSED.search(replies[-1].text))


def read_landings(timeline: Timeline) -> Iterator[OutcomeEvidence]:
    """Commits and pull requests after the last edit; they prove nothing while a complaint stands."""
    if timeline.readings and timeline.readings[-1].is_complaint:
        return
    after = [one for place, one in zip(timeline.landed_at, timeline.landed, strict=True) if place > timeline.last_edit]
    opened = [one for one in after if one[1] in ("pr", "push")]
    if opened:
        yield OutcomeEvidence("pull_request", opened[-1][0], opened[-1][2].command[:160])
    elif after:
        yield OutcomeEvidence("committed", after[-1][0], after[-1][2].command[:160])


def read_plans(timeline: Timeline, intent: Intent) -> Iterator[OutcomeEvidence]:
    """Plans that were accepted or refused, and a go-ahead after which building began."""
    if intent != "plan":
        return
    plans = [
        (reading, call)
        for reading in timeline.readings
        for call in reading.turn.calls
        if call.kind == "plan" and call.name != BEGINS_PLANNING
    ]
    if plans:
        reading, call = plans[-1]
        quote = (call.target or call.output).strip()[:SHORT_QUOTE]
        if call.status == "ok":
            yield OutcomeEvidence("plan_accepted", reading.number, quote)
        elif call.status in ("rejected", "interrupted"):
            yield OutcomeEvidence("plan_rejected", reading.number, quote)
    agreed = [reading for reading in timeline.readings[1:] if reading.has_edits and reading.said.first("agrees")]
    if agreed:
        yield OutcomeEvidence("building_began", agreed[-1].number, agreed[-1].said.quote("agrees"))


def read_closing_words(timeline: Timeline, intent: Intent) -> Iterator[OutcomeEvidence]:
    """The agent's last words: done, failed, a question, an answer."""
    spoken = [reading for reading in timeline.readings if reading.reply.text]
    if not spoken or timeline.ending.kind in ("unanswered", "api_error"):
        return
    last = spoken[-1]
    yield from read_claims(last, intent)
    if QUESTION.search(last.closing):
        was_done = last.is_mutating or (
            not is_change_request(last) and any(one.is_mutating for one in timeline.readings[-2:])
        )
        is_open = not was_done and intent not in ("question", "investigation")
        yield OutcomeEvidence("asks_choice" if is_open else "offers", last.number, last.closing)
    elif intent in CHANGES and speech.parse_utterance(last.closing).first("agent.asks_back") and not last.is_mutating:
        yield OutcomeEvidence("waits", last.number, last.closing)
    if left := UNFINISHED.search(last.turn.replies[-1].text):
        yield OutcomeEvidence("partly_done", last.number, left.group().strip())
    if intent in READS:
        yield from read_answer(timeline, spoken, intent)


def read_claims(last: TurnReading, intent: Intent) -> Iterator[OutcomeEvidence]:
    """Success or failure, in the opening words or later."""
    reply, opening = last.reply, speech.parse_utterance(last.reply.text[:OPENING])
    if opening.first("agent.failed"):
        yield OutcomeEvidence("names_failure_first", last.number, reply.quote("agent.failed"))
    elif opening.first("agent.done"):
        yield OutcomeEvidence("opens_done", last.number, reply.quote("agent.done"))
    elif reply.first("agent.done"):
        yield OutcomeEvidence("said_done", last.number, reply.quote("agent.done"))
    elif intent in CHANGES:
        yield OutcomeEvidence("no_done_words", last.number)
    if reply.count("agent.failed") >= 2 and not opening.first("agent.failed"):
        yield OutcomeEvidence("names_failure", last.number, reply.quote("agent.failed"))


def read_answer(timeline: Timeline, spoken: list[TurnReading], intent: Intent) -> Iterator[OutcomeEvidence]:
    """For goals that ask for words: a full answer, a conclusion, a verdict."""
    last = spoken[-1]
    longest = max(len(reading.reply.text) for reading in spoken)
    if longest >= LONG_ANSWER and timeline.ending.kind not in BROKEN_ENDINGS:
        yield OutcomeEvidence("full_answer", last.number, last.closing)
    concludes = [reading for reading in spoken if reading.reply.first("agent.concludes", "agent.findings")]
    if concludes and intent != "question":
        quote = concludes[-1].reply.quote("agent.concludes", "agent.findings")
        yield OutcomeEvidence("concluded", concludes[-1].number, quote)
    elif intent != "question":
        yield OutcomeEvidence("no_conclusion", last.number)
    if last.reply.first("agent.unsure"):
        yield OutcomeEvidence("unsure", last.number, last.reply.quote("agent.unsure"))
