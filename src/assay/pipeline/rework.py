"""Sessions as far as their lines can be followed, and as the targets of a repository."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.clock import parse_time
from assay.config import Rework
from assay.errors import BadInput
from assay.pipeline.judgement import hash_values
from assay.pipeline.repositories import KnownRepository, Repositories, RepositoryQuery
from assay.scores.prism import has_crushed
from assay.scores.survival import Age, LostSession
from assay.sessions.kinds_of_files import is_code
from assay.sessions.links import LinkedSession
from assay.sessions.paths import make_relative
from assay.sessions.rework.history import DAY, FollowResult, LineTarget, ReworkRules, find_rivals
from assay.sessions.rework.landing import SHORTEST_ID, SLACK
from assay.sessions.rework.survival import PATIENCE, follow_lines
from assay.sessions.rework.transcripts import SessionWork, find_replaced, find_taken_back
from assay.sessions.written_lines import merge_books
from assay.stores import Fate, Store, StreamName
from assay.types import FileLines, ReworkResult, Session

CommitMaker = tuple[str, str, str]
"""A session by when it began, its agent and id."""
NAMES, WROTE = "names", "wrote"
"""What a session has to do with a commit."""
PULL = re.compile(r"/(?:pull|pulls|merge_requests)/(\d{1,9})")


class FollowedSession(Struct, frozen=True, kw_only=True):
    """A session, and what its transcript says of its lines."""

    name: StreamName
    work: SessionWork
    streams: tuple[str, ...]
    pulls: tuple[int, ...]
    began: float
    """In seconds; 0 where the transcript tells no time."""
    ended: float

    @property
    def query(self) -> RepositoryQuery:
        paths = tuple(one.path for one in self.work.written)
        return RepositoryQuery(folder=self.work.project, paths=paths, commits=self.work.commits)


def build_followed(linked: LinkedSession, pulls: tuple[int, ...]) -> FollowedSession:
    """A session as its transcript tells of its lines."""
    first = linked.segments[0]
    book = merge_books(linked.segments) if len(linked.segments) > 1 else None
    written, removed = (book.list_written(), book.list_removed()) if book else (first.written, first.removed)
    work = SessionWork(
        id=first.id,
        project=first.project,
        began_at=first.began_at,
        ended_at=max(one.ended_at for one in linked.segments),
        written=tuple(one for one in written if is_code(make_relative(one.path, first.project) or one.path)),
        removed=removed,
        commits=tuple(dict.fromkeys(commit for one in linked.segments for commit in one.commits)),
        undone=tuple(command for one in linked.segments for command in one.undone),
    )
    began = parse_seconds(work.began_at)
    return FollowedSession(
        name=name_session(linked),
        work=work,
        streams=tuple(dict.fromkeys(one.stream for one in linked.segments)),
        pulls=pulls,
        began=began,
        ended=max(began, parse_seconds(work.ended_at)),
    )


def build_target(one: FollowedSession, place: KnownRepository) -> LineTarget:
    """A session with its lines by the files of a repository."""
    paths = place.find_paths(one.query)
    lines: defaultdict[str, list[bytes]] = defaultdict(list)
    for written in one.work.written:
        if written.path in paths:
            lines[paths[written.path]].append(written.lines)
    return LineTarget(
        id=one.work.id,
        written=tuple(FileLines(path=path, lines=b"".join(some)) for path, some in sorted(lines.items())),
        commits=one.work.commits,
        names=one.streams,
        pulls=one.pulls,
        started=one.began,
        ended=one.ended,
    )


def build_bystander(one: FollowedSession) -> LineTarget:
    """A session that only says which commits are its own; numbers of pull requests mean nothing elsewhere."""
    return LineTarget(
        id=one.work.id, commits=one.work.commits, names=one.streams, started=one.began, ended=one.ended, is_asked=False
    )


def list_pulls(facts: Mapping[str, Any]) -> tuple[int, ...]:
    """Numbers of the pull requests that a session opened."""
    urls = facts.get("pull_requests", ())
    return tuple(dict.fromkeys(int(found[1]) for url in urls if (found := PULL.search(url))))


def name_session(linked: LinkedSession) -> StreamName:
    return linked.segments[0].agent, linked.segments[0].id


def parse_seconds(at: str) -> float:
    """A record's time in seconds, 0 for none."""
    found = parse_time(at)
    return found.timestamp() if found else 0.0


