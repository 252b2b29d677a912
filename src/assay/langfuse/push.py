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
from assay.langfuse.client import Client
from assay.langfuse.configs import SetupReport, WantedConfig
from assay.langfuse.mapping import FACT_CONFIGS, ScoreTarget, build_configs
from assay.langfuse.observations import LONE, find_environment
from assay.langfuse.pull import PullReport, find_trace
from assay.langfuse.scores import DEFAULT, ScoreWrite, build_id, hash_score
from assay.langfuse.withdraw import NotWithdrawn, WithdrawReport, withdraw_scores
from assay.langfuse.write import NotStored, WritePlan, WriteReport, write_scores
from assay.sources.langfuse.records import name_stream
from assay.stores import UPLOADED, RemoteProject, Store, WrittenRow
from assay.types import Document, Row, Session
from assay.types.quality import Profile, Quality

UNKNOWN = "Langfuse has no such session; --all writes it all the same"
ELSEWHERE = "it was pulled from another project; its words stay there"
PULLED = "langfuse"
"""The agent of streams that were pulled."""
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
    keeps_rows: bool = False
    """What was written of it before stays."""


class PushReport(Row, frozen=True):
    """What became of all sessions and their scores."""

    project: RemoteProject
    sessions: list[PushedSession]
    left_out: list[SkippedSession]
    configs_created: tuple[str, ...]
    written: WriteReport
    withdrawal: WithdrawReport = WithdrawReport()
    """Scores of ours that nothing stands behind any longer."""

    @property
    def is_complete(self) -> bool:
        """Whether all that should be in Langfuse is there."""
        is_all_gone = not self.withdrawal.not_withdrawn
        return is_all_gone and not self.written.not_stored and not any(one.is_fault for one in self.left_out)


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
    withdrawn: tuple[str, ...] = ()
    """Ids of scores that were taken out, for nothing stands behind them any longer."""
    not_withdrawn: tuple[NotWithdrawn, ...] = ()
    would_withdraw: tuple[str, ...] = ()
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
        **asdict(done.withdrawal),
        empty=found.empty,
        failed=found.failed,
    )


class Outbox:
    """Scores of one family to write, and the sessions that gave some or none."""

    def __init__(self, family: str, alive: Iterable[str]) -> None:
        self.family = family
        """What is written together: scores of the same family that are written no longer are taken out."""
        self.alive = frozenset(alive)
        """Our ids of all sessions that there are, of which nothing may have been looked at this time."""
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

    def skip(
        self, session: Session, target: ScoreTarget, why: str, *, is_fault: bool = False, keeps_rows: bool = False
    ) -> None:
        """Note why nothing is written of a session."""
        kept = is_fault or keeps_rows
        self.left_out.append(
            SkippedSession(
                session=target.session, assay_session=session.id, why=why, is_fault=is_fault, keeps_rows=kept
            )
        )

    def list_stale(self, rows: Iterable[WrittenRow]) -> list[WrittenRow]:
        """Rows of this family of which nothing is written any longer: the session or the dimension is gone."""
        current = {build_id(one) for one in self.scores}
        looked_at = {one.assay_session for one in self.sessions}
        looked_at |= {one.assay_session for one in self.left_out if not one.keeps_rows}
        return [
            row
            for row in rows
            if row.family == self.family
            and row.id not in current
            and (row.subject in looked_at or row.subject not in self.alive)
        ]

    def list_places(self) -> set[str]:
        """Langfuse's ids of all sessions that were looked at."""
        return {one.session for one in self.sessions} | {one.session for one in self.left_out}


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
    return RemoteProject(host=client.host, project=client.load_project().id)


def find_targets(
    store: Store, project: RemoteProject, sessions: Iterable[Session], environments: Mapping[str, str]
) -> dict[str, ScoreTarget]:
    """Where the scores of each session go, by our ids; those pulled from another project go nowhere in this one."""
    found: dict[str, ScoreTarget] = {}
    end = name_stream("", project.host, project.project)
    for one in store.sessions.find_segments({one.id for one in sessions}):
        if one.agent == PULLED and "@" in one.stream and not one.stream.endswith(end):
            continue
        own = one.stream.removesuffix(end)
        found[one.id] = ScoreTarget(
            session=own,
            timestamp=one.began_at,
            trace=own.removeprefix(LONE) if own.startswith(LONE) else "",
            part=one.id if one.first else "",
            environment=environments.get(own, ""),
        )
    return found


