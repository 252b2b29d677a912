"""What a profile and a judged session come to in Langfuse."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.langfuse import (
    ScoreTarget,
    ScoreWrite,
    build_configs,
    build_id,
    build_quality_scores,
    ensure_configs,
    name_score,
    write_scores,
)
from assay.langfuse.configs import NAME
from assay.langfuse.scores import build_body
from assay.scores import profiles
from assay.types import Citation, CleanText
from assay.types.quality import Dimension, Quality
from tests.langfuse.conftest import client_of
from tests.langfuse.contract import CheckedServer

Make = Callable[..., CheckedServer]
TARGET = ScoreTarget(session="s1", timestamp="2026-11-10T09:00:00Z")
OVERALL = 0.625


def judged(name: str, ungraded: str = "") -> Quality:
    """A session with the best score in every dimension but one."""
    profile = profiles.load_profile(name, [])
    found = {}
    for scale in profile.dimensions:
        best = 3.0 if scale.kind == "categorical" else 0.875
        is_graded = scale.name != ungraded
        cited = [Citation(turn=1, quote="the key is hunter2")]
        found[scale.name] = Dimension(
            score=best if is_graded else None,
            label=scale.label(best) if is_graded else None,
            evidence=cited if is_graded else [],
            rationale="It said hunter2.",
            ungraded="" if is_graded else "too little of it",
        )
    return Quality(
        session="ab12",
        profile=name,
        profile_version=profiles.hash_profile(profile),
        dimensions=found,
        overall_quality=OVERALL,
        computed_from=[one for one in found if one != ungraded],
        missing=[ungraded] if ungraded else [],
        chunks=1,
        judge="offline",
        judge_versions={"quality": "q1"},
    )


def clean(text: str) -> CleanText:
    return CleanText(text.replace("hunter2", "[redacted]"))


def derived(
    name: str, target: ScoreTarget = TARGET, ungraded: str = "", ids: dict[str, str] | None = None
) -> list[ScoreWrite]:
    return build_quality_scores(judged(name, ungraded), profiles.load_profile(name, []), target, ids or {}, clean)


@pytest.mark.parametrize("name", profiles.SHIPPED)
def test_every_profile_is_set_up_and_its_scores_are_stored(make: Make, name):
    standin = make()
    client = client_of(standin)
    profile = profiles.load_profile(name, [])
    report = ensure_configs(client, build_configs(profile))
    assert len(report.created) == len(profile.dimensions) + 1
    done = write_scores(client, derived(name, ids=report.ids))
    assert done.not_stored == ()
    assert len(done.stored) == len(profile.dimensions) + 1
    kept = {row["name"]: row["body"] for row in standin.scores.values()}
    assert kept[name_score(name, "overall_quality")]["value"] == OVERALL
    assert all(one["configId"] == report.ids[one["name"]] for one in kept.values())
    for scale in profile.dimensions:
        assert kept[name_score(name, scale.name)]["value"] == (
            scale.categories[-1].label if scale.categories else 0.875
        )


def test_what_is_ungraded_gives_no_score_and_the_whole_says_so():
    names = {one.name: one for one in derived("enhanced", ungraded="tool_efficiency")}
    assert "tool_efficiency" not in names
    assert "without tool_efficiency" in names["overall_quality"].comment
    assert names["overall_quality"].metadata["missing"] == ["tool_efficiency"]


def test_words_of_the_transcript_are_cleaned():
    assert not [one for one in derived("enhanced") if "hunter2" in str(one.metadata) + one.comment]
    assert [one for one in derived("enhanced") if "[redacted]" in str(one.metadata)]


def test_scores_of_one_name_are_told_apart_by_profile_trace_and_part():
    targets = [
        TARGET,
        ScoreTarget(session="s1", timestamp="x", trace="t"),
        ScoreTarget(session="s1", timestamp="x", part="p2"),
    ]
    ids = [build_id(one) for name in ("enhanced", "classic") for target in targets for one in derived(name, target)]
    assert len(set(ids)) == len(ids) == 42


def test_the_time_of_writing_does_not_change_what_a_score_is():
    later = ScoreTarget(session="s1", timestamp="2026-12-24T00:00:00Z")
    assert [build_id(one) for one in derived("enhanced")] == [build_id(one) for one in derived("enhanced", later)]


@given(st.text("abcdefgh_", min_size=1, max_size=60), st.text("ijkl -", min_size=1, max_size=60))
def test_a_score_is_called_after_its_profile_in_a_name_that_langfuse_takes(name, profile):
    found = name_score(profile, name)
    assert NAME.fullmatch(found)
    assert found != name_score(f"{profile}x", name)
    assert found != name_score(profile, f"{name}x")


def test_the_default_profile_has_plain_names():
    assert name_score("enhanced", "tool_efficiency") == "tool_efficiency"
    assert name_score("revised", "tool_mastery") == "tool_mastery (revised)"


def test_the_environment_of_a_session_is_that_of_its_scores():
    staging = ScoreTarget(session="s1", timestamp="x", environment="staging")
    assert {build_body(one)["environment"] for one in derived("enhanced", staging)} == {"staging"}
    default = ScoreTarget(session="s1", timestamp="x", environment="default")
    assert [build_id(one) for one in derived("enhanced", default)] == [build_id(one) for one in derived("enhanced")]
