"""Slices: each session in one of them, the largest first."""

from datetime import UTC, date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from assay.scores.breakdown import (
    PERIODS,
    WAYS,
    By,
    Period,
    build_slices,
    build_trend,
    name_period,
    place_period,
)
from assay.scores.prism import has_substance
from assay.types import Session
from tests.make_sessions import QUICK, SESSIONS, missed, session_of
from tests.tables import each_row

NAMES: list[tuple[By, dict[str, Any], str]] = [
    ("project", {"project": "loom"}, "loom"),
    ("project", {"project": ""}, "(none)"),
    ("branch", {"branch": "warp"}, "warp"),
    ("model", {"models": ["opus"]}, "opus"),
    ("model", {"models": ["sonnet", "haiku", "sonnet"]}, "haiku, sonnet"),
    ("model", {"models": []}, "(none)"),
    ("agent", {"agent": "codex"}, "codex"),
    ("intent", {"intent": "plan"}, "plan"),
    ("intent", {"intent": None}, "(none)"),
    ("language", {"language": "ja"}, "ja"),
    ("language", {"language": None}, "(none)"),
]


@each_row(("by", "more", "name"), NAMES)
def test_a_slice_is_named_by_what_its_sessions_share(by: By, more: dict[str, Any], name: str) -> None:
    assert [one.name for one in build_slices([session_of(**more)], by)] == [name]


def test_slices_with_most_counted_sessions_come_first_then_by_name() -> None:
    found = [session_of(project="b"), session_of(project="a"), session_of(project="c"), missed(project="c")]
    found += [session_of(project="d", judge_status="no_goal") for _ in range(9)]
    told = [(one.name, one.score.value, one.score.counted) for one in build_slices(found, "project")]
    assert told == [("c", 50.0, 2), ("a", 100.0, 1), ("b", 100.0, 1), ("d", None, 0)]


@QUICK
@given(SESSIONS, st.sampled_from(WAYS), st.randoms(use_true_random=False))
def test_every_session_is_in_one_slice_in_whatever_order_they_come(found: list[Session], by: By, dice: Any) -> None:
    shuffled = dice.sample(found, len(found))
    assert build_slices(shuffled, by) == build_slices(found, by)
    assert sum(one.score.counted for one in build_slices(found, by)) == sum(
        one.judge_status == "ok" and has_substance(one) for one in found
    )


@each_row(("chance", "name"), [(None, "review"), (0.8, "review"), (0.79, "read")])
def test_an_intent_that_is_not_told_apart_stands_under_what_it_comes_down_to(chance: float | None, name: str) -> None:
    one = session_of(intent="review", aim="read", second_intent="question", intent_chance=chance)
    assert [found.name for found in build_slices([one], "intent")] == [name]


def make_group(crushed: int, of: int, **more: Any) -> list[Session]:
    return [(session_of if n < crushed else missed)(**more) for n in range(of)]


def test_a_slice_is_marked_where_it_differs_from_the_rest_beyond_chance() -> None:
    found = [*make_group(20, 20, project="a"), *make_group(15, 20, project="b"), *make_group(4, 20, project="c")]
    told = {one.name: one for one in build_slices(found, "project")}
    assert {name: one.direction for name, one in told.items()} == {"a": "up", "b": None, "c": "down"}
    assert all(one.p_corrected and one.p_value and one.p_corrected >= one.p_value for one in told.values())


def test_two_slices_are_one_test() -> None:
    found = [*make_group(9, 10, project="a"), *make_group(3, 10, project="b"), session_of(judge_status="no_goal")]
    told = [one for one in build_slices(found, "project") if one.score.counted]
    assert [one.direction for one in told] == ["up", "down"]
    assert all(one.p_corrected == one.p_value for one in told)


def test_many_slices_make_a_chance_find_dearer() -> None:
    odd = make_group(2, 6, project="odd")
    few = {one.name: one for one in build_slices([*odd, *make_group(26, 30, project="a")], "project")}
    many = [*odd, *(one for name in "abcdefghij" for one in make_group(5, 6, project=name))]
    told = {one.name: one for one in build_slices(many, "project")}
    assert few["odd"].direction == "down"
    assert (told["odd"].p_value or 1) < 0.05
    assert told["odd"].direction is None


@each_row(("mine", "rest"), [((0, 4), (40, 40)), ((40, 40), (0, 4)), ((5, 10), (0, 0))])
def test_fewer_than_five_on_a_side_are_not_tested(mine: tuple[int, int], rest: tuple[int, int]) -> None:
    found = [*make_group(*mine, project="mine"), *make_group(*rest, project="rest")]
    assert {(one.p_value, one.p_corrected, one.direction) for one in build_slices(found, "project")} == {
        (None, None, None)
    }


def test_what_different_judges_said_makes_no_slice_differ() -> None:
    other = make_group(0, 20, project="b", judge_versions={"outcome": "0"})
    assert {one.direction for one in build_slices([*make_group(20, 20, project="a"), *other], "project")} == {None}


DAYS = st.dates(date(1970, 1, 1), date(9000, 1, 1))
PERIODS_OF_DAYS: list[tuple[By, list[str]]] = [
    ("day", ["2026-03-01", "2026-03-02", "2026-03-08", "2026-03-09", "2026-04-11", "(none)"]),
    ("week", ["2026-02-23", "2026-03-02", "2026-03-09", "2026-04-06", "(none)"]),
    ("month", ["2026-03", "2026-04", "(none)"]),
]


@each_row(("by", "names"), PERIODS_OF_DAYS)
def test_periods_stand_in_order_of_time_weeks_by_their_monday(by: By, names: list[str]) -> None:
    found = [session_of(day=day) for day in (40, 7, 6, 0, -1)] + [session_of(started_at="soon")]
    assert [one.name for one in build_slices(found, by)] == names


def test_a_period_is_the_one_where_the_person_was() -> None:
    late = [session_of(started_at="2026-03-31T23:30:00Z")]
    assert build_slices(late, "month", ZoneInfo("Europe/Berlin"))[0].name == "2026-04"
    assert build_slices(late, "month", UTC)[0].name == "2026-03"


@QUICK
@given(
    st.dates(date(1970, 1, 1), date(9000, 1, 1)), st.dates(date(1970, 1, 1), date(9000, 1, 1)), st.sampled_from(PERIODS)
)
def test_periods_are_numbered_without_gaps_in_order(one: date, other: date, period: Period) -> None:
    first, second = (place_period(name_period(day, period), period) for day in (one, other))
    assert (first < second) is (name_period(one, period) < name_period(other, period))
    after = place_period(name_period(min(one, other) + timedelta(days=1), period), period)
    assert after - min(first, second) in (0, 1)


@each_row(("shares", "direction"), [((1, 5, 9), "up"), ((9, 5, 1), "down"), ((5, 5, 5), None)])
def test_a_trend_is_told_where_a_test_supports_it(shares: tuple[int, ...], direction: str | None) -> None:
    found = [one for n, share in enumerate(shares) for one in make_group(share, 10, day=7 * n)]
    trend = build_trend(build_slices(found, "week"), "week")
    assert (trend.periods, trend.direction) == (3, direction)
    assert build_trend(build_slices(found, "week"), "week", is_one_judge=False).direction is None
