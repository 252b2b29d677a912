"""Wall time from first to last record, and active time: pauses over five minutes are not work."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from assay.types import Fact, Turn

VERSION = 1

LONGEST_PAUSE_S = 300.0


class Time(Fact, frozen=True):
    wall_s: float | None
    """`None` where no record says when it was written."""
    active_s: float | None


def fact(turns: Sequence[Turn]) -> Time:
    moments = sorted(seconds for text in set(list_stamps(turns)) if (seconds := parse_seconds(text)) is not None)
    if not moments:
        return Time(wall_s=None, active_s=None)
    gaps = (later - earlier for earlier, later in pairwise(moments))
    return Time(
        wall_s=round(moments[-1] - moments[0], 3),
        active_s=round(sum(min(gap, LONGEST_PAUSE_S) for gap in gaps), 3),
    )


def list_stamps(turns: Sequence[Turn]) -> Iterator[str]:
    """Every time that the turns tell of."""
    for turn in turns:
        yield turn.at
        yield turn.ended_at
        for call in turn.calls:
            yield call.at
            yield call.ended_at
        for reply in turn.replies:
            yield reply.at
        for spend in turn.spends:
            yield spend.at


def parse_seconds(text: str) -> float | None:
    """Seconds since 1970, or `None` for what is no time."""
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except (ValueError, OverflowError, OSError):
        return None