VERSION = 4
"""Raised when lines are followed in another way: all is then looked at again."""

FOLLOWED = msgspec.msgpack.Decoder(FollowResult).decode
PACK = msgspec.msgpack.Encoder().encode
FOREVER = float("inf")
SOON = 14 * DAY
"""How long after a session its lines are looked for at first."""

NOT_JUDGED = ReworkResult(state="not_judged")
SHALLOW = "the clone is shallow, `git fetch --unshallow` gets the rest"
NO_TIME = "its transcript tells no time"
YET_TO_COME = ReworkResult(state="open", detail="it began after the day of this report")


class Elsewhere(Protocol):
    """What sessions did that are told apart from these."""

    silent: dict[str, str]
    """Repositories in which git gave no answer, found while these were told."""

    def list_undoing(self, commits: Collection[str]) -> list[SessionWork]:
        """Sessions whose commands took back one of these commits, given by how their ids begin."""

    def list_bystanders(self, since: float, until: float) -> list[FollowedSession]:
        """Sessions that ended between two times."""

    def list_makers(self, commits: Collection[str], how: str) -> list[tuple[CommitMaker, str]]:
        """Sessions that name these commits, or wrote lines of them, each with the commit."""


class ReworkOutcome(Struct, frozen=True, kw_only=True):
    """What became of sessions' lines."""

    states: dict[StreamName, ReworkResult] = {}
    ages: tuple[Age, ...] = ()
    """For the survival curve."""
    fates: dict[StreamName, Fate] = {}
    histories: int = 0
    """How often a repository's history was read."""
    known: tuple[FollowedSession, ...] = ()
    found: dict[StreamName, FollowResult] = {}
    """What git says, of those it was asked about."""
    reasons: dict[StreamName, str] = {}
    """Why it was not asked about others."""


def follow_rework(
    store: Store,
    linked: Sequence[LinkedSession],
    pulls: Mapping[StreamName, tuple[int, ...]],
    rules: Rework,
    as_of: datetime,
    elsewhere: Elsewhere | None = None,
) -> ReworkOutcome:
    """What became of the lines of sessions, of which their pull requests are given, given all sessions there are."""
    asked = {name: build_followed(one, pulls[name]) for one in linked if (name := name_session(one)) in pulls}
    wanted = [*asked.values()]
    if any(is_followed(one, rules, as_of) for one in wanted):
        known = [asked.get(name_session(one)) or build_followed(one, ()) for one in linked]
    else:
        known = wanted  # whoever wrote nothing to speak of has nothing that others could take away
    following = ReworkFollower(store, known, wanted, rules, as_of)
    following.elsewhere = elsewhere
    with Repositories(rules.repos, elsewhere.silent if elsewhere else {}) as repositories:
        following.follow_all(repositories)
    return following.build_outcome()


def is_followed(one: FollowedSession, rules: Rework, as_of: datetime) -> bool:
    """Whether a session has lines enough, or commits that may be reverted, and is no news of the future."""
    is_worth = bool(one.work.commits) or one.work.lines >= rules.min_lines
    return is_worth and one.began <= as_of.timestamp()


