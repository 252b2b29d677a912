"""What a worker process does with a stream: cut it, judge every segment, hand back rows to keep.

A judge that asks a model asks nobody here: it hands back what it wants to know, and the stream is cut again once that
is answered (`asking`). What can't be answered at all is left to the offline judge, which is said of every session.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay import facts, sessions
from assay.config import Boundaries, Config
from assay.facts import substance
from assay.judges import Judge
from assay.judges import model as model_judge
from assay.llm import FINAL, Question, QuestionResult
from assay.pipeline import privacy
from assay.pipeline.judgement import (
    NO_GAPS,
    JudgeTroubles,
    SessionJudgement,
    find_judge,
    hash_input,
    hash_values,
    judge_turns,
    leave_unjudged,
)
from assay.pipeline.privacy import (
    VisibleStream,
    WordOwner,
    explain_forbidden,
    find_named_tenant,
    merge_owners,
    redact_stream,
)
from assay.sessions.boundaries import cut_segments, hash_turn
from assay.stores import CutStream, JoinedSession, StoredSegment, StreamFiles, StreamName, StreamPieces
from assay.types import Gap, LanguageJudgement, Prompt, RubricJudgement, Segment, Stream, Turn

VERSION = 4
"""Raised when streams are cut, or what is judged put together, in another way."""

OFFLINE = "offline"


class JudgeModel(Struct, frozen=True, kw_only=True):
    """The model that a judge asks."""

    backend: str
    model: str
    tokens: int
    votes: int

    def versions(self) -> dict[str, str]:
        return model_judge.versions(self.model, self.tokens, self.votes)


class RunTerms(Struct, frozen=True, kw_only=True):
    """What holds for a whole run."""

    judge: str
    model: JudgeModel | None
    """`None`: the judge asks no model."""
    privacy: privacy.PrivacyRules
    boundaries: Boundaries
    splits: frozenset[str]
    judging_version: str
    """Version of all that decides what is judged of given turns."""
    cutting_version: str
    """Version of all that decides where a stream is cut, and of `judging`."""

    def versions(self) -> dict[str, str]:
        return self.model.versions() if self.model else find_judge(self.judge).versions()


def build_terms(config: Config, splits: frozenset[str], now: datetime, asks: JudgeModel | None = None) -> RunTerms:
    """The terms of these settings; where people split is no part of the version: a split drops the stream's cut."""
    name = asks.backend if asks else config.judge
    versions = asks.versions() if asks else find_judge(name).versions()
    rules = privacy.build_rules(config, now)
    judging = hash_values(
        VERSION, name, sorted(versions.items()), sessions.VERSION, facts.build_version(), rules.version
    )
    cutting = hash_values(judging, config.boundaries.commit)
    return RunTerms(
        judge=name,
        model=asks,
        privacy=rules,
        boundaries=config.boundaries,
        splits=splits,
        judging_version=judging,
        cutting_version=cutting,
    )


# --- who judges ---------------------------------------------------------------------------------


class PendingQuestion(Struct, frozen=True, kw_only=True):
    """A question to be asked, and of what."""

    about: str
    """Id of the session, or of the stream whose topics are asked for."""
    project: str
    question: Question


class KnownAnswers(Struct, frozen=True, kw_only=True):
    """What is known when turns are judged."""

    answers: Mapping[str, QuestionResult] = {}
    fallback: str = ""
    """Why no more questions are asked: the offline judge has to do."""
    guesses: bool = False
    """Nobody is asked: questions are noted, and the offline judge's word stands for the answers."""


class FramedJudge:
    """A model judge that is shown the same of a session for every job: what is shown is paid for once."""

    def __init__(self, judge: model_judge.ModelJudge, after: Prompt | None) -> None:
        self.judge = judge
        self.after = after
        self.versions = judge.versions
        self.topic = judge.topic
        self.outcome = judge.outcome

    def language(self, turns: Sequence[Turn]) -> LanguageJudgement:
        return self.judge.language(turns, self.after)

    def rubric(self, turns: Sequence[Turn]) -> RubricJudgement:
        return self.judge.rubric(turns, self.after)


