"""What a worker process does with a stream: cut it, judge every segment, hand back rows to keep.

What is judged depends on nothing but the turns, the prompt that came next, and the version of all that judges: a
hash of these, the input, tells whether it must be judged at all.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay import facts, sessions
from assay.config import Boundaries, Config
from assay.errors import BadInput, JudgeError
from assay.facts.failures import Failures
from assay.pipeline.work import ENCODE, Joining, pieces_of, prompts_at
from assay.plugins import find, names
from assay.scores.prism import is_crushed
from assay.sessions.boundaries import cut, turn_id
from assay.sessions.join import join
from assay.stores.sql.scored import Cut, KeptSegment, Whole
from assay.stores.sql.settling import Name, Pieces, StreamFiles
from assay.types import (
    Citation,
    EvidenceKind,
    Failure,
    Gap,
    Intent,
    JudgeStatus,
    LanguageJudgement,
    OutcomeJudgement,
    Prompt,
    Reason,
    Row,
    RubricJudgement,
    Segment,
    Stream,
    Turn,
)

VERSION = 2
"""Raised when streams are cut, or what is judged put together, in another way."""

NO_CITATION = "no citation stands in the transcript"
NO_GAPS: tuple[Gap, ...] = ()
NO_LANGUAGE = LanguageJudgement(natural=None, programming=None)
NO_RUBRIC = RubricJudgement(intent=None, checks={}, grade=None, title="", summary="")
NO_OUTCOME = OutcomeJudgement(goal_complete=None, confidence=None, evidence=None)

T = TypeVar("T")


class Judge(Protocol):
    """What a module of `judges` offers."""

    def versions(self) -> dict[str, str]: ...
    def topic(self, stream: Stream) -> tuple[Gap, ...]: ...
    def language(self, turns: Sequence[Turn]) -> LanguageJudgement: ...
    def rubric(self, turns: Sequence[Turn]) -> RubricJudgement: ...
    def outcome(
        self, turns: Sequence[Turn], intent: Intent, failures: Sequence[Failure], after: Prompt | None
    ) -> OutcomeJudgement: ...


@cache
def judge(name: str) -> Judge:
    """The judge called `name`."""
    there = [one for one in names("judges") if hasattr(find("judges", one), "outcome")]
    if name not in there:
        raise BadInput(f"no judge is called {name!r}; there are: {', '.join(there)}")
    return cast(Judge, find("judges", name))


# --- versions ---------------------------------------------------------------------------------


class Terms(Struct, frozen=True, kw_only=True):
    """What holds for a whole run."""

    judge: str
    rules: Boundaries
    splits: frozenset[str]
    judging: str
    """Version of all that decides what is judged of given turns."""
    cutting: str
    """Version of all that decides where a stream is cut, and of `judging`."""


def terms(config: Config, splits: frozenset[str]) -> Terms:
    """The terms of these settings; where people split is no part of the version: a split drops the stream's cut."""
    versions = judge(config.judge).versions()
    judging = hashed(VERSION, config.judge, sorted(versions.items()), sessions.VERSION, facts.version())
    cutting = hashed(judging, config.boundaries.commit)
    return Terms(judge=config.judge, rules=config.boundaries, splits=splits, judging=judging, cutting=cutting)


def hashed(*parts: object) -> str:
    return blake2b(msgspec.msgpack.encode(parts), digest_size=16).hexdigest()


def input_of(version: str, turns: Sequence[Turn], after: Prompt | None) -> str:
    """Hash of all that judging looks at."""
    found = blake2b(version.encode(), digest_size=16)
    for turn in turns:
        found.update(ENCODE(turn))
    found.update(ENCODE(after))
    return found.hexdigest()


# --- one run of turns -------------------------------------------------------------------------


class Judged(Row, frozen=True):
    """What can be said of some turns wherever they stand: a session without its place."""

    models: list[str]
    prompts_at: list[str]
    facts: dict[str, Any]
    language: str | None
    programming_language: str | None
    intent: Intent | None
    judge_status: JudgeStatus
    ungraded_reason: str | None
    goal_complete: bool | None
    confidence: float | None
    evidence: EvidenceKind | None
    citations: list[Citation]
    reasons: list[Reason]
    intent_reasons: list[Reason]
    crushed: bool | None
    title: str
    summary: str
    grade: str | None
    checks: dict[str, bool | None]
    judge_versions: dict[str, str]