class ReworkFollower:
    """One look at the repositories of some sessions."""

    def __init__(
        self,
        store: Store,
        known: Sequence[FollowedSession],
        wanted: Sequence[FollowedSession],
        rules: Rework,
        as_of: datetime,
    ) -> None:
        self.store = store
        self.known = known
        self.wanted = wanted
        self.rules = rules
        self.as_of = as_of
        self.elsewhere: Elsewhere | None = None
        self.line_rules = ReworkRules(days=rules.days, min_lines=rules.min_lines, share=rules.share)
        self.patience = PATIENCE + self.line_rules.curve_days * DAY
        """How long after a session commits can matter to it."""
        self.fates = store.rework.load_fates(one.name for one in wanted)
        self.found: dict[StreamName, FollowResult] = {}
        self.reasons: dict[StreamName, str] = {}
        """Why a session has no repository."""
        self.histories = 0

    def follow_all(self, repositories: Repositories) -> None:
        """Find out about all that are wanted and have anything to follow."""
        names = {one.name for one in self.wanted if is_followed(one, self.rules, self.as_of)}
        some = [one for one in self.find_near() if one.work.commits or one.work.written] if names else []
        repositories.look_up_all(one.query for one in some)
        places: defaultdict[str, list[FollowedSession]] = defaultdict(list)
        for one in some:
            place = repositories.find_repository(one.query) if one.began else NO_TIME
            if isinstance(place, str):
                self.reasons[one.name] = place
            else:
                places[place.name].append(one)
        for name, here in sorted(places.items()):
            try:
                self.follow_in(RepositorySessions(repositories.places[name], here, self.patience), names)
            except (BadInput, OSError) as error:  # git is gone, or out of memory: that is no reason to score nothing
                self.reasons |= {one.name: str(error) for one in here if one.name not in self.found}

    def find_near(self) -> list[FollowedSession]:
        """Sessions that were active when the lines of those that are wanted were waited for."""
        since = min((one.began for one in self.wanted), default=0.0)
        until = max((one.ended for one in self.wanted), default=0.0) + self.patience
        return [one for one in self.known if one.ended >= since and one.began <= until]

    def follow_in(self, here: "RepositorySessions", names: set[StreamName]) -> None:
        """Take what is known of a repository's sessions, and follow the others."""
        here.now = here.place.find_moment(self.as_of)
        seen = f"{here.place.repo.tip} {here.now:.3f}"
        missing = []
        for one in here.sessions:
            if one.name in names and (found := self.load_found(here, one, seen)):
                self.found[one.name] = found
            elif one.name in names:
                missing.append(one)
        for some in self.group_spans(missing):
            self.found |= self.follow_lines(here, some)
        self.save_found(here, missing, seen)

    def load_found(self, here: "RepositorySessions", one: FollowedSession, seen: str) -> FollowResult | None:
        """What is kept of a session, if it can't have changed since."""
        fate = self.fates.get(one.name)
        if fate is None or not fate.found:
            return None
        is_final = fate.final_at is not None and fate.final_at <= self.as_of.timestamp()
        if not is_final and fate.seen != seen:
            return None
        found = FOLLOWED(fate.found)
        return found if fate.input == self.hash_input(here, one, found) else None

    def hash_input(self, here: "RepositorySessions", one: FollowedSession, found: FollowResult) -> str:
        """Hash of all that decides what is found of a session in a repository that does not change."""
        rules = (self.rules.days, self.rules.min_lines, self.rules.share)
        until = FOREVER if found.final_at is None else found.final_at
        others = here.list_rivals(one, until)
        return hash_values(VERSION, here.targets[one.name], here.place.root, rules, others)

    def follow_lines(
        self, here: "RepositorySessions", some: Sequence[FollowedSession]
    ) -> dict[StreamName, FollowResult]:
        """Follow the lines of sessions of about the same time; nearly all arrive soon, so little is read at first."""
        last = max(one.ended for one in some)
        soon = last + SOON + self.line_rules.curve_days * DAY
        at_last = min(here.now, last + self.patience)
        if soon >= at_last:
            return self.read_history(here, some, at_last)
        found = self.read_history(here, some, soon)
        late = [one for one in some if (found[one.name].final_at or FOREVER) > soon]
        return found | self.read_history(here, late, at_last) if late else found

    def read_history(
        self, here: "RepositorySessions", some: Sequence[FollowedSession], until: float
    ) -> dict[StreamName, FollowResult]:
        """Follow the lines of sessions up to a time, in one reading of history."""
        followed = here.list_targets(some)
        since = min(one.started for one in followed) - SLACK
        paths = sorted({written.path for one in some for written in here.targets[one.name].written})
        ids = {one.id for one in followed}
        near = [*self.known, *(self.elsewhere.list_bystanders(since, until) if self.elsewhere else ())]
        others = [build_bystander(one) for one in near if one.work.id not in ids and since <= one.ended <= until]
        self.histories += 1
        found = follow_lines(
            [*followed, *others],
            here.place.repo.read_changes(since, until, paths),
            here.place.repo,
            self.line_rules,
            here.now,
        )
        return {one.name: add_doubt(found[one.work.id], here.place) for one in some}

    def group_spans(self, some: Iterable[FollowedSession]) -> list[list[FollowedSession]]:
        """Sessions in groups whose times overlap: nothing is read of the time between them."""
        groups: list[list[FollowedSession]] = []
        until = 0.0
        for one in sorted(some, key=lambda one: (one.began, one.name)):
            if not groups or one.began - SLACK > until:
                groups.append([])
            groups[-1].append(one)
            until = max(until, one.ended + self.patience)
        return groups

    def save_found(self, here: "RepositorySessions", some: Sequence[FollowedSession], seen: str) -> None:
        """Keep what was found, for good where the repository has gone on since the window closed."""
        fates = []
        known_until = min(here.place.last_commit_at, self.as_of.timestamp()) if some else 0.0
        for one in some:
            found, before = self.found[one.name], self.fates.get(one.name)
            is_over = found.final_at is not None and found.final_at <= known_until
            fates.append(
                Fate(
                    agent=one.name[0],
                    id=one.name[1],
                    input=self.hash_input(here, one, found),
                    seen=seen,
                    final_at=int(found.final_at) + 1 if is_over and found.final_at is not None else None,
                    found=PACK(found),
                    is_told=before is not None and before.is_told,
                )
            )
        self.fates |= {one.name: one for one in fates}
        self.store.rework.save_fates(fates)

    # --- what is said of it ---------------------------------------------------------------------

    def build_outcome(self) -> ReworkOutcome:
        """The state of every session; where git says nothing, later transcripts may."""
        states = {one.name: self.decide_state(one) for one in self.wanted}
        unknown = [one for one in self.wanted if states[one.name].state == "unknown"]
        undone, removed = self.find_in_transcripts(unknown)
        for one in unknown:
            found = (removed if one.name in self.reasons else undone).get(one.work.id)
            states[one.name] = found or states[one.name]
        if commits := {
            state.commit[:SHORTEST_ID] for state in states.values() if state.state == "yes" and state.commit
        }:
            brought = self.list_commit_sessions(commits)
            states = {one.name: name_replacer(states[one.name], one.work.id, brought) for one in self.wanted}
        ages = tuple(age for name in states if name in self.found for age in self.found[name].ages)
        return ReworkOutcome(
            states=states,
            ages=ages,
            fates=self.fates,
            histories=self.histories,
            known=tuple(self.known),
            found=self.found,
            reasons=self.reasons,
        )

    def find_in_transcripts(
        self, unknown: Sequence[FollowedSession]
    ) -> tuple[dict[str, ReworkResult], dict[str, ReworkResult]]:
        """What later transcripts say of sessions: taken back with git, and that or removed line by line.

        Only sessions of the same projects can have removed lines of theirs, and only those that undid a commit theirs.
        """
        projects = {one.work.project for one in unknown}
        commits = {commit[:SHORTEST_ID] for one in unknown for commit in one.work.commits}
        near = [one.work for one in self.known if one.work.project in projects]
        undoing = [one.work for one in self.known if one.work.undone and one.work.project not in projects]
        undoing += self.elsewhere.list_undoing(commits) if commits and self.elsewhere else []
        undone = find_taken_back([*near, *undoing] if commits else near, self.rules, self.as_of)
        is_alone = any(one.name in self.reasons for one in unknown)
        return undone, (find_replaced(near, self.rules, self.as_of) if is_alone else {}) | undone

    def decide_state(self, one: FollowedSession) -> ReworkResult:
        """What git says of a session, or why it says nothing."""
        if one.name in self.found:
            return self.found[one.name].reworked
        if one.work.lines < self.rules.min_lines:
            return NOT_JUDGED
        if one.began > self.as_of.timestamp():
            return YET_TO_COME
        return ReworkResult(state="unknown", detail=self.reasons.get(one.name))

    def list_commit_sessions(self, commits: Collection[str]) -> dict[str, list[str]]:
        """The sessions behind each commit, by how it begins: those that name it, then those that wrote lines of it."""
        fates = self.store.rework.load_fates(one.name for one in self.known) | self.fates
        found: defaultdict[str, list[str]] = defaultdict(list)
        for how in (NAMES, WROTE):
            makers = [
                ((one.work.began_at, *one.name), commit)
                for one in self.known
                for commit in list_made(one, fates.get(one.name), how)
                if commit in commits
            ]
            makers += self.elsewhere.list_makers(commits, how) if self.elsewhere else []
            for (_, _, session), commit in sorted(makers):
                found[commit].append(session)
        return found


