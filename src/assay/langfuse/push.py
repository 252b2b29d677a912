"""Scores of sessions into Langfuse, each exactly once, and an account of what became of them.

A session of ours is written on the Langfuse session of the same id as the stream it begins in. The first of a stream
stands for the stream's beginning; those that begin later in it are told apart by their own ids.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from assay.http import AccessDenied, RemoteError
from assay.langfuse.client import Client, fetch_status
from assay.langfuse.configs import SetupReport, WantedConfig
from assay.langfuse.mapping import FACT_CONFIGS, ScoreTarget, build_configs
from assay.langfuse.pull import PullReport, find_trace, is_known
from assay.langfuse.scores import ScoreWrite, build_id
from assay.langfuse.write import NotStored, WritePlan, WriteReport, write_scores
from assay.stores import RemoteProject, Store
from assay.types import Document, Row, Session
from assay.types.quality import Profile, Quality

UNKNOWN = "Langfuse has no such session; --all writes it all the same"
WAIT_S = 45.0


class Delivery(Struct, frozen=True, kw_only=True):
    """How scores are handed over."""

    client: Client
    store: Store
    project: RemoteProject
    dry_run: bool = False
    recheck: bool = False
    """Also look up what this store knows to be there."""
    wait_s: float = WAIT_S
    """For each of the two rounds of reading back."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class PushedScore(Row, frozen=True):
    """A score of a session."""

    id: str
    name: str
    value: float | str | bool
    trace: str
    """Empty for one on the session."""
    comment: str
    metadata: dict[str, Any]
    """With the comment all that is said of it there."""


class PushedSession(Row, frozen=True):
    """A session of which there were scores to write."""

    session: str
    """Langfuse's id of it."""
    assay_session: str
    part: str
    """Empty for the one with which the Langfuse session begins."""
    scores: list[PushedScore]
    overall_quality: float | None = None
    ungraded: dict[str, str] = {}
    """Dimensions without a score, and why."""


class SkippedSession(Row, frozen=True):
    """A session of which nothing was to be written."""

    session: str
    assay_session: str
    why: str
    is_fault: bool = False
    """Something was expected of it."""


class PushReport(Row, frozen=True):
    """What became of all sessions and their scores."""

    project: RemoteProject
    sessions: list[PushedSession]
    left_out: list[SkippedSession]
    configs_created: tuple[str, ...]
    written: WriteReport

    @property
    def is_complete(self) -> bool:
        """Whether all that should be in Langfuse is there."""
        return not self.written.not_stored and not any(one.is_fault for one in self.left_out)


class DeliveryView(Document, frozen=True, kw_only=True, tag="langfuse_delivery"):
    """`assay langfuse score | push --json`; without a host nothing was found to send."""

    host: str | None = None
    project: str | None = None
    sessions: list[PushedSession] = []
    left_out: list[SkippedSession] = []
    configs_created: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    not_stored: tuple[NotStored, ...] = ()
    would_write: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    """Sessions of which Langfuse has nothing (yet)."""
    failed: tuple[tuple[str, str], ...] = ()


def build_delivery_view(done: PushReport | None, found: PullReport) -> DeliveryView:
    """What became of all, as machines read it."""
    if done is None:
        return DeliveryView(empty=found.empty, failed=found.failed)
    return DeliveryView(
        host=done.project.host,
        project=done.project.project,
        sessions=done.sessions,
        left_out=done.left_out,
        configs_created=done.configs_created,
        **asdict(done.written),
        empty=found.empty,
        failed=found.failed,
    )


