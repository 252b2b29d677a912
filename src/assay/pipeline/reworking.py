"""What became of the lines that sessions wrote: from git where there is a repository, else from later transcripts.

Only sessions of which it is not known for good are followed: all of one repository in one pass, over the time in which
their lines can arrive and go. What was found is kept by the session's lines, the repository's first commit and the
rules; who is behind a later commit is said anew each time, for its transcript may have come later.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.config import Rework
from assay.errors import BadInput
from assay.pipeline.followable import Followable, bystander, followable, name_of, pulls_of, target
from assay.pipeline.judging import hashed
from assay.pipeline.repositories import Place, Repositories
from assay.scores.survival import Age
from assay.sessions.linking import Linked
from assay.sessions.rework.authorship import SHORTEST_ID, SLACK
from assay.sessions.rework.history import DAY, Followed, Rules, Target
from assay.sessions.rework.replaced import replaced, taken_back
from assay.sessions.rework.rivals import rivals
from assay.sessions.rework.survival import follow
from assay.sessions.rework.verdicts import PATIENCE
from assay.stores import Fate, Store, StreamName
from assay.types import Reworked, Session

VERSION = 1
"""Raised when lines are followed in another way: all is then looked at again."""

FOLLOWED = msgspec.msgpack.Decoder(Followed).decode
PACK = msgspec.msgpack.Encoder().encode
FOREVER = float("inf")
SOON = 14 * DAY
"""How long after a session its lines are looked for at first."""

NOT_JUDGED = Reworked(state="not_judged")
SHALLOW = "the clone is shallow, `git fetch --unshallow` gets the rest"
NO_TIME = "its transcript tells no time"
YET_TO_COME = Reworked(state="open", detail="it began after the day of this report")


class Outcome(Struct, frozen=True, kw_only=True):
    """What became of sessions' lines."""

    states: dict[StreamName, Reworked] = {}
    ages: tuple[Age, ...] = ()
    """For the survival curve."""
    fates: dict[StreamName, Fate] = {}
    histories: int = 0
    """How often a repository's history was read."""


def reworked(
    store: Store, linked: Iterable[Linked], sessions: Iterable[Session], rules: Rework, as_of: datetime
) -> Outcome:
    """What became of these sessions' lines, given all sessions there are."""
    pulls = {(one.agent, one.id): pulls_of(one) for one in sessions}
    known = [followable(one, pulls.get(name_of(one), ())) for one in linked]
    following = Following(store, known, rules, as_of)
    wanted = [one for one in known if one.name in pulls]
    with Repositories(rules.repos) as repositories:
        following.look(wanted, repositories)
    return following.outcome(wanted)


