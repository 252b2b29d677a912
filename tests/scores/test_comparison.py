"""Two groups of sessions: the second less the first, what is on both sides on neither."""

from datetime import UTC
from typing import Any

import pytest
from hypothesis import given, settings
from rich.console import Console

from assay.reports.comparison import render_comparison
from assay.scores.comparison import ScoreComparison, compare_groups
from assay.types import Session
from tests.make_sessions import QUICK, SESSIONS, missed, session_of
from tests.tables import each_row


def group(crushed: int, of: int, **more: Any) -> list[Session]:
    return [(session_of if n < crushed else missed)(**more) for n in range(of)]


def compare(first: list[Session], second: list[Session]) -> ScoreComparison:
    return compare_groups(("then", first), ("now", second), UTC)


def tell(found: ScoreComparison, width: int = 80) -> str:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(render_comparison(found, width))
    return captured.get()


@each_row(
    ("first", "second", "direction", "said"),
    [
        ((2, 20), (18, 20), "up", "+80 points, 95 % interval +52 to +90, p < 0.001: ↑ better"),
        ((18, 20), (2, 20), "down", "−80 points, 95 % interval −90 to −52, p < 0.001: ↓ worse"),
        ((10, 20), (12, 20), None, "p = 0.751: no difference shown"),
        ((4, 4), (0, 4), None, "a side with fewer than 5 counted sessions shows nothing"),
        ((9, 10), (0, 0), None, "nothing counts in “now”: there is no difference to speak of"),
    ],
)
def test_a_difference_is_told_as_far_as_numbers_carry_it(
    first: tuple[int, int], second: tuple[int, int], direction: str | None, said: str
) -> None:
    found = compare(group(*first), [*group(*second), session_of(judge_status="no_goal")])
    assert found.difference.direction == direction
    assert said in tell(found)


def test_sessions_on_both_sides_count_on_neither() -> None:
    shared = group(1, 3)
    found = compare([*group(1, 2), *shared], [*shared, *group(2, 2)])
    assert (found.on_both, [one.score.counted for one in found.sides]) == (3, [2, 2])
    assert "3 sessions on both sides: left out" in tell(found)


def test_what_different_judges_said_is_not_compared() -> None:
    found = compare(group(0, 20), group(20, 20, judge_versions={"outcome": "0"}))
    assert found.difference.direction is None
    assert "not comparable: judged in different ways" in tell(found)


def test_what_stands_beside_is_of_each_side() -> None:
    told = tell(compare(group(5, 5, day=0, aim="change"), group(5, 5, day=3, aim="read")))
    rows = {line[:26].strip(): line[26:].split() for line in told.partition("Beside it")[2].splitlines()}
    assert rows["first began"] == ["2026-03-02", "2026-03-05"]
    assert rows["asked for a change"] == ["100", "%", "0", "%"]


@each_row(("n", "points"), [(10, 62.6), (100, 19.8), (1000, 6.3)])
def test_more_sessions_show_smaller_differences(n: int, points: float) -> None:
    found = compare(group(n // 2, n), group(n // 2, n))
    assert found.detectable == pytest.approx(points, abs=0.1)


@settings(QUICK, max_examples=15)
@given(SESSIONS, SESSIONS)
def test_any_two_groups_can_be_compared_and_shown(some: list[Session], others: list[Session]) -> None:
    found, turned = compare(some, [*others, *some[:1]]), compare([*others, *some[:1]], some)
    assert (found.difference.value is None) is (turned.difference.value is None)
    assert found.difference.p_value == pytest.approx(turned.difference.p_value)
    assert max(map(len, tell(found).splitlines())) <= 80
