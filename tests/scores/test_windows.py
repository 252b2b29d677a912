"""Windows: whole days where the person is, and an arrow only where a test supports it."""

from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given

from assay.types import Session
from tests.make_sessions import QUICK, SHUFFLED, missed, session_of
from tests.make_tallies import windows_of
from tests.tables import each_row

BERLIN = ZoneInfo("Europe/Berlin")


def week(crushed: int, of: int, day: float = 0, **more: Any) -> list[Session]:
    """So many sessions of one day, some of them crushed."""
    return [(session_of if n < crushed else missed)(day=day, **more) for n in range(of)]


@pytest.mark.parametrize("found", [[], [session_of(started_at="")], [session_of(started_at="soon")]])
def test_without_a_day_there_is_no_window(found: list[Session]) -> None:
    assert windows_of(found) == []


def test_windows_end_with_the_day_of_the_last_session_and_are_whole_days() -> None:
    seven, thirty = windows_of([session_of(day=40), session_of()])
    assert (seven.days, seven.began, seven.ended) == (7, date(2026, 4, 5), date(2026, 4, 11))
    assert (thirty.days, thirty.began, thirty.ended) == (30, date(2026, 3, 13), date(2026, 4, 11))


@pytest.mark.parametrize(
    ("day", "now", "before"), [(20, 1, 0), (14, 1, 0), (13, 0, 1), (7, 0, 1), (6, 0, 0), (0, 0, 0)]
)
def test_a_day_belongs_to_one_window_or_the_one_before(day: float, now: int, before: int) -> None:
    last = session_of(day=20, judge_status="no_goal")
    seven = windows_of([last, session_of(day=day)])[0]
    assert (seven.score.counted, seven.before.counted) == (now, before)


SPRING = "2026-04-01T10:00:00Z"  # the clocks of Berlin went forward on 29 March
AUTUMN = "2026-10-29T10:00:00Z"  # and back on 25 October


@pytest.mark.parametrize(
    ("last", "started", "is_inside"),
    [
        (SPRING, "2026-03-25T22:59:59Z", False),  # a second before midnight
        (SPRING, "2026-03-25T23:00:00Z", True),
        (AUTUMN, "2026-10-22T21:59:59Z", False),
        (AUTUMN, "2026-10-22T22:00:00Z", True),
    ],
)
def test_days_stay_days_when_the_clocks_change(last: str, started: str, is_inside: bool) -> None:
    seven = windows_of([session_of(started_at=last), session_of(started_at=started)], BERLIN)[0]
    assert (seven.score.counted, seven.before.counted) == ((2, 0) if is_inside else (1, 1))


def test_a_time_without_a_zone_is_utc() -> None:
    assert windows_of([session_of(started_at="2026-03-02T23:30:00")], BERLIN)[0].ended == date(2026, 3, 3)


ARROWS = [
    ((9, 10), (2, 10), 0.0055, "up"),
    ((2, 10), (9, 10), 0.0055, "down"),
    ((6, 10), (5, 10), 1.0, None),
    ((5, 5), (0, 5), 0.0079, "up"),
    ((5, 5), (0, 4), 0.0079, None),  # too few before
    ((4, 4), (0, 5), 0.0079, None),  # too few now
    ((5, 5), (5, 5), 1.0, None),
    ((0, 5), (0, 5), 1.0, None),
    ((5, 5), (0, 0), None, None),
]


@each_row(("now", "before", "p_value", "direction"), ARROWS)
def test_an_arrow_needs_a_difference_beyond_chance_and_five_on_each_side(
    now: tuple[int, int], before: tuple[int, int], p_value: float | None, direction: str | None
) -> None:
    seven = windows_of([*week(*now, day=20), *week(*before, day=10)])[0]
    assert (seven.p_value and round(seven.p_value, 4)) == p_value
    assert seven.direction == direction


def test_no_side_counted_is_no_p_value() -> None:
    assert windows_of([session_of(judge_status="no_goal")])[0].p_value is None


def test_what_different_judges_said_gets_no_arrow() -> None:
    old = week(2, 10, day=10, judge_versions={"outcome": "0"})
    seven = windows_of([*week(9, 10, day=20), *old])[0]
    assert (seven.is_one_judge, seven.direction) == (False, None)


def test_a_judge_whose_sessions_do_not_count_disturbs_no_arrow() -> None:
    other = session_of(day=20, judge_status="ungraded", judge_versions={"outcome": "0"})
    seven = windows_of([*week(9, 10, day=20), *week(2, 10, day=10), other])[0]
    assert (seven.is_one_judge, seven.direction) == (True, "up")


@QUICK
@given(SHUFFLED)
def test_the_order_of_sessions_never_matters(pair: tuple[list[Session], list[Session]]) -> None:
    assert windows_of(pair[0], BERLIN) == windows_of(pair[1], BERLIN)