class Following:
    """One look at the repositories of some sessions."""

    def __init__(self, store: Store, known: Sequence[Followable], rules: Rework, as_of: datetime) -> None:
        self.store = store
        self.known = known
        self.rules = rules
        self.as_of = as_of
        self.patience = PATIENCE + rules.days * DAY
        """How long after a session commits can matter to it."""
        self.fates = store.rework.load_fates(one.name for one in known)
        self.found: dict[StreamName, Followed] = {}
        self.reasons: dict[StreamName, str] = {}
        """Why a session has no repository."""
        self.histories = 0

    def look(self, wanted: Sequence[Followable], repositories: Repositories) -> None:
        """Find out about all of these that have anything to follow."""
        names = {one.name for one in wanted if self.is_followed(one)}
        some = [one for one in self.near(wanted) if one.work.commits or one.work.written] if names else []
        repositories.expect(one.asked for one in some)
        places: defaultdict[str, list[Followable]] = defaultdict(list)
        for one in some:
            place = repositories.of(one.asked) if one.began else NO_TIME
            if isinstance(place, str):
                self.reasons[one.name] = place
            else:
                places[place.name].append(one)
        for name, here in sorted(places.items()):
            try:
                self.look_in(Here(repositories.places[name], here, self.patience), names)
            except (BadInput, OSError) as error:  # git is gone, or out of memory: that is no reason to score nothing
                self.reasons |= {one.name: str(error) for one in here if one.name not in self.found}

    def is_followed(self, one: Followable) -> bool:
        """Whether a session has lines enough, or commits that may be reverted, and is no news of the future."""
        is_worth = bool(one.work.commits) or one.work.lines >= self.rules.min_lines
        return is_worth and one.began <= self.as_of.timestamp()

    def near(self, wanted: Sequence[Followable]) -> list[Followable]:
        """Sessions that were active when the lines of these were waited for."""
        since = min((one.began for one in wanted), default=0.0)
        until = max((one.ended for one in wanted), default=0.0) + self.patience
        return [one for one in self.known if one.ended >= since and one.began <= until]

    def look_in(self, here: "Here", names: set[StreamName]) -> None:
        """Take what is known of a repository's sessions, and follow the others."""
        seen = f"{here.place.repo.tip} {self.as_of.astimezone(UTC):%Y-%m-%d}"
        missing = []
        for one in here.sessions:
            if one.name in names and (found := self.kept(here, one, seen)):
                self.found[one.name] = found
            elif one.name in names:
                missing.append(one)
        for some in self.spans(missing):
            self.found |= self.follow(here, some)
        self.keep(here, missing, seen)

    def kept(self, here: "Here", one: Followable, seen: str) -> Followed | None:
        """What is kept of a session, if it can't have changed since."""
        fate = self.fates.get(one.name)
        if fate is None or not fate.found:
            return None
        is_final = fate.final_at is not None and fate.final_at <= self.as_of.timestamp()
        if not is_final and fate.seen != seen:
            return None
        found = FOLLOWED(fate.found)
        return found if fate.input == self.input_of(here, one, found) else None

    def input_of(self, here: "Here", one: Followable, found: Followed) -> str:
        """Hash of all that decides what is found of a session in a repository that does not change."""
        rules = (self.rules.days, self.rules.min_lines, self.rules.share)
        until = FOREVER if found.final_at is None else found.final_at
        others = here.rivals_of(one, until)
        return hashed(VERSION, here.targets[one.name], here.place.root, rules, others)

    def follow(self, here: "Here", some: Sequence[Followable]) -> dict[StreamName, Followed]:
        """Follow the lines of sessions of about the same time; nearly all arrive soon, so little is read at first."""
        last = max(one.ended for one in some)
        soon, at_last = last + SOON + self.rules.days * DAY, min(self.as_of.timestamp(), last + self.patience)
        if soon >= at_last:
            return self.read(here, some, at_last)
        found = self.read(here, some, soon)
        late = [one for one in some if (found[one.name].final_at or FOREVER) > soon]
        return found | self.read(here, late, at_last) if late else found

    def read(self, here: "Here", some: Sequence[Followable], until: float) -> dict[StreamName, Followed]:
        """Follow the lines of sessions up to a time, in one reading of history."""
        now = self.as_of.timestamp()
        followed = here.with_rivals(some)
        since = min(one.started for one in followed) - SLACK
        paths = sorted({written.path for one in some for written in here.targets[one.name].written})
        ids = {one.id for one in followed}
        others = [bystander(one) for one in self.known if one.work.id not in ids and since <= one.ended <= until]
        rules = Rules(days=self.rules.days, min_lines=self.rules.min_lines, share=self.rules.share)
        self.histories += 1
        found = follow(
            [*followed, *others], here.place.repo.read_changes(since, until, paths), here.place.repo, rules, now
        )
        return {one.name: doubted(found[one.work.id], here.place) for one in some}

    def spans(self, some: Iterable[Followable]) -> list[list[Followable]]:
        """Sessions in groups whose times overlap: nothing is read of the time between them."""
        groups: list[list[Followable]] = []
        until = 0.0
        for one in sorted(some, key=lambda one: (one.began, one.name)):
            if not groups or one.began - SLACK > until:
                groups.append([])
            groups[-1].append(one)
            until = max(until, one.ended + self.patience)
        return groups

    def keep(self, here: "Here", some: Sequence[Followable], seen: str) -> None:
        """Keep what was found, for good where the repository has gone on since the window closed."""
        fates = []
        known_until = min(here.place.moved_on, self.as_of.timestamp()) if some else 0.0
        for one in some:
            found, before = self.found[one.name], self.fates.get(one.name)
            is_over = found.final_at is not None and found.final_at <= known_until
            fates.append(
                Fate(
                    agent=one.name[0],
                    id=one.name[1],
                    input=self.input_of(here, one, found),
                    seen=seen,
                    final_at=int(found.final_at) + 1 if is_over and found.final_at is not None else None,
                    found=PACK(found),
                    is_told=before is not None and before.is_told,
                )
            )
        self.fates |= {one.name: one for one in fates}
        self.store.rework.save_fates(fates)

    # --- what is said of it ---------------------------------------------------------------------

    def outcome(self, wanted: Sequence[Followable]) -> Outcome:
        """The state of every session; where git says nothing, later transcripts may."""
        works = [one.work for one in self.known]
        undone = taken_back(works, self.rules, self.as_of)
        removed = replaced(works, self.rules, self.as_of) | undone
        brought = self.brought()
        states = {}
        for one in wanted:
            state = self.state(one)
            if state.state == "unknown":
                state = (removed if one.name in self.reasons else undone).get(one.work.id, state)
            states[one.name] = named(state, one.work.id, brought)
        ages = tuple(age for name in states if name in self.found for age in self.found[name].ages)
        return Outcome(states=states, ages=ages, fates=self.fates, histories=self.histories)

    def state(self, one: Followable) -> Reworked:
        """What git says of a session, or why it says nothing."""
        if one.name in self.found:
            return self.found[one.name].reworked
        if one.work.lines < self.rules.min_lines:
            return NOT_JUDGED
        if one.began > self.as_of.timestamp():
            return YET_TO_COME
        return Reworked(state="unknown", detail=self.reasons.get(one.name))

    def brought(self) -> dict[str, list[str]]:
        """The sessions behind each commit, by how it begins: those that name it, then those that wrote lines of it."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for one in self.known:
            for commit in one.work.commits:
                found[commit[:SHORTEST_ID]].append(one.work.id)
        for one in self.known:
            fate = self.fates.get(one.name)
            for commit in FOLLOWED(fate.found).commits if fate and fate.found else ():
                found[commit[:SHORTEST_ID]].append(one.work.id)
        return found


class Here:
    """The sessions of one repository."""

    def __init__(self, place: Place, sessions: Sequence[Followable], patience: float) -> None:
        self.place = place
        self.sessions = sessions
        self.targets: dict[StreamName, Target] = {one.name: target(one, place) for one in sessions}
        self.by_id = {one.id: one for one in self.targets.values()}
        self.rivals = rivals(self.targets.values(), patience)

    def rivals_of(self, one: Followable, until: float) -> list[tuple[str, int]]:
        """Sessions that wrote some of the same lines before a time, and how many."""
        found = self.rivals.get(one.work.id, Counter())
        return sorted((other, lines) for other, lines in found.items() if self.by_id[other].started <= until)

    def with_rivals(self, some: Sequence[Followable]) -> list[Target]:
        """These sessions and all who wrote some of the same lines."""
        ids = {one.work.id for one in some}
        ids |= {other for one in ids for other in self.rivals.get(one, ())}
        return [self.by_id[one] for one in sorted(ids)]


def doubted(found: Followed, place: Place) -> Followed:
    """What was found; where that is nothing, with what of the repository could not be read."""
    doubts = [SHALLOW] if place.repo.is_shallow else sorted(place.repo.notes)[:1]
    if found.reworked.state != "unknown" or not doubts:
        return found
    return replace(found, reworked=replace(found.reworked, detail=f"{found.reworked.detail}; {doubts[0]}"))


def named(state: Reworked, session: str, brought: Mapping[str, Sequence[str]]) -> Reworked:
    """The same with the session behind the later commit, where its transcript is known by now."""
    if state.state != "yes" or not state.commit:
        return state
    others = [one for one in brought.get(state.commit[:SHORTEST_ID], ()) if one != session]
    if not others:
        return state
    by = state.by if state.by and state.by.startswith("revert") else f"session {others[0]}"
    return replace(state, by=by, session=others[0])
