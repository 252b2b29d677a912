"""Each measure on sessions so few that the answer can be seen."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given

from assay.types import Session
from tests.make_sessions import QUICK, SHUFFLED, missed, session_of
from tests.make_tallies import measures_of
from tests.tables import each_row


@pytest.mark.parametrize("found", [[], [session_of(judge_status="no_goal")]])
def test_nothing_that_counts_measures_nothing(found: list[Session]) -> None:
    known = measures_of(found)
    fields = {name: getattr(known, name) for name in known.__struct_fields__}
    assert fields.pop("pillars") == dict.fromkeys(("clarity", "context", "verification", "workflow"))
    assert (fields.pop("priced_sessions"), fields.pop("unpriced_sessions")) == (0, 0)
    assert set(fields.values()) == {None}


@pytest.mark.parametrize(
    ("days", "expected"),
    [((0,), 1.0), ((0, 0), 2.0), ((0, 6), 2.0), ((0, 7), 14 / 8), ((0, 13), 1.0), ((0, 1, 27), 0.75)],
)
def test_crushed_per_week_is_over_whole_days_and_a_week_at_least(days: tuple[int, ...], expected: float) -> None:
    assert measures_of([session_of(day=day) for day in days]).crushed_per_week == expected


def test_failed_sessions_stretch_the_span_but_add_nothing() -> None:
    assert measures_of([session_of(), missed(day=13)]).crushed_per_week == 0.5


def test_days_are_those_of_the_zone() -> None:
    found = [session_of(started_at="2026-03-02T23:30:00Z"), session_of(started_at="2026-03-09T20:00:00Z")]
    assert measures_of(found).crushed_per_week == 14 / 8
    assert measures_of(found, ZoneInfo("Europe/Berlin")).crushed_per_week == 2.0


@pytest.mark.parametrize("hour", ["", "yesterday", "0001-01-01T00:00:00+14:00"])
def test_sessions_without_a_time_have_no_pace(hour: str) -> None:
    assert measures_of([session_of(started_at=hour)]).crushed_per_week is None


def test_time_to_crush_is_the_median_over_crushed_sessions_that_know_it() -> None:
    times: list[float | None] = [60.0, None, 100.0, 1000.0]
    found = [session_of(facts={"active_s": time}) for time in times]
    assert measures_of([*found, missed(facts={"active_s": 1.0})]).median_time_to_crush_s == 100.0


@each_row(
    ("grades", "expected"),
    [
        ([], None),
        ([None], None),
        (["a phrase"], None),
        (["A+"], "A+"),
        (["A", None, "C"], "B"),
        (["A+", "F"], "C"),
        (["A", "A-"], "A-"),
        (["A", "A", "A-"], "A"),
        (["D", "F"], "F"),
        (["B+", "B", "B-"], "B"),
    ],
)
def test_the_average_grade_is_the_nearest_letter_never_flattered(grades: list[str | None], expected: str) -> None:
    assert measures_of([session_of(grade=grade) for grade in grades]).average_prompt_grade == expected


PILLARS: list[tuple[list[dict[str, bool | None]], str | None]] = [
    ([{}], None),
    ([{"plan_first": None}], None),
    ([{"goal_explicit": True, "plan_first": False}], "workflow"),
    ([{"goal_explicit": True, "scope_bounded": False, "verification_requested": True}], "clarity"),
    ([{"references_concrete": False, "verification_requested": False}], "context"),
    ([{"verification_requested": False}, {"verification_requested": True, "plan_first": False}], "workflow"),
    ([{"verification_requested": False, "root_cause_oriented": None, "plan_first": None}], "verification"),
]


@pytest.mark.parametrize(("checks", "expected"), PILLARS)
def test_the_weakest_pillar_holds_least_of_what_applies(checks: list[dict[str, Any]], expected: str | None) -> None:
    assert measures_of([session_of(checks=one) for one in checks]).weakest_pillar == expected


def test_pillars_tell_the_share_that_holds() -> None:
    found = [
        session_of(checks={"goal_explicit": True, "scope_bounded": False}),
        session_of(checks={"plan_first": None}),
    ]
    assert measures_of(found).pillars["clarity"] == 0.5
    assert measures_of(found).pillars["workflow"] is None


def spent(tokens: int, turns: int = 1, **more: Any) -> dict[str, Any]:
    return {"tokens": {"input": tokens, "output": 0, "cache_read": 0, "cache_write": 0}, "turns": turns, **more}


def test_crush_weight_and_tokens_per_turn_are_over_counted_sessions() -> None:
    found = [
        session_of(facts=spent(300, turns=2)),
        missed(facts=spent(100, turns=2)),
        session_of(judge_status="no_goal", facts=spent(5000)),
    ]
    known = measures_of(found)
    assert (known.crush_weight, known.tokens_per_turn) == (0.75, 100.0)


@pytest.mark.parametrize("facts", [spent(0, turns=3), spent(0, turns=0)])
def test_without_tokens_nothing_is_said_of_them(facts: dict[str, Any]) -> None:
    known = measures_of([session_of(facts=facts)])
    assert (known.crush_weight, known.tokens_per_turn) == (None, None)


MONEY: list[tuple[list[tuple[bool, float | None]], float | None, int]] = [
    ([(True, 1.0), (False, 3.0)], 4.0, 0),
    ([(True, 1.0), (True, None), (False, 2.0)], 3.0, 1),
    ([(True, None), (False, 2.0)], None, 1),
    ([(True, None)], None, 1),
    ([(False, 2.0)], None, 0),
    ([(True, 0.0)], 0.0, 0),
]


@pytest.mark.parametrize(("sessions", "expected", "unpriced"), MONEY)
def test_a_crushed_session_costs_what_the_priced_ones_cost(
    sessions: list[tuple[bool, float | None]], expected: float | None, unpriced: int
) -> None:
    known = measures_of([session_of(goal_complete=done, facts={"cost_usd": usd}) for done, usd in sessions])
    assert known.usd_per_crushed == expected
    assert (known.priced_sessions, known.unpriced_sessions) == (len(sessions) - unpriced, unpriced)


@QUICK
@given(SHUFFLED)
def test_the_order_of_sessions_never_matters(pair: tuple[list[Session], list[Session]]) -> None:
    assert measures_of(pair[0]) == measures_of(pair[1])
