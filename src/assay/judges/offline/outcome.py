"""The outcome judge: a rule for what broke off, one for what is shown, a few weights, and a calibrated chance."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from math import exp, log

from msgspec import Struct

from assay.judges.criteria import SHOWS, VERIFIED
from assay.judges.timeline import BEGINS_PLANNING, CheckRun, Timeline, TurnReading, read_timeline
from assay.resources import load_table
from assay.sessions import speech
from assay.sessions.calls import CHECKS, LANDING, find_telling_line, has_failed
from assay.sessions.endings import BROKEN_ENDINGS
from assay.sessions.text import take_beginning, take_ending
from assay.types import Call, Citation, EvidenceKind, Failure, Intent, OutcomeJudgement, Prompt, Reason, Turn

MOST_CITATIONS = 6
QUOTE = 160
CHANGES: frozenset[Intent] = frozenset({"small_change", "bug_fix", "feature", "refactor"})
FINDS: frozenset[Intent] = frozenset({"investigation", "review"})
LONG_ANSWER, OPENING, CLOSING = 600, 300, 1_500
"""Characters: of a full answer, and of the agent's closing words in which a failure or success is told."""
SHORT_CHORE, EARLY_WORDS, NEXT_PROMPT = 14, 4, 600
PENDING_JOB = re.compile(r"^[^\t\n]+\tpending\t", re.MULTILINE)
FAILED_JOB = re.compile(r"^[^\t\n]+\tfail\t", re.MULTILINE)
"""Lines in which `gh pr checks` tells how a job stands; it exits with an error while one is pending."""
SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


class Weight(Struct, frozen=True):
    """What a kind of evidence adds, and what it was fitted on."""

    weight: float
    low: float
    high: float
    n: int
    complete: float


class Calibration(Struct, frozen=True):
    start: float
    slope: float


class UnclearBand(Struct, frozen=True):
    low: float
    high: float


class OutcomeWeights(Struct, frozen=True):
    version: int
    start: float
    broken_off: float
    shown: float
    calibration: Calibration
    unclear: UnclearBand
    intents: dict[Intent, float]
    weights: dict[str, Weight]
    words: dict[str, list[str]]


class OutcomeEvidence(Struct, frozen=True):
    """One piece of evidence: a kind that `outcome.toml` weighs, or one of `SHOWS`."""

    kind: str
    turn: int
    quote: str = ""


def load_weights() -> OutcomeWeights:
    return load_table("assay.judges.offline", "outcome.toml", OutcomeWeights)


@cache
def compile_words(meaning: str) -> re.Pattern[str]:
    """The pattern of closing words with a meaning."""
    return re.compile("|".join(load_weights().words[meaning]), re.IGNORECASE | re.MULTILINE)


# --- the judgement ----------------------------------------------------------------------------


def outcome(
    turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None
) -> OutcomeJudgement:
    """Whether the goal was completed, how likely that is, and why; nothing is claimed where that is unclear."""
    rules = load_weights()
    if not any(turn.replies or turn.calls or turn.marks for turn in turns):
        return OutcomeJudgement(
            goal_complete=None, confidence=None, evidence=None, ungraded="nothing but the prompt is there"
        )
    reasons = tuple(list_reasons(OutcomeRecord(read_timeline(turns), intent, failures, after), rules))
    chance = round(1 / (1 + exp(-sum(reason.weight for reason in reasons))), 3)
    if rules.unclear.low <= chance < rules.unclear.high:
        return OutcomeJudgement(goal_complete=None, confidence=chance, evidence="silent", reasons=reasons)
    complete = chance >= rules.unclear.high
    return OutcomeJudgement(
        goal_complete=complete,
        confidence=chance,
        evidence=name_evidence(reasons, complete, failures),
        citations=tuple(pick_citations(reasons, failures, complete)),
        reasons=reasons,
    )