class Asking:
    """Asks a judge and notes what it could not answer: a judge never breaks a run."""

    def __init__(self) -> None:
        self.troubles: list[str] = []

    def ask(self, question: Callable[[], T], otherwise: T) -> T:
        try:
            return question()
        except JudgeError as error:
            self.troubles.append(str(error))
            return otherwise


def judged(by: Judge, turns: Sequence[Turn], after: Prompt | None, asking: Asking) -> Judged:
    """Facts and judgements of some turns."""
    established = facts.establish(turns)
    flat = facts.flat(established)
    failures = cast(Failures, established["failures"]).failure_signals
    language = asking.ask(lambda: by.language(turns), NO_LANGUAGE)
    before = len(asking.troubles)
    rubric = asking.ask(lambda: by.rubric(turns), NO_RUBRIC)
    outcome = NO_OUTCOME
    if (intent := rubric.intent) is not None:
        outcome = checked(asking.ask(lambda: by.outcome(turns, intent, failures, after), NO_OUTCOME), turns, after)
    why = next(iter(asking.troubles[before:]), outcome.ungraded)
    status = status_of(flat["substance"], rubric, outcome, why)
    return Judged(
        models=models(turns),
        prompts_at=list(prompts_at(turns)),
        facts=flat,
        language=language.natural,
        programming_language=language.programming,
        intent=rubric.intent,
        judge_status=status,
        ungraded_reason=why or "the judge gave no reason" if status == "ungraded" else None,
        goal_complete=outcome.goal_complete,
        confidence=outcome.confidence,
        evidence=outcome.evidence,
        citations=list(outcome.citations),
        reasons=[*outcome.reasons],
        intent_reasons=[*rubric.reasons],
        crushed=is_crushed(status, flat["substance"], outcome.goal_complete, flat["rework"]["state"]),
        title=rubric.title,
        summary=rubric.summary,
        grade=rubric.grade,
        checks=rubric.checks,
        judge_versions=by.versions(),
    )


def status_of(substance: bool, rubric: RubricJudgement, outcome: OutcomeJudgement, why: str) -> JudgeStatus:
    """Whether the judgement counts, or why not."""
    if not substance:
        return "trivial"
    if rubric.intent is None:
        return "ungraded" if why else "no_goal"
    return "ungraded" if outcome.goal_complete is None else "ok"


def models(turns: Sequence[Turn]) -> list[str]:
    """The models the main agent ran on, else those of its sub-agents."""
    spent = [(spend.by, spend.model) for turn in turns for spend in turn.spends if spend.model]
    return sorted({model for by, model in spent if not by} or {model for _, model in spent})


# --- evidence ---------------------------------------------------------------------------------


def checked(outcome: OutcomeJudgement, turns: Sequence[Turn], after: Prompt | None) -> OutcomeJudgement:
    """The outcome with the citations that stand in the transcript; without any, only silence can be judged."""
    citations = tuple(one for one in outcome.citations if stands(one, turns, after))
    if not citations and outcome.goal_complete is not None and outcome.evidence != "silent":
        return OutcomeJudgement(
            goal_complete=None, confidence=None, evidence=None, reasons=outcome.reasons, ungraded=NO_CITATION
        )
    return replace(outcome, citations=citations)


def stands(citation: Citation, turns: Sequence[Turn], after: Prompt | None) -> bool:
    """Whether a quote stands in the turn it names; what was said next stands behind the last one."""
    quote = squeezed(citation.quote).strip("… ")
    if not quote or not 1 <= citation.turn <= len(turns) + (after is not None):
        return False
    said = list(texts(turns[citation.turn - 1])) if citation.turn <= len(turns) else []
    if after and citation.turn >= len(turns):
        said.append(after.text)
    return any(quote in squeezed(text) for text in said)


