"""Which segments are one session: a plan carried over, work soon gone on with on the same files, a person's word.

Segments are taken in order of time, each with all that came before it, so the order in which they are given does
not matter. What people merged is put together last, so it moves nothing else. Every join names the later of two.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from assay.clock import parse_time
from assay.config import Boundaries
from assay.sessions.boundaries import SPLIT
from assay.sessions.paths import format_paths
from assay.types import Join, JoinSignal, LedgerLine, PersonCorrection, Segment, Value

MINUTE = timedelta(minutes=1)
AT_ONCE = timedelta(0)
LONGEST_ID = 60
Vendor = tuple[str, str]
"""Agent and stream."""


class LinkedSession(Value, frozen=True):
    """A session: its segments in order of time, and why those after the first belong to it."""

    segments: tuple[Segment, ...]
    joins: tuple[Join, ...] = ()


class SegmentGroup(Struct, eq=False):
    """A session that is still growing."""

    segments: list[Segment]
    """The earliest stands first."""
    files: set[str]
    ended: dict[Vendor, datetime]
    """When it was last active, by stream."""
    closed: datetime | None
    """When it was last active at all."""
    joins: list[Join] = []

    def is_over(self, agent: str, at: datetime) -> bool:
        """Whether it is an agent's, and was last active before a time."""
        return self.closed is not None and self.closed <= at and any(one == agent for one, _ in self.ended)

    def find_closing(self, segment: Segment, began: datetime) -> datetime:
        """When it was last active; in the segment's own stream, at the latest when the segment began."""
        here = to_vendor(segment)
        if self.closed and here not in self.ended:
            return self.closed
        return max(min(at, began) if stream == here else at for stream, at in self.ended.items())


class PersonWishes(Struct, frozen=True):
    """What people want: segments that begin a session for good, and what is merged."""

    held: frozenset[str]
    moved: frozenset[str]
    """Segments of which a person said where they belong."""
    merges: tuple[tuple[str, str], ...]


def link_segments(
    segments: Iterable[Segment], corrections: Sequence[PersonCorrection], rules: Boundaries
) -> list[LinkedSession]:
    """The sessions that segments make, in order of time."""
    ordered = sorted(segments, key=rank_segment)
    wishes = collect_wishes(ordered, corrections)
    linker = SegmentLinker(rules)
    for segment in ordered:
        linker.place_segment(segment, wishes)
    for one, other in wishes.merges:
        linker.merge_groups(linker.of[one], linker.of[other], "person", 1.0, "a person merged the two")
    groups = sorted((one for one in linker.groups if one.segments), key=lambda one: rank_segment(one.segments[0]))
    return [build_session(group) for group in groups]


def build_session(group: SegmentGroup) -> LinkedSession:
    """The session, its segments and joins in order of time."""
    segments = sorted(group.segments, key=rank_segment)
    place = {segment.id: n for n, segment in enumerate(segments)}
    joins = sorted(group.joins, key=lambda join: place[join.id])
    return LinkedSession(segments=tuple(segments), joins=tuple(joins))


def build_ledger(linked: Iterable[LinkedSession]) -> list[LedgerLine]:
    """Every boundary, every join and every commit after which the work went on, in order of time."""
    found: list[LedgerLine] = []
    for session in linked:
        name = session.segments[0].id
        by_id = {segment.id: segment for segment in session.segments}
        for segment in session.segments:
            found.append(build_entry(segment, segment.id, "began"))
            found += [replace(one, session=name) for one in segment.went_on]
        found += [build_entry(by_id[join.id], name, "joined", join) for join in session.joins]
    return sorted(found, key=lambda one: (one.at, one.session, one.effect, one.stream, one.evidence))


def build_entry(
    segment: Segment, session: str, effect: Literal["began", "joined"], join: Join | None = None
) -> LedgerLine:
    """The line of the ledger about the beginning of a segment."""
    why = join or segment.boundary
    return LedgerLine(
        at=segment.began_at,
        agent=segment.agent,
        stream=segment.stream,
        session=session,
        signal=why.signal,
        effect=effect,
        confidence=why.confidence,
        evidence=why.evidence,
    )


