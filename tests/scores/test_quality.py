"""Chunks put together: numbers by their own tokens, categories as the profile says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.scores.profiles import hash_profile, load_profile
from assay.scores.quality import ChunkJudgement, QualityJudge, score_quality
from assay.types import Citation
from assay.types.quality import Dimension, Quality
from tests.tables import each_row

OFFLINE = QualityJudge(name="offline", versions={"quality": "0123456789ab"})
NUMBER, CATEGORY = "tool_efficiency", "goal_achievement"


def said(score: float | None, *quotes: tuple[int, str], ungraded: str = "") -> Dimension:
    cited = [Citation(turn=turn, quote=quote) for turn, quote in quotes]
    return Dimension(score=score, label=None, evidence=cited, rationale=f"because {score}", ungraded=ungraded)


def of_chunks(name: str, *chunks: tuple[float | None, int], profile: str = "enhanced") -> Dimension:
    judged = [ChunkJudgement(dimensions={name: said(score)}, own_tokens=tokens) for score, tokens in chunks]
    return score_quality("s1", load_profile(profile), judged, OFFLINE).dimensions[name]


def whole(profile: str = "enhanced", **scores: float) -> Quality:
    judged = ChunkJudgement(dimensions={name: said(score) for name, score in scores.items()}, own_tokens=10)
    return score_quality("s1", load_profile(profile), [judged], OFFLINE)


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([(0.5, 100)], 0.5),
        ([(1.0, 60_000), (0.0, 20_000)], 0.75),
        ([(0.9, 10), (0.5, 10), (0.1, 20)], 0.4),
        ([(0.8, 10), (None, 1_000)], 0.8),  # what a chunk does not show is not counted against it
        ([(0.2, 0), (0.6, 0)], 0.4),
        ([(None, 10), (None, 10)], None),
    ],
)
def test_numbers_are_averaged_by_own_tokens(chunks: list[tuple[float | None, int]], expected: float | None) -> None:
    assert of_chunks(NUMBER, *chunks).score == (expected if expected is None else pytest.approx(expected))


@each_row(
    ("profile", "name", "scores", "expected"),
    [
        ("enhanced", "goal_achievement", [0, 1, 2], 2),
        ("enhanced", "goal_achievement", [3, 3, 0], 0),
        ("classic", "error_recovery", [2, 2, 0], 0),
        ("revised", "task_completion", [2, 2, 0], 2),
        ("revised", "task_completion", [0, 2, 1], 1),  # all equally often: the latest
        ("revised", "task_completion", [1, 0, 0, 1, 3], 1),  # a tie: the later of the two
        ("revised", "task_completion", [0, 1, 1, 0, 3], 0),
        ("revised", "user_satisfaction", [None, 2, None], 2),
    ],
)
def test_categories_come_from_the_final_chunk_or_from_most(
    profile: str, name: str, scores: list[float | None], expected: int
) -> None:
    found = of_chunks(name, *((score, 10) for score in scores), profile=profile)
    assert found.score == expected
    scale = load_profile(profile).scale(name)
    assert scale
    assert found.label == scale.categories[expected].label


def test_what_only_the_final_chunk_can_tell_is_ungraded_where_that_says_nothing() -> None:
    found = of_chunks(CATEGORY, (3, 10), (2, 30), (None, 60))
    assert (found.score, found.label) == (None, None)
    assert found.ungraded.startswith("the final chunk, which decides, can't be used")
    assert found.chunk_scores == [3, 2, None]


def test_what_each_chunk_says_and_how_much_of_the_session_that_is_are_told() -> None:
    found = of_chunks(NUMBER, (0.5, 30), (None, 60), (0.9, 10))
    assert (found.chunk_scores, found.coverage) == ([0.5, None, 0.9], pytest.approx(0.4))
    assert found.score == pytest.approx(0.6)
    whole = of_chunks(NUMBER, (0.5, 30))
    assert (whole.chunk_scores, whole.coverage) == ([], None)


def test_a_dimension_may_ask_for_another_way_than_its_profile() -> None:
    profile = load_profile("enhanced")
    others = tuple(replace(one, across="majority") if one.name == CATEGORY else one for one in profile.dimensions)
    judged = [ChunkJudgement(dimensions={CATEGORY: said(score)}, own_tokens=1) for score in (2, 2, 0)]
    assert score_quality("s1", replace(profile, dimensions=others), judged, OFFLINE).dimensions[CATEGORY].score == 2


def test_what_nobody_scored_is_ungraded_and_says_why() -> None:
    judged = ChunkJudgement(dimensions={NUMBER: said(None, ungraded="no calls")}, own_tokens=1)
    found = score_quality("s1", load_profile("enhanced"), [judged], OFFLINE)
    assert found.dimensions[NUMBER].ungraded == "no calls"
    assert all(one.score is None and one.ungraded for one in found.dimensions.values())
    assert found.overall_quality is None
    assert found.computed_from == []
    assert found.missing == list(found.dimensions)


def test_the_overall_says_what_it_was_computed_from() -> None:
    found = whole(goal_achievement=2, tool_efficiency=0.8, process_adherence=0.7)
    assert found.computed_from == ["goal_achievement", "tool_efficiency", "process_adherence"]
    assert found.missing == ["context_efficiency", "error_handling", "output_quality"]
    assert found.overall_quality == pytest.approx((0.2 + 0.16 + 0.14) / 0.7)
    assert (found.judge, found.judge_versions, found.chunks) == ("offline", OFFLINE.versions, 1)
    assert found.profile_version == hash_profile(load_profile("enhanced"))


def test_citations_of_chunks_are_counted_through_the_session_and_stand_once() -> None:
    first = ChunkJudgement(dimensions={NUMBER: said(0.5, (1, "a"), (9, "b"))}, own_tokens=1)
    second = ChunkJudgement(dimensions={NUMBER: said(0.7, (3, "b"), (5, "c"))}, own_tokens=1, first=6)
    found = score_quality("s1", load_profile("enhanced"), [first, second], OFFLINE).dimensions[NUMBER]
    assert [(one.turn, one.quote) for one in found.evidence] == [(1, "a"), (9, "b"), (11, "c")]
    assert "[1] 0.50: because 0.5" in found.rationale
    assert "[2] 0.70: because 0.7" in found.rationale


def test_a_label_follows_the_score_whatever_the_judge_called_it() -> None:
    judged = replace(said(0.95), label="dreadful")
    found = score_quality(
        "s1", load_profile("enhanced"), [ChunkJudgement(dimensions={NUMBER: judged}, own_tokens=1)], OFFLINE
    )
    assert found.dimensions[NUMBER].label == "excellent"


@given(st.lists(st.tuples(st.none() | st.floats(0, 1), st.integers(0, 90_000)), min_size=1, max_size=8))
def test_a_mean_stays_between_what_it_was_made_of(chunks: list[tuple[float | None, int]]) -> None:
    found = of_chunks(NUMBER, *chunks).score
    scores = [score for score, _ in chunks if score is not None]
    assert (found is None) == (not scores)
    if found is not None:
        assert min(scores) - 1e-9 <= found <= max(scores) + 1e-9
