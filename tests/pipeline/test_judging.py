"""What a judge says is put together with the facts, and its evidence is checked."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from assay.errors import JudgeError
from assay.pipeline.judgement import (
    NO_CITATION,
    JudgeTroubles,
    SessionJudgement,
    has_quote,
    hash_input,
    judge_turns,
    list_models,
)
from assay.types import (
    Call,
    Citation,
    LanguageJudgement,
    Mark,
    OutcomeJudgement,
    Prompt,
    Reply,
    RubricJudgement,
    Spend,
    Turn,
    Usage,
)
from tests.tables import each_row


def asked(text: str, **more: Any) -> Turn:
    return Turn(at="2026-03-02T09:00:00Z", prompt=Prompt(at="2026-03-02T09:00:00Z", text=text, key=hash(text)), **more)


THREE = (asked("card"), asked("spin"), asked("weave"))
CITED = (Citation(turn=1, quote="card"),)


def judge_of(**said: Any) -> Any:
    """A judge that says this; what it can't answer is an exception."""
    rubric = RubricJudgement(intent="small_change", checks={}, grade="B", title="Wool", summary="")
    plain = {
        "language": LanguageJudgement(natural="en", programming="Python"),
        "rubric": rubric,
        "outcome": outcome("explicit", complete=True),
    }

    def answer(what: Any) -> Any:
        def asked_for(*_: object) -> Any:
            if isinstance(what, Exception):
                raise what
            return what

        return asked_for

    answers = {name: answer(what) for name, what in (plain | said).items()}
    return SimpleNamespace(versions=lambda: {"outcome": "1"}, **answers)


def outcome(evidence: Any, complete: bool | None, citations: tuple[Citation, ...] = CITED, why: str = "") -> Any:
    return OutcomeJudgement(
        goal_complete=complete, confidence=0.8, evidence=evidence, citations=citations, ungraded=why
    )


def of(turns: Sequence[Turn] = THREE, after: Prompt | None = None, **said: Any) -> SessionJudgement:
    return judge_turns(judge_of(**said), turns, after, JudgeTroubles())


NO_GOAL = RubricJudgement(intent=None, checks={}, grade=None, title="", summary="")
LUNCH = JudgeError("out to lunch")


@each_row(
    ("said", "status", "why", "crushed"),
    [
        ({}, "ok", None, True),
        ({"outcome": outcome("failure", complete=False)}, "ok", None, False),
        (
            {"outcome": outcome(None, complete=None, citations=(), why="thin evidence")},
            "ungraded",
            "thin evidence",
            None,
        ),
        ({"outcome": outcome("silent", complete=None, citations=())}, "unclear", None, None),
        (
            {"outcome": OutcomeJudgement(goal_complete=None, confidence=None, evidence=None)},
            "ungraded",
            "the judge gave no reason",
            None,
        ),
        ({"outcome": LUNCH}, "ungraded", "out to lunch", None),
        ({"rubric": NO_GOAL}, "no_goal", None, None),
        ({"rubric": LUNCH}, "ungraded", "out to lunch", None),
        ({"language": LUNCH}, "ok", None, True),
    ],
)
def test_the_status_says_whether_a_judgement_counts(said: Any, status: str, why: str | None, crushed: bool | None):
    found = of(**said)
    assert (found.judge_status, found.ungraded_reason, found.crushed) == (status, why, crushed)


def test_without_a_goal_a_small_session_is_no_goal():
    found = of(THREE[:2], rubric=NO_GOAL)
    assert (found.judge_status, found.crushed, found.facts["substance"]) == ("no_goal", None, False)


@pytest.mark.parametrize("said", [{}, {"outcome": LUNCH}])
def test_without_substance_a_session_is_trivial_whatever_the_judge_says(said: Any):
    found = of(THREE[:2], **said)
    assert (found.judge_status, found.crushed, found.facts["substance"]) == ("trivial", None, False)


