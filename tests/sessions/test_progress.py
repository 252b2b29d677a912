"""Which sessions are still going on."""

from datetime import UTC, datetime, timedelta

import pytest

from assay.sessions.links import LinkedSession
from assay.sessions.progress import find_open_sessions
from assay.types import Boundary, Segment

ENDED = datetime(2026, 3, 2, 12, tzinfo=UTC)
BEGAN = Boundary(signal="conversation", confidence=1.0, evidence="")


def part(id: str, first: int = 0, stream: str = "s1", ended: datetime | None = ENDED, cleared: str = "") -> Segment:
    at = ended.isoformat() if ended else ""
    return Segment(
        id=id, agent="claude-code", stream=stream, project="/till", first=first, last=first, began_at=at, ended_at=at,
        boundary=BEGAN, cleared_at=cleared,
    )  # fmt: skip


def going_on(*parts: Segment, minutes: float = 1.0) -> set[str]:
    linked = [LinkedSession(segments=(one,)) for one in parts]
    return set(find_open_sessions(linked, ENDED + timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    ("minutes", "is_open"), [(0, True), (9.9, True), (10, True), (10.1, False), (99, False), (-0.5, True), (-5, False)]
)
def test_a_session_goes_on_until_ten_minutes_after_its_last_record(minutes: float, is_open: bool) -> None:
    assert going_on(part("a"), minutes=minutes) == ({"a"} if is_open else set())


def test_the_next_goal_of_a_stream_closes_the_one_before() -> None:
    assert going_on(part("a"), part("b", first=3)) == {"b"}


def test_a_clear_closes_what_went_on_in_the_project() -> None:
    cleared = part("b", stream="s2", cleared=(ENDED + timedelta(seconds=1)).isoformat())
    assert going_on(part("a"), cleared) == {"b"}


def test_a_session_without_a_time_is_over() -> None:
    assert going_on(part("a", ended=None)) == set()


def test_a_session_of_several_streams_goes_on_where_one_of_them_does() -> None:
    whole = LinkedSession(segments=(part("a", ended=ENDED - timedelta(hours=1)), part("b", stream="s2")))
    assert find_open_sessions([whole], ENDED) == {"a"}
