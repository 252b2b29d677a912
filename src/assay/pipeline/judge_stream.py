"""What becomes of a stream: it is cut, every segment is judged, and the rows to keep are made.

Both are dialogues: what a model must be asked is yielded, and nobody is asked here. What can't be answered at all is
left to the offline judge, which is said of every session.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay import facts, sessions
from assay.config import Boundaries, Config
from assay.errors import JudgeError
from assay.judges import Judge
from assay.judges import model as model_judge
from assay.judges.offline.requests import has_goal
from assay.llm import FINAL, Dialogue, join_dialogues
from assay.pipeline import privacy
from assay.pipeline.judgement import (
    NO_GAPS,
    JudgeTroubles,
    SessionJudgement,
    SessionVerdict,
    build_judgement,
    find_failures,
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
from assay.sessions.progress import is_fresh
from assay.stores import CutStream, JoinedSession, StoredSegment, StreamFiles, StreamName, StreamPieces
from assay.types import Gap, Prompt, Segment, Stream, Turn

VERSION = 7
"""Raised when streams are cut, or what is judged put together, in another way."""

OFFLINE = "offline"
TOPICS_BY_OFFLINE = "the offline judge found where goals begin: {}"


class JudgeModel(Struct, frozen=True, kw_only=True):
    """The model that a judge asks."""

    backend: str
    model: str
    tokens: int
    votes: int

    def versions(self) -> dict[str, str]:
        """Of the model's jobs, and of the offline language that stands beside them."""
        own = find_judge(OFFLINE).versions()["language"]
        return model_judge.versions(self.model, self.tokens, self.votes) | {"language": own}


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
    now: datetime | None = None
    """When the report is made: nobody is asked about what still goes on."""
    sealed: frozenset[StreamName] = frozenset()
    """Streams that don't, though they were active a short while ago: somebody began another conversation since."""

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
        now=now,
        judge=name,
        model=asks,
        privacy=rules,
        boundaries=config.boundaries,
        splits=splits,
        judging_version=judging,
        cutting_version=cutting,
    )


# --- who judges ---------------------------------------------------------------------------------


class StreamJudge:
    """Judges the turns of one stream or session: a model where one may be asked, else the judge that asks nobody."""

    def __init__(self, terms: RunTerms, read: VisibleStream) -> None:
        self.terms = terms
        self.read = read
        self.fallback = ""
        """Why the offline judge had to do for something."""
        self.is_open = False
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
        return model_judge.ModelJudge(asks.model, asks.tokens, asks.votes, self.read.redactor)

    @property
    def own_judge(self) -> Judge:
        """The judge that asks nobody."""
        return find_judge(OFFLINE if self.terms.model else self.terms.judge)

    def find_gaps(self, stream: Stream) -> Dialogue[tuple[Gap, ...]]:
        """The steps between prompts at which the topic shifts; the offline judge's where a model tells none."""
        if self.by_model is None:
            return self.find_own_gaps(stream)
        try:
            found = yield from self.by_model.judge_topics(stream, stream.id, stream.about.cwd)
        except model_judge.NoAnswer as error:
            self.is_open |= error.trouble not in FINAL
            self.fallback = TOPICS_BY_OFFLINE.format(error) if error.trouble else ""
            return self.find_own_gaps(stream)
        asked = {gap.turn for gap in found}
        return tuple(
            sorted([*found, *(gap for gap in self.find_own_gaps(stream) if gap.turn not in asked)], key=turn_of)
        )

    def find_own_gaps(self, stream: Stream) -> tuple[Gap, ...]:
        asking = JudgeTroubles()
        found = asking.ask(lambda: self.own_judge.topic(stream), NO_GAPS)
        self.is_open |= bool(asking.troubles)
        return found

    def judge_session(
        self, about: str, turns: Sequence[Turn], after: Prompt | None, owner: WordOwner
    ) -> Dialogue[tuple[SessionJudgement, bool]]:
        """What is judged of some turns, with whose they are, and whether that is settled."""
        if owner.withheld:
            found, is_settled = leave_unjudged(turns), True
        elif self.by_model is None or not has_goal(turns):
            found, is_settled = self.judge_offline(turns, after, self.fallback)
        else:
            found, is_settled = yield from self.judge_by_model(self.by_model, about, turns, after)
        return replace(found, tenant=owner.tenant), is_settled and not self.is_open

    def judge_by_model(
        self, judge: model_judge.ModelJudge, about: str, turns: Sequence[Turn], after: Prompt | None
    ) -> Dialogue[tuple[SessionJudgement, bool]]:
        """What a model says of some turns; where it was not asked, what the offline judge says."""
        established = facts.establish_facts(turns)
        asks = self.terms.versions()
        project = self.read.stream.about.cwd
        is_settled = True
        try:
            rubric, outcome = yield from judge.judge_session(turns, find_failures(established), after, about, project)
            language = find_judge(OFFLINE).language(turns)
            said = SessionVerdict(rubric=rubric, outcome=outcome, language=language, versions=asks)
        except model_judge.NoAnswer as error:
            if error.is_unasked:
                return self.judge_offline(turns, after, str(error))[0], False
            said, is_settled = SessionVerdict(versions=asks, trouble=str(error)), error.trouble in FINAL
        except JudgeError as error:
            said = SessionVerdict(versions=asks, trouble=str(error))
        found = build_judgement(said, turns, after, established)
        return replace(found, judge=self.terms.judge, fallback=self.fallback or None), is_settled

    def judge_offline(self, turns: Sequence[Turn], after: Prompt | None, why: str) -> tuple[SessionJudgement, bool]:
        """What the judge says that asks nobody."""
        asking = JudgeTroubles()
        found = judge_turns(self.own_judge, turns, after, asking)
        name = OFFLINE if self.terms.model else self.terms.judge
        return replace(found, judge=name, fallback=why or None), not asking.troubles


