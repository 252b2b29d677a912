"""The formula of the score as a table of cases, and what must hold for any sessions at all."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.judges.criteria import FLOORS, is_goal_complete
from assay.scores.interval import measure_interval
from assay.scores.prism import (
    LETTERS,
    find_letter,
    grade_interval,
    is_crushed,
    refresh_crushed,
    score_sessions,
)
from assay.types import Failure, Session
from tests.make_report import report_of
from tests.make_sessions import QUICK, SESSIONS, SHUFFLED, missed, session_of
from tests.tables import each_row

CRUSHED: list[tuple[str, dict[str, Any], bool | None]] = [
    ("everything lands", {}, True),
    ("no substance", {"substance": False}, None),
    ("no substance and not complete", {"substance": False, "goal_complete": False}, None),
    ("no goal", {"status": "no_goal", "goal_complete": None}, None),
    ("ungraded", {"status": "ungraded", "goal_complete": None}, None),
    ("ungraded, whatever else was said", {"status": "ungraded"}, None),
    ("opted out", {"status": "opted_out", "goal_complete": None}, None),
    ("trivial", {"status": "trivial", "goal_complete": None}, None),
    ("not complete", {"goal_complete": False}, False),
    ("judged, and yet nothing said", {"goal_complete": None}, False),
    ("reworked", {"rework": "yes"}, False),
    ("not complete and reworked", {"goal_complete": False, "rework": "yes"}, False),
    ("rework open", {"rework": "open"}, True),
    ("rework unknown", {"rework": "unknown"}, True),
    ("rework not judged", {"rework": "not_judged"}, True),
]


@each_row(("case", "asked", "expected"), CRUSHED, ids=[case for case, _, _ in CRUSHED])
def test_a_session_is_crushed_when_all_four_facts_land(case: str, asked: dict[str, Any], expected: bool | None) -> None:
    landing: dict[str, Any] = {"status": "ok", "substance": True, "goal_complete": True, "rework": "no"}
    assert is_crushed(**landing | asked) is expected


@each_row("intent", FLOORS)
@each_row(("above", "value"), [(-0.001, 0.0), (0.0, 100.0), (0.001, 100.0)], ids=["below", "at", "above"])
def test_silence_crushes_from_the_floor_of_the_intent_on(intent: Any, above: float, value: float) -> None:
    confidence = FLOORS[intent] + above
    done = is_goal_complete(intent, "silent", confidence, ())
    one = session_of(intent=intent, goal_complete=done, evidence="silent", confidence=confidence)
    assert score_sessions([one]).value == value


@each_row("intent", FLOORS)
def test_explicit_evidence_needs_no_floor_and_a_failure_signal_beats_it(intent: Any) -> None:
    signal = Failure(kind="frustration", turn=3, quote="still broken")
    assert is_goal_complete(intent, "explicit", 0.01, ())
    assert not is_goal_complete(intent, "explicit", 0.99, (signal,))


def test_the_floors_are_those_of_the_published_table() -> None:
    high, middle, low = ("bug_fix", "feature", "refactor"), ("investigation", "review", "plan"), ("question",)
    expected = dict.fromkeys(high, 0.75) | dict.fromkeys(middle, 0.6) | dict.fromkeys((*low, "small_change"), 0.5)
    assert expected == FLOORS


OUT: list[tuple[str, dict[str, Any]]] = [
    ("trivial", {"facts": {"substance": False}}),
    ("trivial", {"facts": {"substance": False}, "judge_status": "ungraded"}),
    ("trivial", {"judge_status": "trivial"}),
    ("no_goal", {"judge_status": "no_goal", "intent": None}),
    ("opted_out", {"judge_status": "opted_out"}),
    ("ungraded: thin evidence", {"judge_status": "ungraded", "ungraded_reason": "thin evidence"}),
    ("ungraded: no reason given", {"judge_status": "ungraded"}),
]


@each_row("goal", [True, False, None])
@each_row(("why", "more"), OUT)
def test_what_is_excluded_leaves_both_sides_of_the_ratio(why: str, more: dict[str, Any], goal: bool | None) -> None:
    with_it = [session_of(), missed(), session_of(goal_complete=goal, **more)]
    assert score_sessions(with_it) == score_sessions(with_it[:2])
    assert report_of(with_it).exclusions == {why: 1}


def test_exclusions_name_the_commonest_reason_first() -> None:
    found = [session_of(judge_status="no_goal"), session_of(facts={"substance": False}), session_of()]
    found += [session_of(judge_status="opted_out"), session_of(judge_status="opted_out")]
    assert list(report_of(found).exclusions.items()) == [("opted_out", 2), ("no_goal", 1), ("trivial", 1)]


def test_rework_that_turns_later_takes_the_crush_away_and_still_counts() -> None:
    before, after = (
        score_sessions([session_of(rework="open"), missed()]),
        score_sessions([session_of(rework="yes"), missed()]),
    )
    assert (before.value, before.crushed, before.counted, before.rework_open) == (50.0, 1, 2, 1)
    assert (after.value, after.crushed, after.counted, after.rework_open) == (0.0, 0, 2, 0)


def test_the_score_goes_by_what_is_known_now_not_by_what_was_written_down() -> None:
    assert score_sessions([session_of(rework="yes", crushed=True), session_of(crushed=False)]).crushed == 1


def test_open_and_unknown_rework_is_told_of_crushed_sessions_only() -> None:
    states = ("open", "unknown", "unknown", "not_judged", "no")
    found = score_sessions(
        [*(session_of(rework=state) for state in states), missed(rework="open"), missed(rework="unknown")]
    )
    assert (found.crushed, found.counted, found.rework_open, found.rework_unknown) == (5, 7, 1, 2)


def test_a_session_without_the_rework_fact_is_one_of_which_it_is_unknown() -> None:
    assert score_sessions([session_of(facts={"rework": None})]).rework_unknown == 1


@pytest.mark.parametrize("found", [[], [session_of(judge_status="no_goal")], [session_of(facts={"substance": False})]])
def test_nothing_that_counts_is_no_score(found: list[Session]) -> None:
    empty = score_sessions(found)
    assert (empty.value, empty.low, empty.high, empty.counted) == (None, None, None, 0)
    assert (empty.corrected, empty.predicted) == (None, None)


def test_the_value_is_not_rounded() -> None:
    assert score_sessions([*(session_of() for _ in range(5)), missed(), missed()]).value == 500 / 7


INTERVALS = [
    (5, 7, 35.9, 91.8), (0, 10, 0.0, 27.8), (10, 10, 72.2, 100.0), (1, 1, 20.7, 100.0), (0, 1, 0.0, 79.3),
    (1, 2, 9.5, 90.5), (50, 100, 40.4, 59.6), (0, 0, 0.0, 100.0),
]  # fmt: skip


@each_row(("crushed", "counted", "low", "high"), INTERVALS)
def test_the_interval_is_wilsons(crushed: int, counted: int, low: float, high: float) -> None:
    assert tuple(round(end, 1) for end in measure_interval(crushed, counted)) == (low, high)


@given(st.integers(0, 500), st.integers(1, 500))
def test_the_interval_holds_the_value_and_stays_inside_0_and_100(crushed: int, more: int) -> None:
    low, high = measure_interval(crushed, crushed + more)
    assert 0 <= low <= 100 * crushed / (crushed + more) <= high <= 100


def test_the_waterfall_says_where_sessions_drop_out() -> None:
    found = [
        session_of(),
        session_of(rework="yes"),
        missed(),
        session_of(judge_status="ungraded", goal_complete=None),
        session_of(judge_status="ungraded", goal_complete=None, intent=None),
        session_of(judge_status="no_goal", goal_complete=None, intent=None),
        session_of(judge_status="opted_out", goal_complete=None, intent=None),
        session_of(judge_status="trivial", facts={"substance": False}, goal_complete=None),
    ]
    steps = report_of(found, streams=6).waterfall
    assert (steps.streams, steps.sessions, steps.substance, steps.goal) == (6, 8, 7, 4)
    assert (steps.judged, steps.complete, steps.crushed) == (3, 2, 1)


@QUICK
@given(SESSIONS)
def test_each_step_of_the_waterfall_is_a_part_of_the_one_before(found: list[Session]) -> None:
    steps = report_of(found, streams=1).waterfall
    counts = (steps.sessions, steps.substance, steps.goal, steps.judged, steps.complete, steps.crushed)
    assert list(counts) == sorted(counts, reverse=True)


@QUICK
@given(SESSIONS)
def test_waterfall_score_and_exclusions_agree(found: list[Session]) -> None:
    steps, number = report_of(found, streams=1).waterfall, score_sessions(found)
    assert (steps.judged, steps.crushed) == (number.counted, number.crushed)
    assert number.counted + sum(report_of(found).exclusions.values()) == len(found)


@QUICK
@given(SHUFFLED)
def test_the_order_of_sessions_never_matters(pair: tuple[list[Session], list[Session]]) -> None:
    one, other = pair
    assert score_sessions(one) == score_sessions(other)
    assert report_of(one).waterfall == report_of(other).waterfall
    assert list(report_of(one).exclusions.items()) == list(report_of(other).exclusions.items())


@each_row(("least", "name"), LETTERS[:-1])
def test_a_letter_begins_at_its_step(least: float, name: str) -> None:
    names = [step for _, step in LETTERS]
    assert find_letter(least + 0.01) == find_letter(least) == name
    assert find_letter(least - 0.01) == names[names.index(name) + 1]


@each_row(
    ("low", "high", "letter"),
    [
        (90.0, 100.0, "A"), (80.0, 89.99, "B"), (0.0, 59.99, "F"), (60.0, 69.9, "D"), (80.0, 90.0, None),
        (59.9, 60.0, None), (0.0, 100.0, None),
    ],
)  # fmt: skip
def test_a_score_has_a_letter_where_its_whole_interval_has_the_same(
    low: float, high: float, letter: str | None
) -> None:
    assert grade_interval(low, high) == letter


def test_the_score_with_the_small_sessions_stands_beside_the_one_without() -> None:
    small = {"judge_status": "trivial", "facts": {"substance": False}}
    found = refresh_crushed([
        session_of(), session_of(goal_complete=False), session_of(**small), session_of(**small, goal_complete=False),
        session_of(**small), session_of(**small, goal_complete=None), session_of(judge_status="no_goal"),
    ])  # fmt: skip
    tally = report_of(found).small
    assert score_sessions(found).value == 50
    assert tally is not None
    assert (tally.sessions, tally.crushed, tally.value) == (3, 2, 60)
    assert report_of(found[:2]).small is None
