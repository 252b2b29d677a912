"""Many sessions' quality: means with intervals, what pulls them down, groups and order."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console, Group

from assay.reports.quality_means import render_groups, render_means
from assay.scores import profiles
from assay.scores.quality import ChunkJudgement, QualityJudge, score_quality
from assay.scores.quality_means import build_group, build_groups, find_quantile, sort_qualities
from assay.types.quality import Dimension, Quality
from tests.make_sessions import QUICK
from tests.tables import each_row

PROFILE = profiles.load_profile("enhanced")
NAMES = [one.name for one in PROFILE.dimensions]


def quality_of(session: str, judge: str = "offline", **scores: float | None) -> Quality:
    found = {name: Dimension(score=score, label=None, evidence=[], rationale="") for name, score in scores.items()}
    by = QualityJudge(name=judge, versions={"quality": "1"})
    return score_quality(session, PROFILE, [ChunkJudgement(dimensions=found, own_tokens=1)], by)


@st.composite
def any_quality(draw: st.DrawFn) -> Quality:
    scores: dict[str, Any] = {
        one.name: draw(st.none() | (st.floats(0, 1) if one.kind == "numeric" else st.integers(0, 3)))
        for one in PROFILE.dimensions
    }
    return quality_of(draw(st.text("abc", min_size=1, max_size=2)), **scores)


QUALITIES = st.lists(any_quality(), max_size=8)
GOOD = dict.fromkeys(NAMES, 1.0) | {"goal_achievement": 3, "error_handling": 3}


def test_the_mean_of_a_dimension_is_of_those_that_have_it() -> None:
    some = [quality_of(str(score), **GOOD | {"tool_efficiency": score}) for score in (1.0, 0.5, None)]
    found = {one.name: one for one in build_group("all", some, PROFILE).dimensions}["tool_efficiency"]
    assert (found.scored, found.mean) == (2, 0.75)
    assert (found.low, found.high) == (0.0, 1.0)


@each_row(("freedom", "quantile"), [(1, 12.706), (10, 2.228), (11, 2.201), (30, 2.042), (1000, 1.962)])
def test_an_interval_is_wide_where_few_were_measured(freedom: int, quantile: float) -> None:
    assert find_quantile(freedom) == pytest.approx(quantile, abs=0.01)


def test_what_pulls_quality_down_most_is_told_first() -> None:
    some = [quality_of("a", **GOOD | {"goal_achievement": 0}), quality_of("b", **GOOD | {"error_handling": 0})]
    group = build_group("all", some, PROFILE)
    pulls = {one.name: one.pull for one in group.dimensions if one.pull}
    assert pulls == {"goal_achievement": pytest.approx(0.15), "error_handling": pytest.approx(0.05)}
    console = Console(width=80, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(Group(*render_means(group, 80)))
    lines = captured.get().splitlines()
    assert lines[1].startswith("mean quality 0.80 (")
    assert [line.split("  ")[0] for line in lines[2:4]] == ["goal achievement", "error handling"]
    assert lines[2].rstrip().endswith("pulls it down by 0.15")


def test_several_judges_are_told() -> None:
    group = build_group("all", [quality_of("a", **GOOD), quality_of("b", judge="anthropic", **GOOD)], PROFILE)
    assert group.judges == ["anthropic", "offline"]
    assert "not comparable" in str(render_means(group, 80)[-1])


@QUICK
@given(QUALITIES, st.data())
def test_quality_and_all_that_pulls_it_down_make_one_whatever_the_order(
    some: list[Quality], data: st.DataObject
) -> None:
    group = build_group("all", some, PROFILE)
    if group.mean is not None:
        assert group.mean + sum(one.pull or 0 for one in group.dimensions) == pytest.approx(1)
        assert group.low is None or group.high is None or 0 <= group.low <= group.mean <= group.high <= 1
    assert build_group("all", data.draw(st.permutations(some)), PROFILE) == group


@QUICK
@given(QUALITIES, st.sampled_from(["quality", *NAMES]))
def test_the_worst_come_first_and_the_ungraded_last(some: list[Quality], by: str) -> None:
    found = sort_qualities(some, by, PROFILE)
    values = [one.overall_quality if by == "quality" else one.dimensions[by].score for one in found]
    known = [one for one in values if one is not None]
    assert known == sorted(known)
    assert values[: len(known)] == known
    assert sorted(map(id, found)) == sorted(map(id, some))


@settings(QUICK, max_examples=15)
@given(QUALITIES, st.sampled_from(["project", "model", "month"]))
def test_every_session_is_in_one_group_and_any_group_can_be_shown(some: list[Quality], by: str) -> None:
    groups = build_groups(some, PROFILE, lambda session: session[0], is_time=by == "month")
    assert sum(one.sessions for one in groups) == len(some)
    order = [one.name for one in groups] if by == "month" else [-one.scored for one in groups]
    assert order == sorted(order)
    console = Console(width=80, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(Group(*render_groups(groups, by, 80)))
    assert max(map(len, captured.get().splitlines())) <= 80
