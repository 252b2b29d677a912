"""Sessions told and kept: only neighbourhoods are told anew in which something changed that a report says.

What a neighbourhood says depends on its streams and what people say of them (a change of either is noted in the
store), on its repositories and what its projects are called (its `key`), on time (`valid_until`), on what sessions
elsewhere did with the same commits (deeds), and on settings and versions (the view, of which one is kept).

Inside a neighbourhood all sessions are linked and followed anew; told are only those, and counted only the months, of
which a hash of all that they are told from is another than it was.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from importlib.metadata import version

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.clock import parse_time
from assay.config import Ship
from assay.pipeline import privacy
from assay.pipeline.judgement import hash_values
from assay.pipeline.neighbourhoods import (
    Neighbours,
    add_folders,
    find_neighbours,
    forget_folders,
    list_nodes,
    sign_folder,
)
from assay.pipeline.projects import name_projects
from assay.pipeline.repositories import EMPTY, NO_REPOSITORY, NOT_HERE, NOT_KNOWN
from assay.pipeline.rework import (
    NAMES,
    NO_TIME,
    WROTE,
    CommitMaker,
    FollowedSession,
    ReworkOutcome,
    is_told,
    list_made,
)
from assay.pipeline.rework import VERSION as REWORK_VERSION
from assay.pipeline.same_sessions import SessionInputs, add_months, hash_inputs
from assay.pipeline.scoring_run import ScoringRun, name_session
from assay.pipeline.shipped import is_shipped, update_shipped
from assay.reports.json import encode_json
from assay.scores.audit import is_answered
from assay.scores.prism import refresh_crushed
from assay.scores.reasons import find_obstacle
from assay.sessions.links import LinkedSession, build_ledger
from assay.sessions.progress import QUIET, SKEW
from assay.sessions.rework.landing import SHORTEST_ID
from assay.sessions.rework.transcripts import COMMIT, SessionWork
from assay.stores import (
    CommitDeed,
    KeptNeighbourhood,
    Neighbourhood,
    StoredSegment,
    StreamName,
    StreamPlace,
    ToldNeighbourhood,
    ToldRow,
)
from assay.types import LedgerLine, Session

VERSION = 1
"""Raised when sessions are told otherwise: all are then told anew."""
PACK = msgspec.msgpack.Encoder().encode
WORK = msgspec.msgpack.Decoder(FollowedSession).decode
UNDOES, WANTS = "undoes", "wants"
FOREVER = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
PORTION = 500
MOST_ROUNDS = 5
LASTING = (NOT_KNOWN, NOT_HERE, NO_REPOSITORY, EMPTY, NO_TIME)
"""Reasons for having no repository that hold until something changes; any other may be gone with the next run."""
SLACK = timedelta(days=2)
STILL_OPEN_S = (QUIET + SKEW).total_seconds()
"""A neighbourhood that is told anew within this time may hold a session that goes on."""


Works = Mapping[StreamName, FollowedSession]


class View(Struct, frozen=True, kw_only=True):
    """Under which terms sessions are told."""

    key: str
    roots: tuple[str, ...] | None


def describe_view(run: ScoringRun, roots: tuple[str, ...] | None, zone: tzinfo) -> View:
    """All that decides what is told of sessions, but for the sessions themselves, the world and time."""
    config = replace(run.config, store="", paths=(), as_of="", ship=Ship())
    offsets = [str(datetime(year, month, 1, tzinfo=zone).utcoffset()) for year in (2020, 2026) for month in (1, 7)]
    key = hash_values(
        VERSION,
        version("assay"),
        REWORK_VERSION,
        msgspec.to_builtins(config),
        run.terms.cutting_version,
        msgspec.to_builtins(run.terms.privacy.version),
        run.unavailable,
        roots,
        [str(zone), offsets],
        [sign_folder(os.path.realpath(os.path.expanduser(one))) for one in run.config.rework.repos],
    )
    return View(key=key, roots=roots)


class Teller:
    """Brings what was told of a store's sessions up to date."""

    def __init__(self, run: ScoringRun, roots: tuple[str, ...] | None, zone: tzinfo) -> None:
        self.run = run
        self.roots = roots
        self.store = run.store
        self.zone = zone
        self.now = run.as_of.timestamp()
        self.histories = 0
        self.silent: dict[str, str] = {}
        """Repositories in which git gave no answer: a few are enough to ask no other."""
        self.named: dict[str, str] = {}
        """The folders that stand for projects."""
        self.folders: dict[str, tuple[str, ...]] = {}

    def update(self) -> None:
        """Tell anew what may have changed."""
        forget_folders()
        with self.store.holding():
            changed, known = self.store.told.list_changed()
            places = self.read_places(changed)
        again: set[str] = set()
        for _ in range(MOST_ROUNDS):
            with self.store.holding():
                neighbours = self.find_neighbours(places)
                self.name_projects(neighbours, places)
                stale = [one for one in neighbours if one.name in again or not self.is_current(one)]
            again = set()
            for one in stale:
                again |= self.tell(one, places, known)
            gone = [name for name, place in places.items() if not place.folders]
            self.store.told.settle_changes(gone, known)
            places = {}
            if not again:
                break
        update_shipped(self.run, self.roots, self.zone, FOREVER)

    # --- what changed -----------------------------------------------------------------------------

    def read_places(self, names: Sequence[StreamName]) -> dict[StreamName, StreamPlace]:
        """Where streams that changed are by now; of those that are gone, nowhere."""
        found = {name: StreamPlace(agent=name[0], stream=name[1]) for name in names}
        for start in range(0, len(names), PORTION):
            some: dict[StreamName, list[StoredSegment]] = {}
            for one in self.store.sessions.list_segments(self.roots, names[start : start + PORTION]):
                some.setdefault((one.segment.agent, one.segment.stream), []).append(one)
            found |= {name: build_place(name, kept) for name, kept in some.items()}
        return found

    def find_neighbours(self, places: dict[StreamName, StreamPlace]) -> list[Neighbours]:
        """Who is to be told together by now."""
        told = self.store.told
        homes = told.find_neighbourhoods(places)
        continuing = {one.name: one for one in told.list_continuing()} | places
        asked = {(one.agent, stream) for one in continuing.values() for stream in one.continues}
        merges = [one for one in self.run.corrections if one.kind == "merge"]
        merged = told.find_streams(turn for one in merges for turn in (one.turn, one.into)) if merges else {}
        known = told.find_places({*asked, *merged.values()} - places.keys()) | places
        ties = [
            (list_nodes(one), list_nodes(known[one.agent, stream]))
            for one in continuing.values()
            for stream in one.continues
            if (one.agent, stream) in known
        ]
        ties += [
            (list_nodes(known[merged[one.turn]]), list_nodes(known[merged[one.into]]))
            for one in merges
            if merged.get(one.turn) in known and merged.get(one.into) in known
        ]
        is_one = bool(self.run.config.rework.repos)
        before = [one for one in told.list_neighbourhoods() if not is_shipped(one)]
        return find_neighbours(before, homes, places, ties, is_one=is_one)

    def name_projects(self, neighbours: Sequence[Neighbours], places: dict[StreamName, StreamPlace]) -> None:
        """Find what the project of every folder is called, given all folders there are."""
        self.folders = {}
        parts = []
        for one in neighbours:
            streams = [] if one.is_as_before else self.list_streams(one, places)
            own = one.before[0].folders if one.is_as_before else tuple(f for place in streams for f in place.folders)
            self.folders[one.name] = tuple(sorted({folder for folder, _, _ in own}))
            parts.append(own)
        self.named = name_projects(add_folders(parts))

    def list_streams(self, one: Neighbours, places: dict[StreamName, StreamPlace]) -> list[StreamPlace]:
        """The streams of a neighbourhood, where they are by now."""
        kept = self.store.told.list_places([before.name for before in one.before])
        found = {place.name: place for place in kept if place.name not in places}
        found |= {name: places[name] for name in one.changed if places[name].folders}
        return [found[name] for name in sorted(found)]

    def is_current(self, one: Neighbours) -> bool:
        """Whether what was told of a neighbourhood still holds."""
        if not one.is_as_before:
            return False
        (before,) = one.before
        may_have_ended = before.valid_until - self.now <= STILL_OPEN_S and self.run.has_ended_since(before.told_at)
        is_in_time = before.told_at <= self.now <= before.valid_until and not may_have_ended
        return is_in_time and before.key == self.hash_key(one)

    def hash_key(self, one: Neighbours) -> str:
        """Hash of what the world says of a neighbourhood's folders."""
        return hash_values([(folder, sign_folder(folder), self.named[folder]) for folder in self.folders[one.name]])

    # --- one neighbourhood ------------------------------------------------------------------------

    def tell(self, one: Neighbours, places: dict[StreamName, StreamPlace], known: int) -> set[str]:
        """Tell a neighbourhood and keep it; gives those elsewhere for which it makes a difference."""
        names = [before.name for before in one.before]
        streams = self.list_streams(one, places)
        kept = self.store.sessions.list_segments(self.roots, [place.name for place in streams])
        linked = self.run.link_segments(kept)
        judged = self.run.load_judged(linked)
        outcome = self.run.follow_lines(judged, linked, OtherSessions(self, {*names, one.name}))
        self.histories += outcome.histories
        deeds = list_deeds(outcome)
        before = self.store.told.list_own_deeds(names)
        inputs = SessionInputs(
            linked=linked,
            hashes=hash_inputs(self.run, linked, judged, outcome, deeds, self.named),
            kept=self.load_kept(one),
        )
        sessions = self.run.finish_sessions(fresh := inputs.list_fresh(), judged, outcome)
        told = refresh_crushed(self.run.name_projects(sessions, fresh, self.named))
        months = inputs.tally_months(told, self.store.told.list_bodies, self.zone)
        self.store.told.save_told(
            ToldNeighbourhood(
                about=self.describe(one, streams, self.find_end(linked, told, outcome)),
                tally=add_months(months),
                places=streams,
                rows=self.build_rows(fresh, told, outcome, inputs),
                ledger=self.build_ledger(fresh, told),
                deeds=deeds,
                same=inputs.list_same(outcome),
                months=PACK(months),
            ),
            names,
            known,
        )
        offers = {deed.commit for deed in before.symmetric_difference(deeds) if deed.how != WANTS}
        touched = self.store.told.list_deeds(offers, (WANTS,))
        return {name for _, name in touched} - {one.name}

    def describe(self, one: Neighbours, streams: Sequence[StreamPlace], valid_until: float) -> Neighbourhood:
        """A neighbourhood as it is told now."""
        folders = add_folders(place.folders for place in streams)
        return Neighbourhood(
            name=one.name,
            nodes=one.nodes,
            key=self.hash_key(one),
            told_at=self.now,
            valid_until=valid_until,
            folders=tuple((name, use.sessions, use.has_branch) for name, use in sorted(folders.items())),
        )

    def load_kept(self, one: Neighbours) -> KeptNeighbourhood:
        """What was kept of a neighbourhood that is still called the same, and took in no other."""
        is_it = [before.name for before in one.before] == [one.name]
        return self.store.told.load_kept(one.name) if is_it else KeptNeighbourhood()

    def build_ledger(
        self, linked: Sequence[LinkedSession], told: Sequence[Session]
    ) -> list[tuple[StreamName, list[tuple[LedgerLine, bytes]]]]:
        """The lines of each session, as they may be seen, and as JSON."""
        found = []
        for one, session in zip(linked, told, strict=True):
            lines = privacy.redact_entries(build_ledger([one]), [session], self.run.terms.privacy)
            found.append((name_session(one), [(line, encode_json(line)) for line in lines]))
        return found

    def build_rows(
        self,
        fresh: Sequence[LinkedSession],
        told: Sequence[Session],
        outcome: ReworkOutcome,
        inputs: SessionInputs,
    ) -> list[ToldRow]:
        """Sessions as they are kept."""
        works = {work.name: work for work in outcome.known}
        return [
            build_row(one, session, outcome, works, inputs.hashes.get(name_session(one), b""))
            for one, session in zip(fresh, told, strict=True)
        ]

    def find_end(self, linked: Sequence[LinkedSession], told: Sequence[Session], outcome: ReworkOutcome) -> float:
        """Until when it can be told like this: time alone closes sessions, ends windows, and takes words away."""
        ends = [FOREVER]
        now = self.run.as_of
        for one in linked:
            for segment in one.segments:
                ends += list_turns_of_time(segment.began_at, segment.ended_at, now)
        tenants = self.run.terms.privacy.tenants
        for session in told:
            tenant = privacy.find_named_tenant(tenants, session.tenant)
            if tenant and tenant.retention_days is not None and session.ended_at:
                end = privacy.parse_record_time(session.ended_at) + timedelta(days=tenant.retention_days)
                ends += [end.timestamp()] if end >= now else []
        if any(why not in LASTING for why in outcome.reasons.values()):
            return self.now
        for name in outcome.found:
            fate = outcome.fates.get(name)
            if fate is None or fate.final_at is None or fate.final_at > self.now:
                tomorrow = (now.astimezone(UTC) + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
                ends.append(tomorrow.timestamp() - 0.001)
                break
        return min(ends)


def build_row(linked: LinkedSession, session: Session, outcome: ReworkOutcome, works: Works, input: bytes) -> ToldRow:
    """A session as it is kept."""
    name = name_session(linked)
    followed = works.get(name)
    found = outcome.found.get(name)
    return ToldRow(
        agent=name[0],
        id=name[1],
        folder=linked.segments[0].project,
        began_at=linked.segments[0].began_at,
        ended_at=session.ended_at,
        crushed=session.crushed,
        obstacle=find_obstacle(session) or "",
        is_news=(session.crushed is True) != is_told(name, outcome),
        is_answered=is_answered(session),
        ages=PACK(found.ages) if found and found.ages else b"",
        body=encode_json(session),
        work=PACK(strip_lines(followed)) if followed else b"",
        input=input,
    )


def build_place(name: StreamName, kept: Sequence[StoredSegment]) -> StreamPlace:
    """Where a stream was worked."""
    folders = add_folders([[(one.segment.project, 1, bool(one.branch))] for one in kept])
    return StreamPlace(
        agent=name[0],
        stream=name[1],
        folders=tuple((folder, use.sessions, use.has_branch) for folder, use in sorted(folders.items())),
        continues=tuple(sorted({one.segment.continues for one in kept if one.segment.continues})),
    )


def list_turns_of_time(began_at: str, ended_at: str, now: datetime) -> Iterator[float]:
    """When a segment of these times will be told otherwise: when it has begun, goes on, or is over."""
    began, ended = parse_time(began_at), parse_time(ended_at)
    if began and began > now:
        yield began.timestamp() - 0.001
    if ended and now < ended - SKEW:
        yield (ended - SKEW).timestamp() - 0.001
    elif ended and now <= ended + QUIET:
        yield (ended + QUIET).timestamp()


def list_deeds(outcome: ReworkOutcome) -> list[CommitDeed]:
    """What sessions have to do with commits: what others may want to know, and what they want to know of others."""
    found = []
    for one in outcome.known:
        state = outcome.states.get(one.name)
        wanted = {state.commit[:SHORTEST_ID]} if state and state.state == "yes" and state.commit else set()
        if state and one.work.commits:  # a revert elsewhere may be of one of these
            wanted |= set(list_made(one, None, NAMES))
        hows: dict[str, Iterable[str]] = {
            NAMES: list_made(one, None, NAMES),
            WROTE: list_made(one, outcome.fates.get(one.name), WROTE),
            UNDOES: list_undone(one.work),
            WANTS: wanted,
        }
        found += [
            CommitDeed(commit=commit, how=how, agent=one.name[0], id=one.name[1], began_at=one.work.began_at)
            for how, commits in hows.items()
            for commit in sorted(set(commits))
        ]
    return found


def list_undone(work: SessionWork) -> list[str]:
    """How the commits begin that a session's commands take back."""
    return [named[:SHORTEST_ID] for command in work.undone for named, _ in COMMIT.findall(command)]


def strip_lines(one: FollowedSession) -> FollowedSession:
    """A session as others need to know it: without its lines."""
    return replace(one, work=replace(one.work, written=(), removed=()))


class OtherSessions:
    """What sessions of other neighbourhoods did, as it was kept."""

    def __init__(self, teller: Teller, own: Collection[str]) -> None:
        self.told = teller.store.told
        self.silent = teller.silent
        self.own = own

    def list_undoing(self, commits: Collection[str]) -> list[SessionWork]:
        names = {
            (deed.agent, deed.id) for deed, where in self.told.list_deeds(commits, (UNDOES,)) if where not in self.own
        }
        return [WORK(work).work for work in self.told.load_works(names) if work]

    def list_bystanders(self, since: float, until: float) -> list[FollowedSession]:
        first, last = (datetime.fromtimestamp(min(max(at, 0), FOREVER), UTC) for at in (since, until))
        works = self.told.list_works(f"{first - SLACK:%Y-%m-%d}", f"{last + SLACK:%Y-%m-%d}", self.own)
        return [WORK(work) for work in works if work]

    def list_makers(self, commits: Collection[str], how: str) -> list[tuple[CommitMaker, str]]:
        return [
            ((deed.began_at, deed.agent, deed.id), deed.commit)
            for deed, where in self.told.list_deeds(commits, (how,))
            if where not in self.own
        ]