def list_reasons(record: "OutcomeRecord", rules: OutcomeWeights) -> Iterator[Reason]:
    """All that the chance is the sum of; what shows the goal reached lifts it where nothing speaks against it."""
    line = rules.calibration
    if record.is_broken_off:
        start = line.start + line.slope * rules.start
        yield Reason(kind="starting_point", turn=0, quote="", weight=round(start, 3))
        end = record.timeline.ending
        weight = log(rules.broken_off / (1 - rules.broken_off)) - start
        yield Reason(kind=end.kind, turn=end.turn, quote=take_beginning(end.quote, QUOTE), weight=round(weight, 3))
        return
    start = line.start + line.slope * (rules.start + rules.intents.get(record.intent, 0.0))
    weighed = [(one, line.slope * rules.weights[one.kind].weight) for one in find_evidence(record)]
    proof = [*find_proof(record)]
    lift = 0.0
    if any(one.quote for one in proof) and not any(weight < 0 for _, weight in weighed):
        lift = max(0.0, log(rules.shown / (1 - rules.shown)) - start - sum(weight for _, weight in weighed))
    yield Reason(kind="starting_point", turn=0, quote="", weight=round(start, 3))
    for one, weight in (*weighed, *((one, 0.0 if n else lift) for n, one in enumerate(proof))):
        yield Reason(kind=one.kind, turn=one.turn, quote=take_beginning(one.quote, QUOTE), weight=round(weight, 3))


def name_evidence(reasons: Iterable[Reason], complete: bool, failures: Sequence[Failure]) -> EvidenceKind:
    """Explicit where something shows it, failure where words or a signal speak against it, else silent."""
    if complete:
        return "explicit" if any(reason.kind in SHOWS and reason.quote for reason in reasons) else "silent"
    return "failure" if failures or any(reason.weight < 0 and reason.quote for reason in reasons) else "silent"


def pick_citations(reasons: Sequence[Reason], failures: Sequence[Failure], complete: bool) -> Iterator[Citation]:
    """The words for the conclusion: what shows it or a failure signal first, then the weightiest."""
    speaking = [reason for reason in reasons if reason.weight and (reason.weight > 0) == complete]
    showing = [reason for reason in reasons if reason.kind in SHOWS and complete]
    quoted = [] if complete else [(failure.turn, failure.quote) for failure in failures]
    quoted += [
        (reason.turn, reason.quote) for reason in (*showing, *sorted(speaking, key=lambda reason: -abs(reason.weight)))
    ]
    for turn, quote in list(dict.fromkeys(pair for pair in quoted if pair[1].strip()))[:MOST_CITATIONS]:
        yield Citation(turn=turn, quote=quote)


# --- what the session shows -------------------------------------------------------------------


