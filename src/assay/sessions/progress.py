"""Which sessions are still going on: their stream was written to a short while ago, and nothing closed them."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from assay.clock import parse_time
from assay.sessions.links import LinkedSession
from assay.types import Segment

QUIET = timedelta(minutes=10)
"""After a silence of this length nobody is taken to be at work any more."""
SKEW = timedelta(minutes=1)
"""Clocks differ: a record may be a little younger than now."""


def find_open_sessions(linked: Sequence[LinkedSession], now: datetime) -> frozenset[str]:
    """Ids of the sessions that were going on at a time."""
    segments = [segment for one in linked for segment in one.segments]
    last: dict[tuple[str, str], int] = {}
    for segment in segments:
        name = segment.agent, segment.stream
        last[name] = max(last.get(name, 0), segment.first)
    return frozenset(
        one.segments[0].id
        for one in linked
        if any(
            is_fresh(segment, now) and last[segment.agent, segment.stream] == segment.first for segment in one.segments
        )
        and not was_cleared(one, segments)
    )


def is_fresh(segment: Segment, now: datetime) -> bool:
    """Whether the last record is of a short while ago."""
    ended = parse_time(segment.ended_at)
    return ended is not None and -SKEW <= now - ended <= QUIET


def was_cleared(one: LinkedSession, segments: Iterable[Segment]) -> bool:
    """Whether `/clear` was given in its project since."""
    ended = max(segment.ended_at for segment in one.segments)
    own = {segment.id for segment in one.segments}
    first = one.segments[0]
    return any(
        other.cleared_at >= ended
        for other in segments
        if other.cleared_at and other.project == first.project and other.agent == first.agent and other.id not in own
    )