def collect_wishes(ordered: Sequence[Segment], corrections: Sequence[PersonCorrection]) -> PersonWishes:
    """What holds of the corrections, a later one over an earlier; one about an unknown turn says nothing."""
    place = {segment.id: n for n, segment in reversed(list(enumerate(ordered)))}
    held = {segment.id for segment in ordered if segment.boundary.signal == "person"}
    into: dict[str, str] = {}
    split_before: set[str] = set()
    """Merged although somebody had split there: that holds again where the merge is undone."""
    for one in corrections:
        if one.kind == "split" and one.turn in place:
            gone = [turn for turn, to in into.items() if one.turn in (turn, max(turn, to, key=place.__getitem__))]
            for turn in gone:
                del into[turn]
            held |= {one.turn, *(turn for turn in gone if turn in split_before)}
        elif one.kind == "merge" and one.turn in place and one.into in place and one.turn != one.into:
            into[one.turn] = one.into
            if one.turn in held:
                split_before.add(one.turn)
                held.discard(one.turn)
    return PersonWishes(held=frozenset(held), moved=frozenset(into), merges=tuple(into.items()))


class SegmentLinker:
    """Puts segments together, one after the other."""

    def __init__(self, rules: Boundaries) -> None:
        self.rules = rules
        self.groups: list[SegmentGroup] = []
        self.of: dict[str, SegmentGroup] = {}
        """By segment id."""
        self.last: dict[Vendor, Segment] = {}
        """The last segment of each stream."""
        self.awake: dict[str, list[SegmentGroup]] = {}
        """By project, sessions that the next segment may still go on with."""
        self.asleep: dict[str, list[SegmentGroup]] = {}
        """By project, those that closed too long ago, unless /clear comes next; who closed last is last."""

    def place_segment(self, segment: Segment, wishes: PersonWishes) -> None:
        """Put a segment where it belongs; all that began before it have their place."""
        is_held = segment.id in wishes.held
        if is_held and segment.boundary.signal != "person":
            segment = replace(segment, boundary=SPLIT)
        ended = parse_time(segment.ended_at)
        by_stream = {to_vendor(segment): ended} if ended else {}
        group = SegmentGroup(segments=[segment], files=list_touched(segment), ended=by_stream, closed=ended)
        self.groups.append(group)
        self.of[segment.id] = group
        if not is_held and segment.id not in wishes.moved:
            group = self.join_by_plan(segment, group) or self.join_by_files(segment, group) or group
        self.wake_group(group, segment.project)
        known = self.last.get(to_vendor(segment))
        if known is None or segment.first >= known.first:
            self.last[to_vendor(segment)] = segment

    def join_by_plan(self, segment: Segment, group: SegmentGroup) -> SegmentGroup | None:
        """With the session in which the plan was made that opened this conversation."""
        before = self.last.get((segment.agent, segment.continues)) if segment.continues else None
        if before is None or before.stream == segment.stream:
            return None
        evidence = f"an accepted plan of {segment.continues[:LONGEST_ID]} opened this conversation"
        return self.merge_groups(self.of[before.id], group, "plan", 1.0, evidence)

    def join_by_files(self, segment: Segment, group: SegmentGroup) -> SegmentGroup | None:
        """With the session that closed shortly before, on the same files: of several, the one that closed last."""
        began = parse_time(segment.began_at)
        if began is None or not (segment.files or segment.read) or not segment.project:
            return None
        self.retire_groups(segment.project, began)
        closed = [(other.find_closing(segment, began), other, "") for other in self.awake[segment.project]]
        if cleared := self.find_cleared(segment, began):
            closed = [one for one in closed if one[1] is not cleared[1]] + [cleared]
        if segment.boundary.signal == "topic":  # a judge named a new goal here: a shared file does not take that back
            closed = [one for one in closed if to_vendor(segment) not in one[1].ended]
        fitting = [one for one in closed if self.is_near(one[0], began) and self.is_same_work(one[1], segment)]
        if not fitting:
            return None
        touched = list_touched(segment)
        at, other, what = min(fitting, key=lambda one: (began - one[0], one[1].segments[0].id))
        evidence = f"began {format_span(began - at)} after{what}, {describe_shared_files(other.files, touched)}"
        return self.merge_groups(other, group, "merge", measure_file_overlap(other.files, touched), evidence)

    def is_near(self, closed: datetime, began: datetime) -> bool:
        """Whether something began soon enough after something closed, and not before."""
        return began - closed >= AT_ONCE and (began - closed) / MINUTE <= self.rules.merge_minutes

    def is_same_work(self, group: SegmentGroup, segment: Segment) -> bool:
        return (
            bool(group.files) and measure_file_overlap(group.files, list_touched(segment)) >= self.rules.merge_overlap
        )

    def find_cleared(self, segment: Segment, began: datetime) -> tuple[datetime, SegmentGroup, str] | None:
        """The session that /clear closed: the agent's last in this project, however long it had been silent."""
        at = parse_time(segment.cleared_at)
        if at is None or at > began:
            return None
        awake = [one for one in self.awake[segment.project] if one.is_over(segment.agent, at)]
        if awake:
            return at, max(awake, key=lambda one: (one.closed, one.segments[0].id)), " /clear"
        asleep = (one for one in reversed(self.asleep[segment.project]) if one.is_over(segment.agent, at))
        return next(((at, one, " /clear") for one in asleep), None)

    def wake_group(self, group: SegmentGroup, project: str) -> None:
        """Let the next segments of a project see a session."""
        awake = self.awake.setdefault(project, [])
        if project and group not in awake:
            awake.append(group)

    def retire_groups(self, project: str, began: datetime) -> None:
        """Leave out the sessions that closed too long ago for anything that begins from now on."""
        known = [(closed, one) for one in self.awake.get(project, ()) if (closed := one.closed)]
        tired = [(closed, one) for closed, one in known if closed < began and not self.is_near(closed, began)]
        self.awake[project] = [one for closed, one in known if closed >= began or self.is_near(closed, began)]
        tired.sort(key=lambda one: (one[0], one[1].segments[0].id))
        self.asleep.setdefault(project, []).extend(one for _, one in tired)

    def merge_groups(
        self, one: SegmentGroup, other: SegmentGroup, signal: JoinSignal, confidence: float, evidence: str
    ) -> SegmentGroup:
        """Two sessions as one, which goes on where the later of them had begun."""
        if one is other:
            return one
        first, second = sorted((one, other), key=lambda group: rank_segment(group.segments[0]))
        join = Join(id=second.segments[0].id, signal=signal, confidence=confidence, evidence=evidence)
        first.joins += [join, *second.joins]
        first.segments += second.segments
        first.files |= second.files
        for stream, at in second.ended.items():
            first.ended[stream] = max(at, first.ended.get(stream, at))
            first.closed = max(at, first.closed or at)
        for segment in second.segments:
            self.of[segment.id] = first
            self.wake_group(first, segment.project)
        second.segments, second.ended, second.closed = [], {}, None
        return first


def rank_segment(segment: Segment) -> tuple[str, str, str, str, int]:
    return segment.began_at, segment.agent, segment.id, segment.stream, segment.first


def to_vendor(segment: Segment) -> Vendor:
    return segment.agent, segment.stream


def list_touched(segment: Segment) -> set[str]:
    """The files a segment modified or looked at."""
    return {*segment.files, *segment.read}


def measure_file_overlap(files: set[str], others: Collection[str]) -> float:
    """Files in both, as a share of the smaller set."""
    return len(files.intersection(others)) / min(len(files), len(others))


def describe_shared_files(files: set[str], others: Collection[str]) -> str:
    """Which files are in both, for people."""
    both = sorted(files.intersection(others))
    fewer = min(len(files), len(others))
    are = "is" if len(both) == 1 else "are"
    return f"{len(both)} of {fewer} {'file' if fewer == 1 else 'files'} {are} the same: {format_paths(both)}"


def format_span(time: timedelta) -> str:
    """How long a time is, for people."""
    seconds = int(time.total_seconds())
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"