def test_a_trivial_session_still_shows_what_the_judge_says():
    assert (of(THREE[:1]).goal_complete, of(THREE[:1]).intent) == (True, "small_change")


def test_a_bug_of_ours_is_no_judgement():
    with pytest.raises(ZeroDivisionError):
        of(outcome=ZeroDivisionError())


@pytest.mark.parametrize(
    ("evidence", "complete", "status", "why"),
    [
        ("explicit", True, "ungraded", NO_CITATION),
        ("failure", False, "ok", None),
        ("silent", True, "ok", None),
        ("silent", False, "ok", None),
    ],
)
def test_a_verdict_whose_citations_do_not_stand_is_none_or_silence(
    evidence: str, complete: bool, status: str, why: str | None
):
    found = of(outcome=outcome(evidence, complete=complete, citations=(Citation(turn=1, quote="never said"),)))
    assert (found.judge_status, found.ungraded_reason, found.citations) == (status, why, [])
    assert (found.goal_complete is None) == (status == "ungraded")
    assert found.evidence in (None, "silent")


def test_a_citation_that_does_not_stand_is_dropped_and_the_others_stay():
    cited = (Citation(turn=2, quote="card"), Citation(turn=1, quote="card"), Citation(turn=9, quote="card"))
    found = of(outcome=outcome("explicit", complete=True, citations=cited))
    assert (found.judge_status, found.citations) == ("ok", [Citation(turn=1, quote="card")])


RICH = asked(
    "card  the\nwool, then 染色",
    replies=(Reply(at="", text="It is\tcarded."),),
    calls=(Call(id="c", at="", name="Bash", command="make wool", output="3 failed\n2 passed", target="/loom/wool.py"),),
    marks=(Mark(kind="pr", at="", detail="https://example.org/pull/1"),),
)
AFTER = Prompt(at="", text="that broke the loom", key=1)


@each_row(
    ("quote", "does"),
    [
        ("card the wool", True), ("card\n the   wool, then", True), ("染色", True), ("It is carded.", True),
        ("make wool", True), ("3 failed 2 passed", True), ("wool.py", True), ("pull/1", True), ("… the wool…", True),
        ("Card the wool", False), ("wool, then 染色 It is", False), ("", False), (" … ", False), ("loom the", False),
    ],
)  # fmt: skip
def test_a_quote_stands_where_it_is_said_whatever_the_white_space(quote: str, does: bool):
    assert has_quote(Citation(turn=1, quote=quote), [RICH], None) is does


@pytest.mark.parametrize(("turn", "does"), [(-1, False), (0, False), (1, False), (2, True), (3, True), (4, False)])
def test_what_was_said_next_stands_behind_the_last_turn(turn: int, does: bool):
    assert has_quote(Citation(turn=turn, quote="broke the loom"), [RICH, RICH], AFTER) is does


def spent(model: str, by: str = "") -> Spend:
    return Spend(at="", key=hash(model), model=model, usage=Usage(output=1), by=by)


@pytest.mark.parametrize(
    ("spends", "wanted"),
    [
        ([spent("b"), spent("a"), spent("b")], ["a", "b"]),
        ([spent("a"), spent("z", by="helper")], ["a"]),
        ([spent("z", by="helper"), spent("")], ["z"]),
        ([], []),
    ],
)
def test_the_models_are_those_of_the_main_agent_if_it_had_any(spends: list[Spend], wanted: list[str]):
    assert list_models([asked("card", spends=tuple(spends))]) == wanted


def test_the_input_is_all_that_judging_looks_at():
    inputs = [
        hash_input("v1", THREE, None),
        hash_input("v2", THREE, None),
        hash_input("v1", THREE[:2], None),
        hash_input("v1", THREE, AFTER),
        hash_input("v1", (*THREE[:2], RICH), None),
    ]
    assert len(set(inputs)) == len(inputs)
    assert hash_input("v1", tuple(THREE), None) == inputs[0]
