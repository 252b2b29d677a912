"""Scores of sessions into Langfuse, each exactly once: how well sessions were run, and whether they landed.

A session of ours is written on the Langfuse session of the same id as the stream it begins in. The first of a stream
stands for the stream's beginning; those that begin later in it are told apart by their own ids.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config
from assay.http import AccessDenied, RemoteError
from assay.langfuse import (
    Client,
    NotStored,
    Plan,
    Pulled,
    ScoreConfig,
    ScoreWrite,
    SetupReport,
    Target,
    WriteReport,
    configs_of,
    id_of,
    is_known,
    scores_of,
    setup,
    status,
    trace_at,
    write,
)
from assay.langfuse.facts import CONFIGS, facts_of
from assay.pipeline.asking import ONLY_KEPT
from assay.pipeline.given import present
from assay.pipeline.quality import Subject
from assay.pipeline.reading import rules
from assay.pipeline.tenants import OPTED_OUT, named, withheld
from assay.sessions.redaction import Redactor
from assay.stores import RemoteProject, Store
from assay.types import Clean, Row, Session
from assay.types.quality import Profile, Quality

INSUFFICIENT = "insufficient evidence"
NOTHING_SHOWN = "it shows too little of every dimension"
UNKNOWN = "Langfuse has no such session; --all writes it all the same"
NOT_GRADED = "not graded"
NOT_SCORED = "the judge that is set has not judged it yet; run `assay score`"
WITHOUT_MODEL = "--judge offline scores it without a model"
WAIT_S = 45.0


class Post(Struct, frozen=True, kw_only=True):
    """How scores are handed over."""

    client: Client
    store: Store
    where: RemoteProject
    dry_run: bool = False
    recheck: bool = False
    """Also look up what this store knows to be there."""
    wait_s: float = WAIT_S
    """For each of the two rounds of reading back."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class Put(Row, frozen=True):
    """A score of a session."""

    id: str
    name: str
    value: float | str | bool
    trace: str
    """Empty for one on the session."""
    comment: str
    metadata: dict[str, Any]
    """With the comment all that is said of it there."""


class Sent(Row, frozen=True):
    """A session of which there were scores to write."""

    session: str
    """Langfuse's id of it."""
    assay_session: str
    part: str
    """Empty for the one with which the Langfuse session begins."""
    scores: list[Put]
    overall_quality: float | None = None
    ungraded: dict[str, str] = {}
    """Dimensions without a score, and why."""


class Left(Row, frozen=True):
    """A session of which nothing was to be written."""

    session: str
    assay_session: str
    why: str
    is_fault: bool = False
    """Something was expected of it."""


class Delivered(Row, frozen=True):
    """What became of it all."""

    host: str
    project: str
    sessions: list[Sent]
    left_out: list[Left]
    configs_created: list[str]
    stored: list[str]
    unchanged: list[str]
    not_stored: list[NotStored]
    would_write: list[str]

    @property
    def is_complete(self) -> bool:
        """Whether all that should be in Langfuse is there."""
        return not self.not_stored and not any(one.is_fault for one in self.left_out)


class Made(Struct, frozen=True, kw_only=True):
    """Scores to write, and the sessions that gave some or none."""

    scores: list[ScoreWrite] = []
    sessions: list[Sent] = []
    left_out: list[Left] = []


def where_of(client: Client) -> RemoteProject:
    """The project that the keys lead to."""
    found = status(client)
    return RemoteProject(host=found.host, project=found.project_id)


def targets(store: Store, sessions: Iterable[Session]) -> dict[str, Target]:
    """Where the scores of each session go, by our ids."""
    return {
        one.id: Target(session=one.stream, timestamp=one.began_at, part=one.id if one.first else "")
        for one in store.sessions.find_segments({one.id for one in sessions})
    }


def redactor(config: Config) -> Callable[[str], Clean]:
    """All words on their way out go through one for each session: what stands in others makes no difference."""
    return Redactor(rules(config, present(config)).options).text


def silence(session: Session, config: Config) -> str:
    """Why nothing of a session may leave; nothing where it may."""
    why = withheld(named(config.tenants, session.tenant), session.ended_at, present(config))
    is_silent = why or session.judge_status == "opted_out"
    return f"nothing of its tenant leaves: {why or OPTED_OUT}" if is_silent else ""


# --- how well it was run ------------------------------------------------------------------------


def push_quality(
    post: Post,
    judged: Sequence[tuple[Subject, Quality]],
    profile: Profile,
    config: Config,
    traced: Sequence[Pulled] = (),
) -> Delivered:
    """Write the dimensions of sessions; of those that are `traced` also on the traces in which they begin."""
    there = setup(post.client, configs_of(profile), dry_run=post.dry_run)
    places = targets(post.store, [one.session for one, _ in judged])
    made, paths = Made(), {one.session: Path(one.path) for one in traced}
    for subject, quality in judged:
        session, target, clean = subject.session, places[subject.session.id], redactor(config)
        scores = [
            score
            for one in (target, *on_trace(target, paths))
            for score in scores_of(quality, profile, one, there.ids, clean)
        ]
        if left := left_out(session, quality, scores, config, post):
            made.left_out.append(Left(session=target.session, assay_session=session.id, why=left[0], is_fault=left[1]))
        else:
            made.scores.extend(scores)
            made.sessions.append(sent(session, target, scores, quality))
    return delivered(post, made, there)