def find_trace_targets(target: ScoreTarget, paths: Mapping[str, Path]) -> list[ScoreTarget]:
    """The trace in which a session begins, by the files of pulled sessions."""
    path = None if target.trace else paths.get(target.session)
    trace = find_trace(path, target.timestamp) if path else ""
    return [replace(target, trace=trace)] if trace else []


class KnownSession(Struct, frozen=True, kw_only=True):
    """What Langfuse has of a session: its environment, or why scores of it can't be taken."""

    environment: str = ""
    why: str = ""
    is_fault: bool = False


def look_up_session(delivery: Delivery, session: str) -> KnownSession:
    """Whether Langfuse knows a session, and its environment; one that has scores of ours is known without asking."""
    rows = delivery.store.written.list_rows(delivery.project, [session])
    if places := [one.environment for one in rows if one.environment]:
        return KnownSession(environment=places[0])
    try:
        found = find_environment(delivery.client, session)
    except AccessDenied:
        raise
    except RemoteError as error:
        return KnownSession(why=str(error), is_fault=True)
    return KnownSession(why=UNKNOWN) if found is None else KnownSession(environment=found or DEFAULT)


def push_scores(delivery: Delivery, outbox: Outbox, setup: SetupReport, gone: Iterable[str] = ()) -> PushReport:
    """Write what is not there yet, take out what nothing stands behind, and say what became of all.

    `gone` are sessions of which Langfuse has nothing any longer.
    """
    written = deliver_scores(delivery, outbox.scores, setup, outbox.family)
    empty = set(gone)
    rows = delivery.store.written.list_rows(delivery.project, outbox.list_places() | empty)
    stale = [row.id for row in outbox.list_stale(rows)]
    orphans = [row.id for row in rows if row.session in empty and row.family != UPLOADED]
    return PushReport(
        project=delivery.project,
        sessions=outbox.sessions,
        left_out=outbox.left_out,
        configs_created=setup.created,
        written=written,
        withdrawal=take_out(delivery, list(dict.fromkeys([*stale, *orphans]))),
    )


def take_out(delivery: Delivery, ids: Sequence[str]) -> WithdrawReport:
    """Withdraw scores, and forget at once those that are gone."""
    if delivery.dry_run or not ids:
        return WithdrawReport(would_withdraw=tuple(ids))

    def forget(some: Iterable[str]) -> None:
        delivery.store.written.forget_rows(delivery.project, some)

    return withdraw_scores(delivery.client, ids, delivery.wait_s, forget)


def deliver_scores(
    delivery: Delivery, scores: Sequence[ScoreWrite], setup: SetupReport, family: str = ""
) -> WriteReport:
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

    by_id = {build_id(one): one for one in fit}

    def save(id: str, _digest: str) -> None:
        row = to_row(id, by_id[id], family)
        written.save_row(project, row, delivery.now().isoformat(timespec="seconds"))

    already = {} if delivery.recheck else written.load_digests(project, by_id)
    if not delivery.dry_run:
        save_places(delivery, already, by_id, family)
    plan = WritePlan(already=already, done=save, deadline_s=delivery.wait_s, dry_run=delivery.dry_run)
    report = write_scores(delivery.client, fit, plan) if fit else WriteReport()
    return replace(report, not_stored=(*lost, *report.not_stored))


def to_row(id: str, score: ScoreWrite, family: str) -> WrittenRow:
    """What is remembered of a score that is there."""
    return WrittenRow(
        id=id,
        digest=hash_score(score),
        session=score.session,
        subject=str(score.metadata.get("assay_session") or ""),
        name=score.name,
        family=family,
        environment=score.environment or DEFAULT,
    )


def save_places(delivery: Delivery, already: Mapping[str, str], scores: Mapping[str, ScoreWrite], family: str) -> None:
    """Note what scores are about that an earlier version wrote."""
    written = delivery.store.written
    known = {row.id for row in written.list_rows(delivery.project, {one.session for one in scores.values()})}
    for key, digest in already.items():
        if key not in known:
            row = replace(to_row(key, scores[key], family), digest=digest)
            written.save_row(delivery.project, row, delivery.now().isoformat(timespec="seconds"))


def build_all_configs(profile: Profile) -> list[WantedConfig]:
    """Every score config that a project needs."""
    return [*build_configs(profile), *FACT_CONFIGS]