class StreamJudge:
    """Judges the turns of one stream or session, and collects what it wants to know."""

    def __init__(self, terms: RunTerms, read: VisibleStream, told: KnownAnswers) -> None:
        self.terms = terms
        self.read = read
        self.told = told
        self.fallback = told.fallback
        self.wanted: list[PendingQuestion] = []
        self.is_open = any(one.trouble and one.trouble not in FINAL for one in told.answers.values())
        """Something was not answered that may be answered another time."""
        self.by_model = self.pick_model_judge()

    def pick_model_judge(self) -> model_judge.ModelJudge | None:
        """The judge that asks a model, where one may be asked."""
        asks = self.terms.model
        if asks is None:
            return None
        name = self.read.owner.tenant
        if why := explain_forbidden(
            find_named_tenant(self.terms.privacy.tenants, name), name, asks.backend, asks.model
        ):
            self.fallback = why
            return None
        return model_judge.ModelJudge(
            model=asks.model,
            answers=self.told.answers,
            tokens=asks.tokens,
            votes=asks.votes,
            redactor=self.read.redactor,
            guess=self.told.guesses,
        )

    @property
    def own_judge(self) -> Judge:
        """The judge that asks nobody."""
        return find_judge(OFFLINE if self.terms.model else self.terms.judge)

    @property
    def falls_back(self) -> bool:
        """What is not answered is left to the offline judge."""
        return bool(self.fallback) and not self.told.guesses

    def take_questions(self, about: str) -> bool:
        """Take over what the judge wants to know; whether that is anything."""
        known = {one.question.key for one in self.wanted}
        new = [one for one in (self.by_model.wanted if self.by_model else ()) if one.key not in known]
        project = self.read.stream.about.cwd
        self.wanted += [PendingQuestion(about=about, project=project, question=one) for one in new]
        return bool(new)

    def find_gaps(self, stream: Stream) -> tuple[Gap, ...]:
        """The steps between prompts of a stream at which its topic shifts."""
        asking = JudgeTroubles()
        by = self.by_model or self.own_judge
        found = asking.ask(lambda: by.topic(stream), NO_GAPS)
        if self.take_questions(stream.id) and self.falls_back:
            self.is_open = True
            return self.own_judge.topic(stream)
        self.is_open |= bool(asking.troubles) and self.by_model is None
        return found

    def judge_session(
        self, about: str, turns: Sequence[Turn], after: Prompt | None, owner: WordOwner
    ) -> tuple[SessionJudgement, bool]:
        """What is judged of some turns, with whose they are, and whether that is settled."""
        if owner.withheld:
            found, is_settled = leave_unjudged(turns), True
        elif self.by_model is None or not substance.fact(turns).substance:
            found, is_settled = self.judge_offline(turns, after)
        else:
            found, is_settled = self.judge_by_model(self.by_model, about, turns, after)
        return replace(found, tenant=owner.tenant), is_settled

    def judge_by_model(
        self, judge: model_judge.ModelJudge, about: str, turns: Sequence[Turn], after: Prompt | None
    ) -> tuple[SessionJudgement, bool]:
        """What a model says of some turns, as far as it was asked; where it can't be, what the offline judge says."""
        found = judge_turns(FramedJudge(judge, after), turns, after, JudgeTroubles())
        if self.take_questions(about) and self.falls_back:
            return self.judge_offline(turns, after)[0], False
        return replace(found, judge=self.terms.judge), not self.is_open

    def judge_offline(self, turns: Sequence[Turn], after: Prompt | None) -> tuple[SessionJudgement, bool]:
        """What the judge says that asks nobody."""
        asking = JudgeTroubles()
        found = judge_turns(self.own_judge, turns, after, asking)
        name = OFFLINE if self.terms.model else self.terms.judge
        return replace(found, judge=name, fallback=self.fallback or None), not asking.troubles


# --- tasks --------------------------------------------------------------------------------------


class CutTask(Struct, frozen=True, kw_only=True):
    """A stream that a worker cuts and judges, with all that is known of it."""

    terms: RunTerms
    stream: StreamFiles
    kept: StreamPieces
    known: frozenset[str]
    """Inputs of which judgements are kept."""
    told: KnownAnswers = KnownAnswers()


class CutResult(Struct, frozen=True, kw_only=True):
    """A stream, cut, unless something must be asked first; what is wanted beside a cut is not asked."""

    stream: StreamFiles
    cut: CutStream | None = None
    wanted: tuple[PendingQuestion, ...] = ()