def on_trace(target: Target, paths: Mapping[str, Path]) -> list[Target]:
    """The trace in which a session begins, by the files of pulled sessions."""
    path = paths.get(target.session)
    trace = trace_at(path, target.timestamp) if path else ""
    return [replace(target, trace=trace)] if trace else []


def left_out(
    session: Session, quality: Quality, scores: Sequence[ScoreWrite], config: Config, post: Post
) -> tuple[str, bool] | None:
    """Why nothing is written of a session, and whether that is a fault.

    Where the model that was asked for gave no answer, the offline judge's word does not take the place of what may
    stand there from the model.
    """
    if why := silence(session, config):
        return why, False
    if quality.fallback and not (post.dry_run and quality.fallback == ONLY_KEPT):
        return f"{quality.fallback}; {WITHOUT_MODEL}", True
    if not scores:
        reasons = {one.ungraded for one in quality.dimensions.values()}
        return f"{INSUFFICIENT}: {reasons.pop() if len(reasons) == 1 else NOTHING_SHOWN}", False
    return None


def sent(session: Session, target: Target, scores: Sequence[ScoreWrite], quality: Quality | None = None) -> Sent:
    dimensions = quality.dimensions if quality else {}
    return Sent(
        session=target.session,
        assay_session=session.id,
        part=target.part,
        scores=[put(one) for one in scores],
        overall_quality=quality.overall_quality if quality else None,
        ungraded={name: one.ungraded for name, one in dimensions.items() if one.score is None},
    )


def put(one: ScoreWrite) -> Put:
    return Put(
        id=id_of(one), name=one.name, value=one.value, trace=one.trace, comment=one.comment, metadata=one.metadata
    )


# --- whether it landed --------------------------------------------------------------------------


def push_facts(post: Post, sessions: Sequence[Session], config: Config, *, to_all: bool = False) -> Delivered:
    """Write what the PRISM Score is made of; by default only on sessions that Langfuse knows."""
    there = setup(post.client, CONFIGS, dry_run=post.dry_run)
    places, made = targets(post.store, sessions), Made()
    asked: dict[str, Left | None] = {}
    for session in sessions:
        target = places[session.id]
        scores = facts_of(session, target, there.ids, redactor(config))
        why = silence(session, config) or not_scored(session)
        if not why and not to_all and target.session not in asked:
            asked[target.session] = unknown(post, session, target, scores)
        if why:
            made.left_out.append(Left(session=target.session, assay_session=session.id, why=why))
        elif left := asked.get(target.session):
            made.left_out.append(replace(left, assay_session=session.id))
        else:
            made.scores.extend(scores)
            made.sessions.append(sent(session, target, scores))
    return delivered(post, made, there)


def not_scored(session: Session) -> str:
    """Why there is nothing to say of a session yet."""
    if session.judge_status != "ok":
        reason = session.ungraded_reason or session.judge_status.replace("_", " ")
        return f"{NOT_GRADED}: {reason}"
    return NOT_SCORED if session.fallback == ONLY_KEPT else ""


def unknown(post: Post, session: Session, target: Target, scores: Sequence[ScoreWrite]) -> Left | None:
    """Whether Langfuse lacks a session; one that has scores of ours is known without asking."""
    if post.store.written.load_digests(post.where, map(id_of, scores)):
        return None
    try:
        why, is_fault = ("" if is_known(post.client, target.session) else UNKNOWN), False
    except AccessDenied:
        raise
    except RemoteError as error:
        why, is_fault = str(error), True
    return Left(session=target.session, assay_session=session.id, why=why, is_fault=is_fault) if why else None


# --- handing over -------------------------------------------------------------------------------


def delivered(post: Post, made: Made, there: SetupReport) -> Delivered:
    """Write what is not there yet, and say what became of all."""
    done = deliver(post, made.scores, there)
    return Delivered(
        host=post.where.host,
        project=post.where.project,
        sessions=made.sessions,
        left_out=made.left_out,
        configs_created=list(there.created),
        stored=list(done.stored),
        unchanged=list(done.unchanged),
        not_stored=list(done.not_stored),
        would_write=list(done.would_write),
    )


def deliver(post: Post, scores: Sequence[ScoreWrite], there: SetupReport) -> WriteReport:
    """Write scores; what is seen in Langfuse is kept at once, so that a run that was killed sends only the rest.

    A score whose config is of another kind would be of another kind than all others of its name: it is not sent.
    """
    in_the_way = {one.name: one.why for one in there.mismatched}
    lost = [
        NotStored(
            id=id_of(one),
            session=one.session,
            name=one.name,
            why=f"its score config is of another kind: {in_the_way[one.name]}",
            is_final=True,
        )
        for one in scores
        if one.name in in_the_way
    ]
    fit = [one for one in scores if one.name not in in_the_way]

    def done(id: str, digest: str) -> None:
        post.store.written.save_digest(post.where, id, digest, post.now().isoformat(timespec="seconds"))

    already = {} if post.recheck else post.store.written.load_digests(post.where, map(id_of, fit))
    plan = Plan(already=already, done=done, deadline_s=post.wait_s, dry_run=post.dry_run)
    report = write(post.client, fit, plan) if fit else WriteReport()
    return replace(report, not_stored=(*lost, *report.not_stored))


def all_configs(profile: Profile) -> list[ScoreConfig]:
    """Every score config that a project needs."""
    return [*configs_of(profile), *CONFIGS]