def list_made(one: FollowedSession, fate: Fate | None, how: str) -> list[str]:
    """How the commits begin that a session names, or wrote lines of."""
    wrote = FOLLOWED(fate.found).commits if how == WROTE and fate and fate.found else ()
    return [commit[:SHORTEST_ID] for commit in (one.work.commits if how == NAMES else wrote)]


class RepositorySessions:
    """The sessions of one repository."""

    def __init__(self, place: KnownRepository, sessions: Sequence[FollowedSession], patience: float) -> None:
        self.place = place
        self.sessions = sessions
        self.now = FOREVER
        """Up to when their lines are followed."""
        self.targets: dict[StreamName, LineTarget] = {one.name: build_target(one, place) for one in sessions}
        self.by_id = {one.id: one for one in self.targets.values()}
        self.rivals = find_rivals(self.targets.values(), patience)

    def list_rivals(self, one: FollowedSession, until: float) -> list[tuple[str, int]]:
        """Sessions that wrote some of the same lines before a time, and how many."""
        found = self.rivals.get(one.work.id, Counter())
        return sorted((other, lines) for other, lines in found.items() if self.by_id[other].started <= until)

    def list_targets(self, some: Sequence[FollowedSession]) -> list[LineTarget]:
        """These sessions and all who wrote some of the same lines."""
        ids = {one.work.id for one in some}
        ids |= {other for one in ids for other in self.rivals.get(one, ())}
        return [self.by_id[one] for one in sorted(ids)]