def turn_of(gap: Gap) -> int:
    return gap.turn


# --- tasks --------------------------------------------------------------------------------------


class CutTask(Struct, frozen=True, kw_only=True):
    """A stream that is cut and judged, with all that is known of it."""

    terms: RunTerms
    stream: StreamFiles
    kept: StreamPieces
    known: frozenset[str]
    """Inputs of which judgements are kept."""


def cut_stream(task: CutTask) -> Dialogue[CutStream]:
    """Cut a stream and judge what is not known yet."""
    terms = task.terms
    judge = StreamJudge(terms, redact_stream(task.kept, terms.privacy))
    stream = judge.read.stream
    gaps = NO_GAPS if judge.read.withheld else (yield from judge.find_gaps(stream))
    segments = cut_segments(judge.read.placed, gaps, terms.splits, terms.boundaries)
    found = yield from join_dialogues([judge_segment(task, judge, n, one) for n, one in enumerate(segments)])
    is_done = not judge.is_open and all(one.input for one in found)
    return CutStream(
        agent=task.stream.agent,
        stream=task.stream.id,
        generation=task.stream.generation,
        version=terms.cutting_version if is_done else "",
        branch=stream.about.branch,
        segments=tuple(found),
    )


def judge_segment(task: CutTask, judge: StreamJudge, n: int, segment: Segment) -> Dialogue[StoredSegment]:
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
    owner = find_segment_owner(judge.read, segment)
    if judge.by_model and not owner.withheld and is_going_on(task, segment, after):
        # it will be asked about once it is over
        found, is_settled = replace(judge.judge_offline(turns, after, "")[0], tenant=owner.tenant), False
    else:
        found, is_settled = yield from judge.judge_session(segment.id, turns, after, owner)
    return replace(kept, input=hashed if is_settled else "", judged=msgspec.json.encode(found))


def is_going_on(task: CutTask, segment: Segment, after: Prompt | None) -> bool:
    """Whether somebody is at work in a segment, as far as its own stream and the run's terms know."""
    is_sealed = segment.committed_at or (segment.agent, segment.stream) in task.terms.sealed
    return after is None and not is_sealed and task.terms.now is not None and is_fresh(segment, task.terms.now)


def foresee_segments(task: CutTask) -> tuple[Segment, ...]:
    """Where a stream would be cut if nobody were asked; nothing is judged."""
    judge = StreamJudge(task.terms, redact_stream(task.kept, task.terms.privacy))
    gaps = NO_GAPS if judge.read.withheld else judge.find_own_gaps(judge.read.stream)
    return cut_segments(judge.read.placed, gaps, task.terms.splits, task.terms.boundaries)


class SessionParts(Struct, frozen=True, kw_only=True):
    """A session of several segments, in order of time."""

    segments: tuple[Segment, ...]
    input: str


class JoinTask(Struct, frozen=True, kw_only=True):
    """Sessions of several segments, with the streams they stand in."""

    terms: RunTerms
    streams: dict[StreamName, StreamPieces]
    wanted: tuple[SessionParts, ...]


def judge_joined_sessions(task: JoinTask) -> Dialogue[list[JoinedSession]]:
    """Judge each session as one."""
    streams = {name: redact_stream(kept, task.terms.privacy) for name, kept in task.streams.items()}
    return (yield from join_dialogues([judge_joined_session(task, parts, streams) for parts in task.wanted]))


def judge_joined_session(
    task: JoinTask, parts: SessionParts, streams: Mapping[StreamName, VisibleStream]
) -> Dialogue[JoinedSession]:
    """Judge a session as one; where its streams changed since it was put together, it is not kept as known."""
    read = [streams[one.agent, one.stream] for one in parts.segments]
    pieces = [(one.stream, segment) for one, segment in zip(read, parts.segments, strict=True)]
    turns = [turn for stream, segment in pieces for turn in list_turns_in(stream, segment)]
    inputs = [
        hash_input(task.terms.judging_version, list_turns_in(*piece), find_prompt_after(*piece)) for piece in pieces
    ]
    owner = merge_owners(find_segment_owner(one, segment) for one, segment in zip(read, parts.segments, strict=True))
    judge = StreamJudge(task.terms, replace(read[0], owner=merge_owners(one.owner for one in read)))
    first = parts.segments[0]
    found, is_settled = yield from judge.judge_session(first.id, turns, find_prompt_after(*pieces[-1]), owner)
    is_sure = is_settled and hash_values(*inputs) == parts.input
    return JoinedSession(
        agent=first.agent,
        id=first.id,
        input=parts.input if is_sure else "",
        judged=msgspec.json.encode(found),
    )


def list_turns_in(stream: Stream, segment: Segment) -> tuple[Turn, ...]:
    """The turns of a segment."""
    return stream.turns[segment.first : segment.last + 1]


def find_prompt_after(stream: Stream, segment: Segment) -> Prompt | None:
    """What the person said next in the same stream."""
    return next((turn.prompt for turn in stream.turns[segment.last + 1 :] if turn.prompt), None)


def find_segment_owner(read: VisibleStream, segment: Segment) -> WordOwner:
    """Whose the turns of a segment are."""
    return merge_owners(read.owners[segment.first : segment.last + 1])