class OutcomeRecord:
    """What is asked of a session's timeline more than once."""

    def __init__(self, timeline: Timeline, intent: Intent, failures: Sequence[Failure], after: Prompt | None) -> None:
        self.timeline = timeline
        self.intent = intent
        self.failures = failures
        self.after = after
        self.is_broken = timeline.ending.kind in BROKEN_ENDINGS
        self.asked = [one for one in timeline.readings if one.turn.prompt and one.turn.prompt.kind != "shell"]
        self.calls = [(one.number, call) for one in timeline.readings for call in one.turn.calls if not call.by]

    @cached_property
    def is_broken_off(self) -> bool:
        """Whether the conversation ends there, in the middle, with nothing to show for it."""
        return self.is_broken and self.after is None and not (self.passing_check or self.landing)

    @cached_property
    def last(self) -> TurnReading:
        """The last turn that a person began."""
        return (self.asked or self.timeline.readings)[-1]

    @cached_property
    def speaker(self) -> TurnReading:
        """The turn of the agent's last words."""
        return next((one for one in reversed(self.timeline.readings) if one.closing), self.last)

    @cached_property
    def closing(self) -> str:
        """The agent's last words, where they close the session."""
        replies = [reply for reply in self.speaker.turn.replies if reply.text.strip()]
        asked_at = self.last.turn.prompt.at if self.last.turn.prompt else ""
        is_closing = self.timeline.ending.kind == "answered" and replies and replies[-1].at >= asked_at
        return replies[-1].text if is_closing else ""

    @cached_property
    def passing_check(self) -> CheckRun | None:
        """A check whose last known run passed, after the last edit of code."""
        latest = {
            check.purpose: (place, check)
            for place, check in zip(self.timeline.checked_at, self.timeline.checks, strict=True)
            if check.passed is not None
        }
        fitting = [check for place, check in latest.values() if check.passed and place > self.timeline.last_edit]
        return min(fitting, key=lambda check: check.purpose != "test", default=None)

    @cached_property
    def landing(self) -> tuple[int, str, Call] | None:
        """The last commit, push or pull request after the last edit of code."""
        places = [*zip(self.timeline.landed_at, self.timeline.landed, strict=True)]
        return next((one for place, one in reversed(places) if place > self.timeline.last_edit), None)

    @cached_property
    def is_shown(self) -> bool:
        """Whether something stands for the work: a check, a re-run, a landing, or the agent's word that it verified."""
        return bool(
            self.passing_check or self.landing or self.second_run or compile_words("verified").search(self.closing)
        )

    @cached_property
    def admission(self) -> str:
        """The sentence in which the agent says at once that something did not work; an answer may well be "cannot"."""
        if self.intent == "question":
            return ""
        failed, gone = compile_words("failed"), compile_words("gone")
        sentences = SENTENCE.split(self.closing[:OPENING])
        told = (one.strip() for one in sentences if failed.search(one) and not gone.search(one))
        return quote_around(next(told, ""), failed)

    @cached_property
    def done_words(self) -> str:
        """The words in which the agent says that it is done."""
        text = self.closing[:CLOSING]
        said = speech.parse_utterance(text)
        if said.first("agent.done"):
            return said.quote("agent.done")
        found = compile_words("done").search(text)
        return take_beginning(found.group().strip(), QUOTE) if found else ""

    @cached_property
    def chore(self) -> str:
        """The words in which the person asks last to hand the work in."""
        said = self.last.said
        is_short = len(self.asked) > 1 and said.words <= SHORT_CHORE
        return said.quote("chores") if is_short and "chores" in said.heard else ""

    @cached_property
    def acceptance(self) -> OutcomeEvidence | None:
        """The person's word that it is right: the last one, or what the next goal opens with."""
        said = self.last.said
        if len(self.asked) > 1 and said.first("accepts") and not said.first("complains", "frustrated"):
            return OutcomeEvidence("accepted", self.last.number, said.quote("accepts"))
        if self.after:
            said = speech.parse_utterance(self.after.text[:NEXT_PROMPT])
            if any(heard.word <= EARLY_WORDS for heard in said.heard.get("accepts", ())):
                return OutcomeEvidence("accepted_next", len(self.timeline.readings) + 1, said.quote("accepts"))
        return None

    @cached_property
    def second_run(self) -> tuple[int, Call] | None:
        """The last command that had failed and was run again in the same words, now rightly."""
        failed: set[str] = set()
        found: dict[str, tuple[int, Call]] = {}
        for number, call in self.calls:
            if not call.command or any(run.purpose in CHECKS | LANDING for run in call.runs):
                continue
            if has_failed(call):
                failed.add(call.command)
                found.pop(call.command, None)
            elif call.status == "ok" and call.command in failed:
                found[call.command] = (number, call)
        return max(found.values(), key=lambda one: one[0], default=None)