def texts(turn: Turn) -> Iterator[str]:
    """All that was said in a turn, by people, agents and tools."""
    if turn.prompt:
        yield turn.prompt.text
    for reply in turn.replies:
        yield reply.text
    for call in turn.calls:
        yield from (call.command, call.output, call.target)
    for mark in turn.marks:
        yield mark.detail


def squeezed(text: str) -> str:
    """A text with every run of white space as one space."""
    return " ".join(text.split())


# --- tasks ------------------------------------------------------------------------------------


class CutTask(Struct, frozen=True, kw_only=True):
    """A stream to cut."""

    terms: Terms
    stream: StreamFiles
    kept: Pieces
    known: frozenset[str]
    """Inputs of which judgements are kept."""


def cut_stream(task: CutTask) -> Cut:
    """Cut a stream and judge what is not known yet."""
    terms, by = task.terms, judge(task.terms.judge)
    stream = stream_of(task.kept)
    asking = Asking()
    gaps = asking.ask(lambda: by.topic(stream), NO_GAPS)
    found = [
        judge_segment(task, n, segment, stream)
        for n, segment in enumerate(cut(stream, gaps, terms.splits, terms.rules))
    ]
    is_done = not asking.troubles and all(one.input for one in found)
    return Cut(
        agent=task.stream.agent,
        stream=task.stream.id,
        generation=task.stream.generation,
        version=terms.cutting if is_done else "",
        branch=stream.about.branch,
        segments=tuple(found),
    )


def judge_segment(task: CutTask, n: int, segment: Segment, stream: Stream) -> KeptSegment:
    """A segment with what is judged of it, unless that is known."""
    turns, after = turns_in(stream, segment), prompt_after(stream, segment)
    hashed = input_of(task.terms.judging, turns, after)
    kept = KeptSegment(
        segment=segment,
        n=n,
        input=hashed,
        turns=tuple(turn_id(segment.agent, segment.stream, turn) for turn in turns),
    )
    if hashed in task.known:
        return kept
    asking = Asking()
    found = judged(judge(task.terms.judge), turns, after, asking)
    return replace(kept, input="" if asking.troubles else hashed, judged=msgspec.json.encode(found))


class Parts(Struct, frozen=True, kw_only=True):
    """A session of several segments, in order of time."""

    segments: tuple[Segment, ...]
    input: str


class WholeTask(Struct, frozen=True, kw_only=True):
    """Sessions of several segments, with the streams they stand in."""

    terms: Terms
    streams: dict[Name, Pieces]
    wanted: tuple[Parts, ...]


def judge_wholes(task: WholeTask) -> list[Whole]:
    """Judge each session as one."""
    streams = {name: stream_of(kept) for name, kept in task.streams.items()}
    return [judge_whole(task.terms, parts, streams) for parts in task.wanted]


def judge_whole(terms: Terms, parts: Parts, streams: dict[Name, Stream]) -> Whole:
    """Judge a session as one; where its streams changed since it was put together, it is not kept as known."""
    pieces = [(streams[one.agent, one.stream], one) for one in parts.segments]
    turns = [turn for stream, segment in pieces for turn in turns_in(stream, segment)]
    inputs = [input_of(terms.judging, turns_in(*piece), prompt_after(*piece)) for piece in pieces]
    asking = Asking()
    found = judged(judge(terms.judge), turns, prompt_after(*pieces[-1]), asking)
    is_sure = not asking.troubles and hashed(*inputs) == parts.input
    first = parts.segments[0]
    return Whole(
        agent=first.agent,
        id=first.id,
        input=parts.input if is_sure else "",
        judged=msgspec.json.encode(found),
    )


def stream_of(kept: Pieces) -> Stream:
    """A stream of its files as kept."""
    return join(pieces_of(Joining(pieces=kept.pieces, elsewhere=kept.elsewhere)), kept.elsewhere)


def turns_in(stream: Stream, segment: Segment) -> tuple[Turn, ...]:
    """The turns of a segment."""
    return stream.turns[segment.first : segment.last + 1]


def prompt_after(stream: Stream, segment: Segment) -> Prompt | None:
    """What the person said next in the same stream."""
    return next((turn.prompt for turn in stream.turns[segment.last + 1 :] if turn.prompt), None)
