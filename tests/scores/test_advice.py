"""Advice is earned: tested, corrected, shown by sessions, or not given."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from assay.reports.advice import render_advice
from assay.scores import profiles
from assay.scores.advice import CHECK_HABITS, DIMENSION_HABITS, SENTENCES, Advice, build_advice
from assay.scores.quality import ChunkJudgement, QualityJudge, score_quality
from assay.scores.reasons import REASONS
from assay.types import Session
from assay.types.quality import Dimension, Quality
from tests.make_sessions import QUICK, SESSIONS, missed, session_of
from tests.tables import each_row

PROFILE = profiles.load_profile("enhanced")


def group(landed: int, of: int, **more: Any) -> list[Session]:
    return [(session_of if n < landed else missed)(**more) for n in range(of)]


def quality_of(session: Session, **scores: float) -> Quality:
    found = {name: Dimension(score=score, label=None, evidence=[], rationale="") for name, score in scores.items()}
    judge = QualityJudge(name="offline", versions={"quality": "1"})
    return score_quality(session.id, PROFILE, [ChunkJudgement(dimensions=found, own_tokens=1)], judge)


def advise(sessions: Sequence[Session], qualities: Sequence[Quality] = ()) -> Advice:
    return build_advice(sessions, {one.session: one for one in qualities}, PROFILE)


def tell(found: Advice, width: int = 80) -> str:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(render_advice(found))
    return " ".join(captured.get().split())


ASKED, UNASKED = {"verification_requested": True}, {"verification_requested": False}


def test_a_habit_that_goes_with_not_landing_is_told_with_numbers_sessions_and_a_sentence() -> None:
    some = [*group(28, 30, checks=ASKED), *group(10, 30, checks=UNASKED, title="Mend the shed")]
    found = advise(some)
    habit = found.habits[0]
    assert (habit.name, habit.direction, habit.with_it.counted, habit.without.counted) == (
        "verification_requested", "down", 30, 30,
    )  # fmt: skip
    assert (habit.difference.value, habit.is_looked_at) == (pytest.approx(-60), True)
    assert len(habit.sessions) == 2
    assert {one.title for one in habit.sessions} == {"Mend the shed"}
    told = tell(found)
    assert "✗ nobody asked for a check of the result" in told
    assert "landed 33 (10/30) with it, 93 (28/30) without: −60 points, 95 % interval −75 to −37, p < 0.001" in told
    assert "CLAUDE.md After every change run the tests" in told
    assert f"assay eval mine {habit.sessions[0].id}" in told


def test_a_low_dimension_is_a_habit_too() -> None:
    good, poor = group(28, 30), group(10, 30)
    found = advise(
        [*good, *poor],
        [quality_of(one, context_efficiency=score) for some, score in ((good, 0.9), (poor, 0.3)) for one in some],
    )
    assert (found.habits[0].name, found.habits[0].kind, found.habits[0].direction) == (
        "context_efficiency",
        "dimension",
        "down",
    )
    assert not found.habits[0].is_looked_at


def test_how_a_session_ended_is_no_habit() -> None:
    assert not {"goal_achievement", "output_quality"} & DIMENSION_HABITS.keys()
    assert DIMENSION_HABITS.keys() <= {one.name for one in PROFILE.dimensions}


@each_row(
    ("landed", "of", "said"),
    [
        (3, 10, "10 sessions count, and habits can't be told from chance with fewer than 20"),
        (38, 40, "only 2 of 40 counted sessions did not land; it takes 5 to tell a habit"),
        (3, 40, "only 3 of 40 counted sessions landed"),
        (0, 0, "0 sessions count"),
    ],
)
def test_few_sessions_say_nothing_and_that_is_said(landed: int, of: int, said: str) -> None:
    found = advise(group(landed, of, checks=UNASKED))
    assert found.habits == []
    assert f"Of habits nothing can be said: {said}" in tell(found)


def test_what_one_test_would_show_many_need_not() -> None:
    """Seven checks of which one leans: p is 0.02 alone."""
    plain = dict.fromkeys(CHECK_HABITS, True)
    others = [plain | {name: False} for name in CHECK_HABITS if name != "plan_first"]
    some = [one for checks in others for one in group(9, 10, checks=checks)]
    some += group(5, 9, checks=plain | {"plan_first": False})
    found = {one.name: one for one in advise(some).habits}["plan_first"]
    assert (found.difference.p_value or 1) < 0.05
    assert (found.p_corrected or 0) > 0.05
    assert found.direction is None
    told = tell(advise(some))
    assert "No habit is shown to go with not landing, of 7 that could be tested" in told
    assert "no plan came first 5/9" in told


def test_a_habit_with_which_more_land_is_not_advised_against() -> None:
    found = advise([*group(10, 30, checks=ASKED), *group(28, 30, checks=UNASKED)])
    assert found.habits[0].direction == "up"
    told = tell(found)
    assert "lands more" in told
    assert "✗" not in told


def test_habits_that_hardly_anybody_has_are_not_tested() -> None:
    found = advise([*group(28, 30, checks=ASKED), *group(0, 4, checks=UNASKED)])
    assert (found.habits[0].p_corrected, found.habits[0].direction) == (None, None)
    assert "too few" in tell(found)


def test_only_the_judge_that_judged_most_is_heard() -> None:
    found = advise([*group(15, 30), *group(0, 9, judge="anthropic")])
    assert (found.counted, found.left_out, found.judge) == (30, 9, "offline")
    assert "9 sessions by another judge left out" in tell(found)


def test_what_ended_sessions_is_counted_with_its_share_and_interval() -> None:
    some = [*group(3, 3), *(missed(intent="feature") for _ in range(3)), missed(intent="question")]
    ending = advise(some).endings[0]
    assert (ending.reason, ending.count, ending.share, len(ending.sessions)) == ("unverified", 3, 75.0, 2)
    assert (round(ending.low), round(ending.high)) == (30, 95)
    assert "3 × nothing shows that the change works 75 % of them (30–95)" in tell(advise(some))


def test_the_file_is_the_one_that_the_agent_reads() -> None:
    assert advise(group(1, 3)).file == "CLAUDE.md"
    assert advise([*group(1, 3), *group(1, 4, agent="codex")]).file == "AGENTS.md"


def test_every_reason_has_a_sentence_but_those_that_no_agent_is_to_blame_for() -> None:
    assert REASONS.keys() - SENTENCES.keys() == {"service", "unanswered", "person"}
    sentences = [*SENTENCES.values(), *(one for _, one in (CHECK_HABITS | DIMENSION_HABITS).values())]
    assert all(one.endswith(".") and len(one.split()) <= 25 for one in sentences)


@settings(QUICK, max_examples=15)
@given(SESSIONS, st.floats(0, 1), st.data())
def test_any_sessions_can_be_advised_about_whatever_their_order(
    some: list[Session], score: float, data: st.DataObject
) -> None:
    many = some * 4
    qualities = [quality_of(one, tool_efficiency=score, error_handling=round(3 * score)) for one in some[::2]]
    found = advise(many, qualities)
    assert advise(data.draw(st.permutations(many)), qualities) == found
    assert tell(found)
    assert all(one.sessions or one.with_it.counted == one.with_it.crushed for one in found.habits)
