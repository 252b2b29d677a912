"""Which sessions are still going on, and what sealed the others: `/clear`, a new conversation, a shift, a commit.

A quiet spell seals nothing: after it a session counts, and may go on. One that was sealed may go on as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from assay.clock import parse_time
from assay.sessions.links import LinkedSession
from assay.types import BoundarySignal, Segment, Value

QUIET = timedelta(minutes=10)
"""After a silence of this length nobody is taken to be at work any more."""
SKEW = timedelta(minutes=1)
"""Clocks differ: a record may be a little younger than now."""
LATE = timedelta(seconds=2)
"""A last record may be written when the agent has already said that it ends."""
NO_ENDS: Mapping[str, str] = {}


class Seal(Value, frozen=True):
    """What ended a session, and when."""

    signal: BoundarySignal
    at: str


def find_open_sessions(
    linked: Sequence[LinkedSession], now: datetime, ends: Mapping[str, str] = NO_ENDS
) -> frozenset[str]:
    """Ids of the sessions that were going on at a time: somebody was at work, and nothing sealed them.

    Given is when streams are known to have been left.
    """
    segments = [segment for one in linked for segment in one.segments]
    last = find_last_segments(segments)
    return frozenset(
        one.segments[0].id
        for one in linked
        if any(
            is_fresh(segment, now) and is_last(segment, last) and not was_left(segment, ends)
            for segment in one.segments
        )
        and find_seal(one, segments) is None
    )


def find_last_segments(segments: Iterable[Segment]) -> dict[tuple[str, str], Segment]:
    """The last segment of each stream."""
    found: dict[tuple[str, str], Segment] = {}
    for segment in segments:
        before = found.get((segment.agent, segment.stream))
        if before is None or segment.first > before.first:
            found[segment.agent, segment.stream] = segment
    return found


def is_last(segment: Segment, last: dict[tuple[str, str], Segment]) -> bool:
    return last[segment.agent, segment.stream].first == segment.first


def is_fresh(segment: Segment, now: datetime) -> bool:
    """Whether the last record is of a short while ago."""
    return was_active(segment.ended_at, now)


def was_active(ended_at: str, now: datetime) -> bool:
    """Whether a time is that of somebody who may still be at work."""
    ended = parse_time(ended_at)
    return ended is not None and -SKEW <= now - ended <= QUIET


def was_left(segment: Segment, ends: Mapping[str, str]) -> bool:
    """Whether its stream was left after its last record; one that was gone on with since was not."""
    left, ended = parse_time(ends.get(segment.stream, "")), parse_time(segment.ended_at)
    return left is not None and ended is not None and left >= ended - LATE


def find_seal(one: LinkedSession, segments: Iterable[Segment]) -> Seal | None:
    """What sealed a session since it was last active, given all segments there are; the first of several."""
    latest = max(one.segments, key=lambda segment: (segment.ended_at, segment.began_at))
    own = {segment.id for segment in one.segments}
    streams = {(segment.agent, segment.stream) for segment in one.segments}
    found = [
        seal
        for other in segments
        if other.id not in own and (seal := find_seal_by(other, latest, is_here=(other.agent, other.stream) in streams))
    ]
    if latest.committed_at:
        found.append(Seal(signal="commit", at=latest.committed_at))
    return min(found, key=lambda seal: (seal.at, seal.signal), default=None)


def find_seal_by(other: Segment, latest: Segment, *, is_here: bool) -> Seal | None:
    """Whether a segment that began in the same stream, or a conversation that the same person began, seals another."""
    if is_here:
        is_after = (other.agent, other.stream) == (latest.agent, latest.stream) and other.first > latest.first
        return Seal(signal=other.boundary.signal, at=other.began_at) if is_after else None
    if not is_same_person(other, latest):
        return None
    if other.cleared_at and other.cleared_at >= latest.ended_at:
        return Seal(signal="clear", at=other.cleared_at)
    if other.first == 0 and not other.continues and other.began_at > latest.ended_at:
        return Seal(signal="conversation", at=other.began_at)
    return None


def is_same_person(one: Segment, other: Segment) -> bool:
    """Whether two segments are of one agent's user and project; where the project is not known, the user must be."""
    same = (one.agent, one.project, one.person) == (other.agent, other.project, other.person)
    return same and bool(one.project or one.person)