def add_doubt(found: FollowResult, place: KnownRepository) -> FollowResult:
    """What was found; where that is nothing, with what of the repository could not be read."""
    doubts = [SHALLOW] if place.repo.is_shallow else sorted(place.repo.notes)[:1]
    if found.reworked.state != "unknown" or not doubts:
        return found
    return replace(found, reworked=replace(found.reworked, detail=f"{found.reworked.detail}; {doubts[0]}"))


def name_replacer(state: ReworkResult, session: str, brought: Mapping[str, Sequence[str]]) -> ReworkResult:
    """A result that also names the session behind the later commit, where its transcript is known by now."""
    if state.state != "yes" or not state.commit:
        return state
    others = [one for one in brought.get(state.commit[:SHORTEST_ID], ()) if one != session]
    if not others:
        return state
    by = state.by if state.by and state.by.startswith("revert") else f"session {others[0]}"
    return replace(state, by=by, session=others[0])


def add_rework(session: Session, outcome: ReworkOutcome) -> Session:
    """A session with what became of its lines."""
    state = outcome.states.get((session.agent, session.id))
    return replace(session, facts=session.facts | {"rework": msgspec.to_builtins(state)}) if state else session


def find_lost(sessions: Iterable[Session], outcome: ReworkOutcome) -> list[LostSession]:
    """Sessions of which the last report said that they crushed, and which were replaced since."""
    return list_lost(one for one in sessions if is_told((one.agent, one.id), outcome))


def list_lost(told: Iterable[Session]) -> list[LostSession]:
    """Those of sessions of which the last report said that they crushed that were replaced since."""
    known = [(one, one.facts["rework"]) for one in told]
    return [
        LostSession(id=one.id, title=one.title, by=rework["by"], share=rework["share"])
        for one, rework in known
        if rework["state"] == "yes" and has_crushed(one) is False and not one.marked
    ]


def is_told(name: StreamName, outcome: ReworkOutcome) -> bool:
    """Whether the last report said that a session crushed."""
    fate = outcome.fates.get(name)
    return fate is not None and fate.is_told


def save_told(store: Store, sessions: Iterable[Session], outcome: ReworkOutcome) -> None:
    """Keep which sessions this report says crushed."""
    changed = []
    for one in sessions:
        crushed = has_crushed(one) is True
        if crushed != is_told((one.agent, one.id), outcome):
            fate = outcome.fates.get((one.agent, one.id)) or Fate(agent=one.agent, id=one.id)
            changed.append(replace(fate, is_told=crushed))
    store.rework.save_fates(changed)