def cut_stream(task: CutTask) -> CutResult:
    """Cut a stream and judge what is not known yet."""
    terms = task.terms
    judge = StreamJudge(terms, redact_stream(task.kept, terms.privacy), task.told)
    stream = judge.read.stream
    gaps = NO_GAPS if judge.read.withheld else judge.find_gaps(stream)
    if judge.wanted and not (judge.fallback or task.told.guesses):
        return CutResult(stream=task.stream, wanted=tuple(judge.wanted))
    found = [
        judge_segment(task, judge, n, segment)
        for n, segment in enumerate(cut_segments(judge.read.placed, gaps, terms.splits, terms.boundaries))
    ]
    if judge.wanted and not (judge.fallback or task.told.guesses):
        return CutResult(stream=task.stream, wanted=tuple(judge.wanted))
    is_done = not judge.is_open and all(one.input for one in found)
    return CutResult(
        stream=task.stream,
        cut=CutStream(
            agent=task.stream.agent,
            stream=task.stream.id,
            generation=task.stream.generation,
            version=terms.cutting_version if is_done else "",
            branch=stream.about.branch,
            segments=tuple(found),
        ),
        wanted=tuple(judge.wanted),
    )


def judge_segment(task: CutTask, judge: StreamJudge, n: int, segment: Segment) -> StoredSegment:
    """A segment with what is judged of it, unless that is known."""
    stream = judge.read.stream
    turns, after = list_turns_in(stream, segment), find_prompt_after(stream, segment)
    hashed = hash_input(task.terms.judging_version, turns, after)
    kept = StoredSegment(
        segment=segment,
        n=n,
        input=hashed,
        turns=tuple(hash_turn(segment.agent, segment.stream, turn) for turn in turns),
    )
    if hashed in task.known:
        return kept
    found, is_settled = judge.judge_session(segment.id, turns, after, find_segment_owner(judge.read, segment))
    return replace(kept, input=hashed if is_settled else "", judged=msgspec.json.encode(found))


class SessionParts(Struct, frozen=True, kw_only=True):
    """A session of several segments, in order of time."""

    segments: tuple[Segment, ...]
    input: str


class JoinTask(Struct, frozen=True, kw_only=True):
    """Sessions of several segments, with the streams they stand in."""

    terms: RunTerms
    streams: dict[StreamName, StreamPieces]
    wanted: tuple[SessionParts, ...]
    told: KnownAnswers = KnownAnswers()


class JoinResult(Struct, frozen=True, kw_only=True):
    """A session judged as one, unless something must be asked first."""

    parts: SessionParts
    whole: JoinedSession | None = None
    wanted: tuple[PendingQuestion, ...] = ()


def judge_joined_sessions(task: JoinTask) -> list[JoinResult]:
    """Judge each session as one."""
    streams = {name: redact_stream(kept, task.terms.privacy) for name, kept in task.streams.items()}
    return [judge_joined_session(task, parts, streams) for parts in task.wanted]


def judge_joined_session(
    task: JoinTask, parts: SessionParts, streams: Mapping[StreamName, VisibleStream]
) -> JoinResult:
    """Judge a session as one; where its streams changed since it was put together, it is not kept as known."""
    read = [streams[one.agent, one.stream] for one in parts.segments]
    pieces = [(one.stream, segment) for one, segment in zip(read, parts.segments, strict=True)]
    turns = [turn for stream, segment in pieces for turn in list_turns_in(stream, segment)]
    inputs = [
        hash_input(task.terms.judging_version, list_turns_in(*piece), find_prompt_after(*piece)) for piece in pieces
    ]
    owner = merge_owners(find_segment_owner(one, segment) for one, segment in zip(read, parts.segments, strict=True))
    judge = StreamJudge(task.terms, replace(read[0], owner=merge_owners(one.owner for one in read)), task.told)
    first = parts.segments[0]
    found, is_settled = judge.judge_session(first.id, turns, find_prompt_after(*pieces[-1]), owner)
    if judge.wanted and not judge.fallback:
        return JoinResult(parts=parts, wanted=tuple(judge.wanted))
    is_sure = is_settled and hash_values(*inputs) == parts.input
    whole = JoinedSession(
        agent=first.agent,
        id=first.id,
        input=parts.input if is_sure else "",
        judged=msgspec.json.encode(found),
    )
    return JoinResult(parts=parts, whole=whole)


def list_turns_in(stream: Stream, segment: Segment) -> tuple[Turn, ...]:
    """The turns of a segment."""
    return stream.turns[segment.first : segment.last + 1]


def find_prompt_after(stream: Stream, segment: Segment) -> Prompt | None:
    """What the person said next in the same stream."""
    return next((turn.prompt for turn in stream.turns[segment.last + 1 :] if turn.prompt), None)


def find_segment_owner(read: VisibleStream, segment: Segment) -> WordOwner:
    """Whose the turns of a segment are."""
    return merge_owners(read.owners[segment.first : segment.last + 1])