class Outbox:
    """Scores to write, and the sessions that gave some or none."""

    def __init__(self) -> None:
        self.scores: list[ScoreWrite] = []
        self.sessions: list[PushedSession] = []
        self.left_out: list[SkippedSession] = []

    def add(
        self, session: Session, target: ScoreTarget, scores: Sequence[ScoreWrite], quality: Quality | None = None
    ) -> None:
        """Add the scores of a session; `quality` is what its dimensions came from."""
        dimensions = quality.dimensions if quality else {}
        self.scores.extend(scores)
        self.sessions.append(
            PushedSession(
                session=target.session,
                assay_session=session.id,
                part=target.part,
                scores=[to_pushed(one) for one in scores],
                overall_quality=quality.overall_quality if quality else None,
                ungraded={name: one.ungraded for name, one in dimensions.items() if one.score is None},
            )
        )

    def skip(self, session: Session, target: ScoreTarget, why: str, *, is_fault: bool = False) -> None:
        """Note why nothing is written of a session."""
        self.left_out.append(
            SkippedSession(session=target.session, assay_session=session.id, why=why, is_fault=is_fault)
        )


def to_pushed(score: ScoreWrite) -> PushedScore:
    return PushedScore(
        id=build_id(score),
        name=score.name,
        value=score.value,
        trace=score.trace,
        comment=score.comment,
        metadata=score.metadata,
    )


def find_project(client: Client) -> RemoteProject:
    """The project that the keys lead to."""
    found = fetch_status(client)
    return RemoteProject(host=found.host, project=found.project_id)


def find_targets(store: Store, sessions: Iterable[Session]) -> dict[str, ScoreTarget]:
    """Where the scores of each session go, by our ids."""
    return {
        one.id: ScoreTarget(session=one.stream, timestamp=one.began_at, part=one.id if one.first else "")
        for one in store.sessions.find_segments({one.id for one in sessions})
    }


def find_trace_targets(target: ScoreTarget, paths: Mapping[str, Path]) -> list[ScoreTarget]:
    """The trace in which a session begins, by the files of pulled sessions."""
    path = paths.get(target.session)
    trace = find_trace(path, target.timestamp) if path else ""
    return [replace(target, trace=trace)] if trace else []


def explain_unknown(delivery: Delivery, target: ScoreTarget, scores: Sequence[ScoreWrite]) -> tuple[str, bool]:
    """Why Langfuse can't take scores of a session, and whether that is a fault; empty where it knows the session.

    One that has scores of ours is known without asking.
    """
    if delivery.store.written.load_digests(delivery.project, map(build_id, scores)):
        return "", False
    try:
        return ("" if is_known(delivery.client, target.session) else UNKNOWN), False
    except AccessDenied:
        raise
    except RemoteError as error:
        return str(error), True


def push_scores(delivery: Delivery, outbox: Outbox, setup: SetupReport) -> PushReport:
    """Write what is not there yet, and say what became of all."""
    return PushReport(
        project=delivery.project,
        sessions=outbox.sessions,
        left_out=outbox.left_out,
        configs_created=setup.created,
        written=deliver_scores(delivery, outbox.scores, setup),
    )


def deliver_scores(delivery: Delivery, scores: Sequence[ScoreWrite], setup: SetupReport) -> WriteReport:
    """Write scores; what is seen in Langfuse is saved at once, so that a run that was killed sends only the rest.

    A score whose config is of another kind would be of another kind than all others of its name: it is not sent.
    """
    in_the_way = {one.name: one.why for one in setup.mismatched}
    lost = [
        NotStored(
            id=build_id(one),
            session=one.session,
            name=one.name,
            why=f"its score config is of another kind: {in_the_way[one.name]}",
            is_final=True,
        )
        for one in scores
        if one.name in in_the_way
    ]
    fit = [one for one in scores if one.name not in in_the_way]
    written, project = delivery.store.written, delivery.project

    def save(id: str, digest: str) -> None:
        written.save_digest(project, id, digest, delivery.now().isoformat(timespec="seconds"))

    already = {} if delivery.recheck else written.load_digests(project, map(build_id, fit))
    plan = WritePlan(already=already, done=save, deadline_s=delivery.wait_s, dry_run=delivery.dry_run)
    report = write_scores(delivery.client, fit, plan) if fit else WriteReport()
    return replace(report, not_stored=(*lost, *report.not_stored))


def build_all_configs(profile: Profile) -> list[WantedConfig]:
    """Every score config that a project needs."""
    return [*build_configs(profile), *FACT_CONFIGS]
