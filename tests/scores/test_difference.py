"""Differences between shares: an exact test, an interval that agrees with it, a correction for many, a trend."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.scores.difference import (
    compare_proportions,
    compare_scores,
    compare_sessions,
    correct_p_values,
    measure_difference,
    measure_trend,
)
from assay.scores.prism import Score
from tests.make_sessions import QUICK, missed, session_of
from tests.tables import each_row


def score_of(crushed: int, counted: int) -> Score:
    return Score(
        value=None, low=None, high=None, crushed=crushed, counted=counted, rework_open=0, rework_unknown=0
    )  # fmt: skip


@st.composite
def any_score(draw: st.DrawFn, most: int = 60) -> Score:
    counted = draw(st.integers(1, most))
    return score_of(draw(st.integers(0, counted)), counted)


def count_exactly(one: Score, other: Score) -> float:
    """Fisher's test in whole numbers."""
    crushed, total = one.crushed + other.crushed, one.counted + other.counted
    ways = {
        n: comb(one.counted, n) * comb(other.counted, crushed - n)
        for n in range(max(0, crushed - other.counted), min(crushed, one.counted) + 1)
    }
    return float(Fraction(sum(n for n in ways.values() if n <= ways[one.crushed]), comb(total, crushed)))


@QUICK
@given(any_score(), any_score())
def test_the_test_is_exact_and_the_same_from_either_side(one: Score, other: Score):
    found = compare_proportions(one, other)
    assert found == pytest.approx(count_exactly(one, other), rel=1e-6)
    assert found == pytest.approx(compare_proportions(other, one), rel=1e-9)


def test_thousands_of_sessions_are_no_trouble():
    assert compare_proportions(score_of(4000, 5000), score_of(8000, 10000)) == pytest.approx(1.0, abs=0.05)
    assert compare_proportions(score_of(4000, 5000), score_of(5000, 10000)) == pytest.approx(0.0, abs=1e-9)


@each_row(
    ("one", "other", "ends"),
    # Newcombe 1998, method 10 of table II: a, g (in points).
    [((56, 70), (48, 80), (20.0, 5.24, 33.39)), ((10, 10), (0, 10), (100.0, 60.75, 100.0))],
)
def test_the_interval_is_the_published_one(
    one: tuple[int, int], other: tuple[int, int], ends: tuple[float, float, float]
):
    assert measure_difference(score_of(*one), score_of(*other)) == pytest.approx(ends, abs=0.01)


@QUICK
@given(any_score(), any_score())
def test_the_interval_holds_the_difference_and_turns_with_it(one: Score, other: Score):
    found, turned = compare_scores(one, other), compare_scores(other, one)
    assert None not in (found.low, found.value, found.high, turned.value)
    assert -100 <= found.low <= found.value <= found.high <= 100  # type: ignore[operator]
    assert found.value == pytest.approx(-turned.value)  # type: ignore[operator]
    if found.direction:
        assert (found.low > 0) is (found.direction == "up")  # type: ignore[operator]


@each_row("sides", [([], [session_of()]), ([session_of()], []), ([], [])])
def test_against_nothing_there_is_no_difference(sides: tuple[list, list]):  # type: ignore[type-arg]
    found = compare_sessions(*sides)
    assert (found.value, found.low, found.high, found.p_value, found.direction) == (None, None, None, None, None)


def test_what_different_judges_said_is_not_compared():
    found = compare_sessions(
        [session_of() for _ in range(20)], [missed(judge_versions={"outcome": "0"}) for _ in range(20)]
    )
    assert (found.is_one_judge, found.direction) == (False, None)
    assert compare_sessions([session_of() for _ in range(20)], [missed() for _ in range(20)]).direction == "up"


@each_row(
    ("given", "corrected"),
    [
        ({}, {}),
        ({"a": 0.04}, {"a": 0.04}),
        ({"a": 0.01, "b": 0.04, "c": 0.03}, {"a": 0.03, "c": 0.06, "b": 0.06}),
        ({"a": 0.5, "b": 0.9}, {"a": 1.0, "b": 1.0}),
    ],
)
def test_p_values_are_corrected_by_holm(given: dict[str, float], corrected: dict[str, float]):
    assert correct_p_values(given) == pytest.approx(corrected)


@QUICK
@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=12))
def test_a_corrected_p_value_is_never_smaller_and_keeps_its_rank(given: dict[str, float]):
    found = correct_p_values(given)
    assert all(given[name] <= found[name] <= 1 for name in given)
    assert sorted(given, key=lambda name: (given[name], name)) == sorted(
        given, key=lambda name: (found[name], given[name], name)
    )


@each_row(
    ("counts", "direction"),
    [
        ([(1, 10), (5, 10), (9, 10)], "up"),
        ([(9, 10), (5, 10), (1, 10)], "down"),
        ([(5, 10), (5, 10), (5, 10)], None),
        ([(5, 5), (5, 5), (5, 5)], None),
        ([(0, 5), (5, 5)], None),  # two times are no trend
        ([(0, 3), (1, 3), (3, 3)], None),  # too few
    ],
)
def test_a_trend_needs_three_times_and_a_lean_beyond_chance(counts: list[tuple[int, int]], direction: str | None):
    assert measure_trend([(float(n), score_of(*one)) for n, one in enumerate(counts)])[1] == direction


@QUICK
@given(st.lists(st.tuples(st.integers(0, 50), any_score(20)), max_size=8), st.integers(-1000, 1000))
def test_a_trend_does_not_depend_on_where_time_begins(counts: list[tuple[int, Score]], shift: int):
    here = measure_trend([(float(at), one) for at, one in counts])
    there = measure_trend([(float(at + shift), one) for at, one in counts])
    assume(here[0] is None or abs(here[0] - 0.05) > 1e-6)
    assert here[1] == there[1]
    assert here[0] == pytest.approx(there[0]) if here[0] is not None else there[0] is None