def quote_around(sentence: str, phrase: re.Pattern[str]) -> str:
    """A sentence, or of a long one as much around a phrase as fits a quote."""
    found = phrase.search(sentence)
    if found is None or len(sentence) <= QUOTE:
        return sentence
    rest = sentence[found.start() :]
    before = take_ending(sentence[: found.start()], max(QUOTE // 2, QUOTE - len(rest)))
    return take_beginning(f"{before}{rest}".strip(), QUOTE)


def find_evidence(record: OutcomeRecord) -> Iterator[OutcomeEvidence]:
    """The evidence that carries, when measured on sessions of people whom nobody had seen."""
    timeline, end = record.timeline, record.timeline.ending
    if record.is_broken and record.after is None:
        yield OutcomeEvidence("broken_after_showing", end.turn, end.quote)
    if end.kind in ("interrupted", "rejected") and record.after is not None:
        yield OutcomeEvidence("stopped", end.turn, end.quote)
    yield from find_closing_words(record)
    if timeline.last_edit >= 0 and not record.is_shown and not record.is_broken and record.intent in VERIFIED:
        yield OutcomeEvidence("never_shown", len(timeline.readings))
    if record.landing:
        yield OutcomeEvidence("handed_in", record.landing[0], take_beginning(record.landing[2].command, QUOTE))
    elif record.chore:
        yield OutcomeEvidence("handed_in", record.last.number, record.chore)
    yield from find_missing_changes(record)
    yield from find_last_error(record)
    for failure in record.failures[:1]:
        yield OutcomeEvidence("failure_signal", failure.turn, failure.quote)


def find_closing_words(record: OutcomeRecord) -> Iterator[OutcomeEvidence]:
    """What the agent says of its work in the end."""
    number = record.speaker.number
    if record.admission and not record.is_shown:
        yield OutcomeEvidence("admits_failure", number, take_beginning(record.admission, QUOTE))
    if record.done_words and not record.admission:
        yield OutcomeEvidence("says_done", number, record.done_words)
    if len(record.closing) >= LONG_ANSWER:
        yield OutcomeEvidence("full_answer", number, record.speaker.closing)


def find_missing_changes(record: OutcomeRecord) -> Iterator[OutcomeEvidence]:
    """Whether a change that was wanted was made at all, and whether the last request changed anything."""
    if record.intent not in CHANGES:
        return
    if not any(reading.is_mutating or reading.has_edits for reading in record.timeline.readings):
        yield OutcomeEvidence("nothing_changed", len(record.timeline.readings))
    is_excused = record.landing or record.chore or record.acceptance
    if not record.last.is_mutating and not record.is_broken and not is_excused:
        yield OutcomeEvidence("last_turn_idle", record.last.number)


def find_last_error(record: OutcomeRecord) -> Iterator[OutcomeEvidence]:
    """The last check of all that failed, or the last call of all."""
    known = [check for check in record.timeline.checks if check.passed is not None]
    ended = [(number, call) for number, call in record.calls if call.status in ("ok", "error")]
    if known and not known[-1].passed:
        yield OutcomeEvidence("ends_on_error", known[-1].turn, find_telling_line(known[-1].call))
    elif ended and has_failed(ended[-1][1]) and not is_waiting(ended[-1][1]):
        yield OutcomeEvidence("ends_on_error", ended[-1][0], find_telling_line(ended[-1][1]))


def is_waiting(call: Call) -> bool:
    """Whether a call only tells that jobs are still running, and none that failed."""
    return bool(PENDING_JOB.search(call.output)) and not FAILED_JOB.search(call.output)


def find_proof(record: OutcomeRecord) -> Iterator[OutcomeEvidence]:
    """What shows a goal reached: the person's word, a check, what failed run again, a conclusion, a plan taken."""
    if record.acceptance:
        yield record.acceptance
    if record.intent in CHANGES:
        if record.passing_check:
            yield OutcomeEvidence(
                "check_passed", record.passing_check.turn, take_beginning(record.passing_check.call.command, QUOTE)
            )
        elif record.second_run:
            yield OutcomeEvidence(
                "ran_again", record.second_run[0], take_beginning(record.second_run[1].command, QUOTE)
            )
    if record.intent in FINDS and not record.is_broken:
        kinds = ("agent.concludes", "agent.findings")
        spoken = [reading for reading in record.timeline.readings if reading.reply.first(*kinds)]
        if spoken:
            yield OutcomeEvidence("concluded", spoken[-1].number, spoken[-1].reply.quote(*kinds))
    if record.intent == "plan":
        yield from find_taken_plan(record.timeline)


def find_taken_plan(timeline: Timeline) -> Iterator[OutcomeEvidence]:
    """A plan that was accepted, and a go-ahead after which building began."""
    plans = [
        (reading.number, call)
        for reading in timeline.readings
        for call in reading.turn.calls
        if call.kind == "plan" and call.name != BEGINS_PLANNING
    ]
    if plans and plans[-1][1].status == "ok":
        number, call = plans[-1]
        yield OutcomeEvidence("plan_accepted", number, take_beginning((call.target or call.output).strip(), QUOTE))
    agreed = [reading for reading in timeline.readings[1:] if reading.has_edits and reading.said.first("agrees")]
    if agreed:
        yield OutcomeEvidence("building_began", agreed[-1].number, agreed[-1].said.quote("agrees"))
