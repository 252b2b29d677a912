"""Which sessions are still going on."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from assay.sessions.links import LinkedSession
from assay.sessions.progress import find_open_sessions, find_seal
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


@pytest.mark.parametrize(("seconds", "is_open"), [(-60, True), (-1, False), (0, False), (60, False)])
def test_a_stream_that_was_left_after_its_last_record_goes_on_no_more(seconds: float, is_open: bool) -> None:
    ends = {"s1": (ENDED + timedelta(seconds=seconds)).isoformat()}
    linked = [LinkedSession(segments=(part("a"),)), LinkedSession(segments=(part("b", stream="s2"),))]
    assert find_open_sessions(linked, ENDED + timedelta(minutes=1), ends) == ({"a", "b"} if is_open else {"b"})


# --- what seals a session -------------------------------------------------------------------------


def find(one: Segment, *others: Segment) -> str | None:
    found = find_seal(LinkedSession(segments=(one,)), [one, *others])
    return found.signal if found else None


def later(id: str = "b", stream: str = "s2", **more: Any) -> Segment:
    return replace(part(id, stream=stream, ended=ENDED + timedelta(minutes=2)), **more)


def test_a_new_conversation_of_the_same_person_seals_what_went_on_before() -> None:
    assert find(part("a"), later()) == "conversation"
    assert going_on(part("a"), later(), minutes=3) == {"b"}


def test_nobody_elses_conversation_seals_a_session() -> None:
    assert find(part("a"), later(project="/other")) is None
    assert find(part("a"), later(agent="codex")) is None
    assert find(part("a"), later(person="somebody else")) is None


def test_where_the_project_is_not_known_only_the_same_person_seals() -> None:
    nowhere = replace(part("a"), project="")
    assert find(nowhere, later(project="")) is None
    assert find(replace(nowhere, person="ada"), later(project="", person="ada")) == "conversation"
    assert find(replace(nowhere, person="ada"), later(project="", person="bob")) is None
    clear = later(project="", person="ada", cleared_at=(ENDED + timedelta(seconds=1)).isoformat())
    assert find(replace(nowhere, person="ada"), clear) == "clear"


def test_a_session_that_goes_on_beside_a_new_conversation_is_not_sealed_by_it() -> None:
    assert find(replace(part("a"), ended_at=(ENDED + timedelta(minutes=5)).isoformat()), later()) is None


def test_a_commit_seals_until_something_is_said_or_modified() -> None:
    committed = replace(part("a"), committed_at=ENDED.isoformat())
    assert find(committed) == "commit"
    assert going_on(committed) == set()
    assert find(part("a")) is None


def test_a_shift_in_the_same_stream_seals_what_came_before() -> None:
    shift = replace(part("b", first=3), boundary=Boundary(signal="topic", confidence=0.9, evidence=""))
    assert find(part("a"), shift) == "topic"
    assert find(shift, part("a")) is None


def test_a_quiet_spell_seals_nothing() -> None:
    assert going_on(part("a"), minutes=600) == set()
    assert find(part("a")) is None
