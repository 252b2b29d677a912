"""Slices: each session in one of them, the largest first."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from assay.scores.breakdown import WAYS, By, build_slices
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
