"""Profiles: what is shipped, what is refused and why, and all that derives from one."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.errors import BadInput
from assay.judges.offline.quality import SIGNALS
from assay.scores.profiles import (
    SHIPPED,
    average_scores,
    build_reply_schema,
    hash_profile,
    list_folders,
    list_profiles,
    list_score_definitions,
    load_profile,
    render_criteria,
)
from assay.types.quality import Profile
from tests.tables import each_row

WEIGHTS = {
    "enhanced": {
        "goal_achievement": 0.30, "tool_efficiency": 0.20, "process_adherence": 0.20, "context_efficiency": 0.15,
        "error_handling": 0.10, "output_quality": 0.05,
    },
    "revised": {
        "task_completion": 0.30, "execution_quality": 0.25, "tool_mastery": 0.20, "resource_efficiency": 0.15,
        "security_compliance": 0.05, "user_satisfaction": 0.05,
    },
    "classic": {
        "instruction_following": 0.25, "task_completion": 0.25, "context_efficiency": 0.20,
        "tool_appropriateness": 0.15, "error_recovery": 0.10, "cost_efficiency": 0.05,
    },
}  # fmt: skip
CATEGORIES = {
    "goal_achievement": ["failed", "partial", "complete", "exceeded"],
    "error_handling": ["poor", "struggled", "recovered", "prevented"],
    "task_completion": ["failed", "partial", "complete", "exceeded"],
}

OWN = """
about = "How a review was done"
[[dimensions]]
name = "depth"
kind = "numeric"
weight = 0.75
asks = "How deep did it look?"
bands = [
  { low = 0.0, high = 0.5, label = "shallow", means = "at the surface" },
  { low = 0.5, high = 1.0, label = "deep", means = "to the ground" },
]
signals = ["rereads"]
[[dimensions]]
name = "tone"
kind = "categorical"
weight = 0.25
asks = "How was it said?"
categories = [
  { value = 0, label = "rude", means = "a" },
  { value = 1, label = "curt", means = "b" },
  { value = 2, label = "kind", means = "c" },
  { value = 3, label = "warm", means = "d" },
]
"""


def own(tmp_path: Path, *changes: tuple[str, str], name: str = "review.toml") -> Path:
    text = OWN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / name
    path.write_text(text)
    return path


# --- what is shipped --------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_profile_has_the_weights_of_the_design(name: str) -> None:
    assert {one.name: one.weight for one in load_profile(name).dimensions} == WEIGHTS[name]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_profile_names_signals_that_exist_for_every_dimension(name: str) -> None:
    assert all(one.signals and set(one.signals) <= set(SIGNALS) for one in load_profile(name).dimensions)


@pytest.mark.parametrize(("dimension", "labels"), CATEGORIES.items())
def test_categories_are_called_as_the_design_calls_them(dimension: str, labels: list[str]) -> None:
    found = [one for name in SHIPPED if (one := load_profile(name).scale(dimension))]
    assert found
    assert all([step.label for step in one.categories] == labels for one in found)


def test_profiles_that_share_a_dimension_agree_on_its_config() -> None:
    """Langfuse has one config of a name: two of another shape could not both be written."""
    seen: dict[str, Any] = {}
    for name in SHIPPED:
        for config in list_score_definitions(load_profile(name)):
            shape = (config.type, config.min, config.max, config.categories)
            assert seen.setdefault(config.name, shape) == shape


# --- the weighted mean ------------------------------------------------------------------------

FORMULAS = [
    ("enhanced", [3, 1.0, 1.0, 1.0, 3, 1.0], 1.0),
    ("enhanced", [0, 0.0, 0.0, 0.0, 0, 0.0], 0.0),
    # 2/3*.3 + .8*.2 + .7*.2 + .6*.15 + 1/3*.1 + .9*.05 = .2 + .16 + .14 + .09 + .033333 + .045
    ("enhanced", [2, 0.8, 0.7, 0.6, 1, 0.9], 0.668333333333),
    # 1/3*.3 + .5*.55 + 2/3*.1 + .5*.05 = .1 + .275 + .066667 + .025
    ("enhanced", [1, 0.5, 0.5, 0.5, 2, 0.5], 0.466666666667),
    # without error_handling: (.2 + .16 + .14 + .09 + .045) / .9
    ("enhanced", [2, 0.8, 0.7, 0.6, None, 0.9], 0.705555555556),
    # goal and tools alone are half of the weight: (.3 + .1) / .5
    ("enhanced", [3, 0.5, None, None, None, None], 0.8),
    # tools, context and output: .4 of the weight is too little
    ("enhanced", [None, 0.9, None, 0.9, None, 0.9], None),
    ("enhanced", [None] * 6, None),
    # .2 + .9*.25 + .8*.2 + .7*.15 + 1*.05 + 2/3*.05 = .2 + .225 + .16 + .105 + .05 + .033333
    ("revised", [2, 0.9, 0.8, 0.7, 3, 2], 0.773333333333),
    # nothing of security and nothing said by the person: (.2 + .225 + .16 + .105) / .9
    ("revised", [2, 0.9, 0.8, 0.7, None, None], 0.766666666667),
    # 0 + .1 + .06 + .03 + 0 + 0
    ("revised", [0, 0.4, 0.3, 0.2, 0, 0], 0.19),
    # .6*.25 + 1/3*.25 + .5*.2 + .4*.15 + 1*.1 + .2*.05 = .15 + .083333 + .1 + .06 + .1 + .01
    ("classic", [0.6, 1, 0.5, 0.4, 3, 0.2], 0.503333333333),
    # without cost: (.15 + .083333 + .1 + .06 + .1) / .95
    ("classic", [0.6, 1, 0.5, 0.4, 3, None], 0.519298245614),
]


@each_row(("name", "scores", "expected"), FORMULAS)
def test_the_overall_quality_is_what_is_reckoned_by_hand(
    name: str, scores: list[float | None], expected: float | None
) -> None:
    profile = load_profile(name)
    given = dict(zip(WEIGHTS[name], scores, strict=True))
    found = average_scores(profile, given)
    assert found.value == (expected if expected is None else pytest.approx(expected, abs=1e-11))
    assert found.missing == [name for name, score in given.items() if score is None]
    assert found.computed_from == ([] if expected is None else [one for one in given if one not in found.missing])


def test_a_profile_may_want_every_dimension() -> None:
    strict = replace(load_profile("enhanced"), missing="none")
    scores: dict[str, float | None] = dict.fromkeys(WEIGHTS["enhanced"], 1.0)
    assert average_scores(strict, scores).value is not None
    assert average_scores(strict, scores | {"output_quality": None}).value is None


@given(st.data(), st.sampled_from(SHIPPED))
def test_the_overall_quality_stays_between_its_dimensions(data: st.DataObject, name: str) -> None:
    profile = load_profile(name)
    scores = {
        one.name: data.draw(
            st.none() | (st.floats(0, 1) if one.kind == "numeric" else st.integers(0, 3)), label=one.name
        )
        for one in profile.dimensions
    }
    found = average_scores(profile, scores).value
    parts = [
        score / 3 if one.kind == "categorical" else score
        for one in profile.dimensions
        if (score := scores[one.name]) is not None
    ]
    assert found is None or min(parts) - 1e-9 <= found <= max(parts) + 1e-9


# --- one's own --------------------------------------------------------------------------------


def test_an_own_profile_is_called_as_its_file_is(tmp_path: Path) -> None:
    found = load_profile(str(own(tmp_path)))
    assert found.name == "review"
    assert average_scores(found, {"depth": 0.5, "tone": 3}).value == pytest.approx(0.625)


def test_an_own_profile_is_found_beside_the_settings(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text("")
    (tmp_path / "profiles").mkdir()
    (tmp_path / "deep" / "down").mkdir(parents=True)
    own(tmp_path / "profiles")
    where = list_folders({"HOME": "/nonexistent"}, tmp_path / "deep" / "down")
    assert load_profile("review", where).name == "review"
    assert [one.name for one in list_profiles(where)] == [*SHIPPED, "review"]


FAULTS = [
    (("weight = 0.75", "weight = 0.70"), ["weights sum to 0.95, not 1", "+0.05"]),
    (("weight = 0.75", "weight = -0.75"), ["'depth'", "weight = -0.75", "above 0"]),
    (("weight = 0.75", "weight = nan"), ["'depth'", "weight = nan"]),
    (("low = 0.5, high = 1.0", "low = 0.6, high = 1.0"), ["gap between 0.5 and 0.6", "low = 0.5"]),
    (("low = 0.5, high = 1.0", "low = 0.4, high = 1.0"), ["overlap between 0.5 and 0.4"]),
    (("low = 0.5, high = 1.0", "low = 0.5, high = 0.9"), ["end at 0.9, not at 1"]),
    (("low = 0.0, high = 0.5", "low = 0.1, high = 0.5"), ["gap between 0 and 0.1"]),
    (('label = "deep"', 'label = "shallow"'), ["'shallow' stands twice"]),
    (("value = 1,", "value = 2,"), ["[0, 2, 2, 3]", "0, 1, 2, 3"]),
    (("value = 3,", "value = 4,"), ["[0, 1, 2, 4]"]),
    (('name = "depth"', f'name = "{"d" * 36}"'), ["36 characters", "35"]),
    (('name = "depth"', 'name = "depth: how"'), ["letters, digits"]),
    (('name = "depth"', 'name = "tone"'), ["two dimensions are called 'tone'"]),
    (('name = "depth"', 'name = "overall_quality"'), ["overall_quality is the name"]),
    (("weight = 0.75", "wieght = 0.75"), ["dimensions[0].wieght", "did you mean weight?"]),
    (("about =", "abuot ="), ["abuot", "did you mean about?"]),
    (("high = 0.5, label", "hihg = 0.5, label"), ["dimensions[0].bands[0].hihg", "did you mean high?"]),
    (('kind = "numeric"', 'kind = "number"'), ["dimensions[0].kind", "number"]),
    (('kind = "numeric"', 'kind = "categorical"'), ["bands though it is categorical"]),
    (("weight = 0.75", 'weight = "much"'), ["dimensions[0].weight"]),
    (('signals = ["rereads"]', 'signals = ["reread"]'), ["'reread' is not known", "did you mean rereads?"]),
    (('asks = "How deep did it look?"', 'asks = " "'), ["asks is empty"]),
    (('signals = ["rereads"]', 'across = "majority"'), ["for a numeric dimension give mean"]),
    (("[[dimensions]]", "least = 2\n[[dimensions]]"), ["least = 2"]),
    (('about = "How a review was done"', "about = "), ["no valid TOML"]),
]


@pytest.mark.parametrize(("change", "said"), FAULTS)
def test_a_fault_is_told_with_its_place_and_a_way_out(change: tuple[str, str], said: list[str], tmp_path: Path) -> None:
    path = own(tmp_path, change)
    with pytest.raises(BadInput) as caught:
        load_profile(str(path))
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message or "TOML" in message
    assert all(words in message for words in said), message


@pytest.mark.parametrize(
    ("name", "said"),
    [("enhansed", "did you mean enhanced?"), ("nothing like it", "there are: enhanced, revised, classic")],
)
def test_an_unknown_name_is_answered_with_those_that_exist(name: str, said: str) -> None:
    with pytest.raises(BadInput, match=said.replace("?", r"\?")):
        load_profile(name)


def test_a_shipped_name_is_taken(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="call the file something else"):
        load_profile(str(own(tmp_path, name="classic.toml")))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", b"x = " + b"[" * 9000])
def test_a_file_that_is_no_profile_is_told_apart_from_a_bug(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_bytes(content)
    with pytest.raises(BadInput):
        load_profile(str(path))
    with pytest.raises(BadInput, match="can't be read"):
        load_profile(str(tmp_path / "absent.toml"))


# --- what derives from it ---------------------------------------------------------------------


@pytest.fixture(params=SHIPPED)
def profile(request: pytest.FixtureRequest) -> Profile:
    return load_profile(request.param)


def test_the_schema_asks_for_the_reason_before_the_score(profile: Profile) -> None:
    asked = json.loads(build_reply_schema(profile))
    assert list(asked["properties"]) == asked["required"] == [one.name for one in profile.dimensions]
    for scale in profile.dimensions:
        reply = asked["properties"][scale.name]
        assert list(reply["properties"]) == reply["required"] == ["evidence", "rationale", "score"]
        assert reply["additionalProperties"] is False
        graded, nothing = reply["properties"]["score"]["anyOf"]
        assert nothing == {"type": "null"}
        assert graded.get("enum") == ([0, 1, 2, 3] if scale.kind == "categorical" else None)
        cited = reply["properties"]["evidence"]["items"]
        assert list(cited["properties"]) == cited["required"] == ["turn", "quote"]


def test_the_criteria_hold_every_question_and_step_and_no_weight(profile: Profile) -> None:
    text = render_criteria(profile)
    for scale in profile.dimensions:
        assert all(one in text for one in (scale.name, scale.asks, *scale.look_for))
        assert all(step.label in text and step.means in text for step in (*scale.bands, *scale.categories))
    assert "weight" not in text
    assert text.count("or null where the transcript shows nothing") == len(profile.dimensions)


def test_the_configs_are_what_langfuse_takes(profile: Profile) -> None:
    found = list_score_definitions(profile)
    assert [one.name for one in found] == [*(one.name for one in profile.dimensions), "overall_quality"]
    assert all(0 < len(one.name) <= 35 for one in found)
    for one in found:
        if one.type == "NUMERIC":
            assert (one.min, one.max, one.categories) == (0.0, 1.0, ())
        else:
            assert [value for _, value in one.categories] == [0, 1, 2, 3]
            assert one.min is one.max is None


@pytest.mark.parametrize(
    ("score", "expected"),
    [(0.0, "poor"), (0.3999, "poor"), (0.4, "mixed"), (0.7, "good"), (0.9, "excellent"), (1.0, "excellent")],
)
def test_an_upper_end_belongs_to_the_next_band(score: float, expected: str) -> None:
    scale = load_profile("enhanced").scale("tool_efficiency")
    assert scale
    assert scale.label(score) == expected


def test_the_version_follows_every_word(tmp_path: Path) -> None:
    before = hash_profile(load_profile(str(own(tmp_path))))
    assert before == hash_profile(load_profile(str(own(tmp_path))))
    assert before != hash_profile(load_profile(str(own(tmp_path, ("to the ground", "to the bottom")))))
    assert before != hash_profile(load_profile(str(own(tmp_path, ("0.75", "0.74"), ("0.25", "0.26")))))


def test_the_profile_of_the_how_to_is_sound(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/own-profile.md").read_text()
    block = page.split("```toml\n")[1].split("```")[0]
    path = tmp_path / "review.toml"
    path.write_text("\n".join(line.removeprefix("    ") for line in block.splitlines()))
    assert [one.name for one in load_profile(str(path)).dimensions] == ["depth", "verdict"]
