"""Whether a session landed, how sure the offline judge is, and by what evidence."""

import ast
import inspect
from collections.abc import Iterator
from math import exp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from assay.judges.criteria import FLOORS, is_goal_complete
from assay.judges.offline import outcome
from assay.judges.offline.outcome import OutcomeWeights
from assay.resources import load_table
from assay.sessions.endings import BROKEN_ENDINGS
from assay.types import Citation, Failure, Intent, Mark, OutcomeJudgement, Prompt, Turn
from tests.judges.make_turns import (
    INTENTS,
    QUICK,
    Step,
    any_turns,
    asked,
    checked,
    committed,
    edit,
    failures,
    language_of,
    look,
    outcome_of,
    prompts,
    rubric_of,
    said_next,
    session,
    shell,
    tool,
    topic_of,
)
from tests.tables import each_row

RULES = load_table("assay.judges.offline", "outcome.toml", OutcomeWeights)
FIX = edit("till/sum.py")
REQUEST = "Fix the crash when the basket is empty"
DONE = "Fixed the crash of empty baskets."
NO_WORD = "Empty baskets sum to zero."
LONG = "The import asks the database once for every row. " * 12
PULL_REQUEST = shell("gh pr create --fill", "pr", "passed", mutates=True)
UNDONE = shell("git checkout -- till/sum.py", "restore", "passed", mutates=True)
FROZEN = Failure(kind="frustration", turn=1, quote="Fix the crash")


class Case(Struct, frozen=True):
    """A session and how the judge is asked about it."""

    steps: tuple[Step, ...]
    intent: Intent = "bug_fix"
    after: Prompt | None = None
    failures: tuple[Failure, ...] = ()

    @property
    def turns(self) -> tuple[Turn, ...]:
        return session(*self.steps)


def case(*steps: Step, **more: Any) -> Case:
    return Case(steps, **more)


def judged(one: Case) -> OutcomeJudgement:
    return outcome_of(one.turns, one.intent, one.failures, one.after)


def kinds(one: Case) -> set[str]:
    return {reason.kind for reason in judged(one).reasons}


FIXED = asked(REQUEST, FIX, checked(), DONE)
COMPLAINT = asked("it is still wrong", FIX, "It sums to zero.")

# --- one session for every kind of evidence -------------------------------------------------------

SHOWN: dict[str, Case] = {
    "unanswered": case(FIXED, asked("Now fix the discount of gift cards")),
    "api_error": case(asked(REQUEST, FIX, Mark(kind="api_error", at=""))),
    "mid_work": case(asked(REQUEST, "Let me look.", look("till/sum.py"))),
    "announces_more": case(asked(REQUEST, FIX, "Let me run the tests now.")),
    "interrupted": case(asked(REQUEST, FIX, Mark(kind="interrupt", at=""))),
    "rejected": case(asked(REQUEST, edit("till/sum.py", status="rejected"))),
    "pending": case(asked(REQUEST, tool("ask", "zero or error?", status="open"))),
    "concluded_before": case(asked("Why is it slow?", LONG), asked("and at noon?"), intent="question"),
    "failure_signal": case(FIXED, failures=(FROZEN,)),
    "dropped": case(FIXED, asked("never mind", "Fine.")),
    "frustrated": case(FIXED, asked("ugh, this is ridiculous", FIX, "It sums to zero.")),
    "complained_last": case(FIXED, COMPLAINT),
    "complaint_worked_on": case(FIXED, COMPLAINT),
    "complaint_checked": case(FIXED, asked("it is still wrong", FIX, checked(), "It sums to zero.")),
    "kept_complaining": case(FIXED, COMPLAINT, COMPLAINT, COMPLAINT),
    "accepted": case(FIXED, asked("perfect, thanks", "You are welcome.")),
    "landing_asked": case(FIXED, asked("commit and push", committed(), "Pushed.")),
    "went_on_asking": case(FIXED, asked("and what happens with gift cards?", "They are skipped.")),
    "praised_after": case(FIXED, after=said_next("Perfect, thanks! Next, add an export of receipts.")),
    "moved_on": case(FIXED, after=said_next("Add an export of receipts.")),
    "nothing_changed": case(asked(REQUEST, look("till/sum.py"), NO_WORD)),
    "nothing_changed_small": case(asked("Rename the button", NO_WORD), intent="small_change"),
    "change_not_made": case(FIXED, asked("Add a test for gift cards", look("tests/test_sum.py"), NO_WORD)),
    "change_stopped": case(
        FIXED, asked("Add a test for gift cards", edit("tests/test_sum.py", status="rejected"), NO_WORD)
    ),
    "reverted": case(FIXED, asked("back to how it was", UNDONE, NO_WORD)),
    "check_failed": case(asked(REQUEST, FIX, checked("failed"), DONE)),
    "check_passed": case(FIXED),
    "check_passed_before": case(asked(REQUEST, checked(), FIX, DONE)),
    "never_verified": case(asked(REQUEST, FIX, DONE)),
    "never_verified_feature": case(asked("Add an export", FIX, "Added it."), intent="feature"),
    "committed": case(asked(REQUEST, FIX, committed(), DONE)),
    "landed": case(asked(REQUEST, FIX, DONE, committed())),
    "pull_request": case(asked(REQUEST, FIX, PULL_REQUEST, DONE)),
    "plan_accepted": case(asked("Plan it", tool("plan", "# Split the till"), "Fine."), intent="plan"),
    "plan_rejected": case(asked("Plan it", tool("plan", "# Split", status="rejected"), "Fine."), intent="plan"),
    "building_began": case(
        asked("Plan it", "First the schema, then the rows."), asked("go ahead", FIX, DONE), intent="plan"
    ),
    "opens_done": case(asked(REQUEST, FIX, DONE)),
    "said_done": case(asked(REQUEST, FIX, "An empty basket had no items at all to sum. " * 4 + DONE)),
    "no_done_words": case(asked(REQUEST, FIX, NO_WORD)),
    "names_failure_first": case(asked(REQUEST, FIX, "I was unable to reproduce it.")),
    "names_failure": case(
        asked(
            REQUEST, FIX, DONE + " Empty baskets sum to zero." * 8 + " Two tests still fail. I couldn't run the rest."
        )
    ),
    "asks_choice": case(asked(REQUEST, look("till/sum.py"), "Should an empty basket sum to zero?")),
    "offers": case(asked(REQUEST, FIX, DONE + " Shall I commit it?")),
    "full_answer": case(asked("Why is it slow?", LONG), intent="question"),
    "concluded": case(asked("Find out why", "The root cause is a query per row."), intent="investigation"),
    "partly_done": case(asked(REQUEST, FIX, f"{DONE}\n- [x] baskets\n- [ ] gift cards")),
    "waits": case(asked(REQUEST, look("till/sum.py"), "It is in till/sum.py. Let me know which sum you expect.")),
    "unsure": case(asked("Find out why", "It is probably a query per row, I'm not sure."), intent="investigation"),
    "no_conclusion": case(asked("Find out why", "A query per row."), intent="investigation"),
}


def test_the_sessions_cover_every_kind_in_the_weights() -> None:
    assert set(SHOWN) == set(RULES.weights)


@each_row("kind", SHOWN)
def test_every_kind_in_the_weights_is_shown_by_some_session(kind: str) -> None:
    found = [reason for reason in judged(SHOWN[kind]).reasons if reason.kind == kind]
    assert found
    assert all((reason.weight > 0) == (RULES.weights[kind] > 0) for reason in found)


def test_the_code_names_no_kind_without_a_weight() -> None:
    named = {
        argument.value
        for node in ast.walk(ast.parse(inspect.getsource(outcome)))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Found"
        for argument in ast.walk(node.args[0])
        if isinstance(argument, ast.Constant)
        if argument.value not in INTENTS
    }
    assert named <= set(RULES.weights)
    assert set(BROKEN_ENDINGS) <= set(RULES.weights)


def test_the_weights_name_known_kinds_and_intents_only() -> None:
    assert set(RULES.explicit) <= {kind for kind, weight in RULES.weights.items() if weight > 0}
    assert set(RULES.prior) == set(INTENTS)
    assert all(RULES.weights.values())


# --- explicit, silent, failure --------------------------------------------------------------------


@each_row(
    "one",
    [
        SHOWN["check_passed"],
        SHOWN["accepted"],
        SHOWN["landing_asked"],
        SHOWN["praised_after"],
        SHOWN["plan_accepted"],
        SHOWN["building_began"],
        case(asked(REQUEST, FIX, checked(), committed(), DONE)),
        case(asked("Fix the crash", FIX, checked(), DONE), asked("太好了，谢谢", "不客气。")),
        case(asked("Fix the crash", FIX, checked(), DONE), asked("ありがとう、完璧です", "どういたしまして。")),
        case(asked("Fix the crash", FIX, checked(), DONE), asked("super, danke", "Gerne.")),
        case(asked("Find out why", "The root cause is a query per row. " * 15), intent="investigation"),
    ],
)
def test_what_somebody_or_something_said_is_explicit_and_completes_the_goal(one: Case) -> None:
    found = judged(one)
    assert (found.evidence, found.goal_complete, found.ungraded) == ("explicit", True, "")
    assert found.citations


@pytest.mark.parametrize(
    "one",
    [
        case(asked("What is a till?", "A drawer for money, with a slip for each sale. " * 12), intent="question"),
        case(asked("Rename the button", FIX, "Renamed the button."), intent="small_change"),
    ],
)
def test_an_answer_nobody_replied_to_is_silent_and_complete_above_the_floor(one: Case) -> None:
    found = judged(one)
    assert (found.evidence, found.goal_complete) == ("silent", True)
    assert found.confidence is not None
    assert found.confidence >= FLOORS[one.intent]


def test_a_fix_that_was_never_verified_is_silent_and_below_the_floor() -> None:
    found = judged(case(asked(REQUEST, FIX, DONE)))
    assert (found.evidence, found.goal_complete) == ("silent", False)


@pytest.mark.parametrize(
    "name",
    ["unanswered", "api_error", "mid_work", "interrupted", "rejected", "dropped", "plan_rejected"],
)
def test_a_session_that_broke_off_failed(name: str) -> None:
    found = judged(SHOWN[name])
    assert (found.evidence, found.goal_complete) == ("failure", False)
    assert found.citations


def test_a_change_that_was_never_made_is_not_complete() -> None:
    assert judged(SHOWN["nothing_changed"]).goal_complete is False
    assert judged(SHOWN["nothing_changed_small"]).goal_complete is False


def test_a_check_that_fails_in_the_end_is_a_failure() -> None:
    found = judged(case(asked(REQUEST, FIX, checked("failed"), "Two tests remain.")))
    assert (found.evidence, found.goal_complete) == ("failure", False)
    assert "FAILED tests/test_till.py::test_sum" in [cited.quote for cited in found.citations]


@each_row("intent", INTENTS)
def test_any_failure_signal_makes_it_a_failure_and_is_cited_first(intent: Intent) -> None:
    found = outcome_of(session(FIXED, asked("perfect, thanks", "Welcome.")), intent, [FROZEN])
    assert (found.evidence, found.goal_complete) == ("failure", False)
    assert found.citations[0] == Citation(turn=FROZEN.turn, quote=FROZEN.quote)


@each_row("steps", [(), (asked(REQUEST),), (asked(REQUEST), asked("hello?"))])
@each_row("intent", INTENTS)
def test_where_nothing_but_prompts_is_there_nothing_is_judged(intent: Intent, steps: tuple[Step, ...]) -> None:
    found = outcome_of(session(*steps), intent)
    assert (found.goal_complete, found.confidence, found.evidence) == (None, None, None)
    assert found.ungraded


def test_entering_plan_mode_accepts_no_plan() -> None:
    entered = tool("plan", name="EnterPlanMode")
    assert "plan_accepted" not in kinds(case(asked("Plan it", entered, "Hm."), intent="plan"))
    assert "plan_accepted" in kinds(case(asked("Plan it", entered, tool("plan", "# Split")), intent="plan"))


# --- one piece more -------------------------------------------------------------------------------


def confidence_of(one: Case) -> float:
    found = judged(one).confidence
    assert found is not None
    return found


PLAIN = asked(REQUEST, FIX, NO_WORD)


@each_row(
    ("worse", "better"),
    [
        (case(PLAIN), case(asked(REQUEST, FIX, DONE))),
        (case(PLAIN), case(asked(REQUEST, FIX, checked(), NO_WORD))),
        (case(asked(REQUEST, FIX, checked("failed"), NO_WORD)), case(PLAIN)),
        (case(asked(REQUEST, checked(), FIX, NO_WORD)), case(asked(REQUEST, FIX, checked(), NO_WORD))),
        (case(PLAIN), case(asked(REQUEST, FIX, committed(), NO_WORD))),
        (case(PLAIN), case(PLAIN, asked("perfect, thanks", "Welcome."))),
        (case(PLAIN, COMPLAINT), case(PLAIN)),
        (case(PLAIN, COMPLAINT, COMPLAINT, COMPLAINT), case(PLAIN, COMPLAINT)),
        (case(PLAIN, asked("it is still wrong", NO_WORD)), case(PLAIN, COMPLAINT)),
        (case(PLAIN, asked("never mind", "Fine.")), case(PLAIN)),
        (case(PLAIN, failures=(FROZEN,)), case(PLAIN)),
        (case(PLAIN), case(PLAIN, after=said_next("Add an export of receipts."))),
        (
            case(PLAIN, after=said_next("Add an export of receipts.")),
            case(PLAIN, after=said_next("Great, thanks! Add an export of receipts.")),
        ),
        (case(asked(REQUEST, look("till/sum.py"), NO_WORD)), case(PLAIN)),
        (case(asked(REQUEST, FIX, Mark(kind="interrupt", at=""))), case(PLAIN)),
        (case(asked(REQUEST, FIX, "I was unable to reproduce it.")), case(asked(REQUEST, FIX, DONE))),
    ],
    ids=[
        "says done", "tests pass", "tests fail", "tests are stale", "committed", "accepted", "complained",
        "complained more often", "complaint left alone", "dropped", "failure signal", "moved on", "praised",
        "nothing changed", "interrupted", "names failure",
    ],
)  # fmt: skip
def test_one_piece_of_evidence_moves_the_confidence_the_right_way(worse: Case, better: Case) -> None:
    assert confidence_of(worse) < confidence_of(better)


@pytest.mark.parametrize("purpose", ["test", "build", "types"])
def test_a_linter_that_fails_says_less_than_any_other_check(purpose: str) -> None:
    failed = [case(asked(REQUEST, FIX, shell("make it", kind, "failed"), NO_WORD)) for kind in (purpose, "lint")]
    assert confidence_of(failed[0]) < confidence_of(failed[1])


def test_only_the_last_run_of_a_check_counts() -> None:
    again = case(asked(REQUEST, FIX, checked("failed"), FIX, checked(), DONE))
    assert "check_failed" not in kinds(again)
    assert "check_passed" in kinds(again)


def test_a_commit_proves_nothing_while_a_complaint_stands() -> None:
    assert "committed" not in kinds(case(FIXED, asked("it is still wrong", committed(), NO_WORD)))


def test_a_complaint_said_next_is_no_moving_on() -> None:
    assert not {"moved_on", "praised_after"} & kinds(case(FIXED, after=said_next("it is still wrong")))


# --- citations ------------------------------------------------------------------------------------


def said_in(turn: Turn) -> Iterator[str]:
    """Everything in a turn that can be quoted."""
    if turn.prompt:
        yield turn.prompt.text
    yield from (reply.text for reply in turn.replies)
    for call in turn.calls:
        yield from (call.command, call.target, call.output)
    yield from (mark.detail for mark in turn.marks)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def stands(turn: int, quote: str, turns: tuple[Turn, ...], after: Prompt | None) -> bool:
    """Whether a quote stands where it says; what was said next stands behind the last turn."""
    if after and turn == len(turns) + 1:
        return squeezed(quote) in squeezed(after.text)
    return 1 <= turn <= len(turns) and any(squeezed(quote) in squeezed(text) for text in said_in(turns[turn - 1]))


@each_row("kind", SHOWN)
def test_every_quote_stands_word_for_word_in_the_turn_it_names(kind: str) -> None:
    one = SHOWN[kind]
    found = judged(one)
    assert all(stands(cited.turn, cited.quote, one.turns, one.after) for cited in found.citations)
    assert all(stands(reason.turn, reason.quote, one.turns, one.after) for reason in found.reasons if reason.turn)
    assert all(cited.quote.strip() for cited in found.citations)


def test_quotes_stand_word_for_word_beside_code_addresses_and_odd_letters() -> None:
    reply = "```\ncode\n```\nSee https://example.org/a for ‘the’ STRASSE/straße.\nIt’s DONE now, İstanbul too."
    one = case(
        asked(REQUEST, FIX, checked(), reply),
        asked("```\nlog\n```\nhttps://example.org/b\nthat’s PERFECT, thanks  a lot\nbye", reply),
    )
    found = judged(one)
    assert found.citations
    assert all(stands(reason.turn, reason.quote, one.turns, None) for reason in found.reasons if reason.turn)


def test_praise_that_came_next_is_quoted_behind_the_last_turn() -> None:
    one = SHOWN["praised_after"]
    (praise,) = (reason for reason in judged(one).reasons if reason.kind == "praised_after")
    assert (praise.turn, praise.quote) == (2, "Perfect, thanks! Next, add an export of receipts.")
    assert Citation(turn=2, quote=praise.quote) in judged(one).citations


def test_citations_are_few_and_none_is_given_twice() -> None:
    many = case(FIXED, asked("perfect, thanks", committed(), checked(), DONE), after=said_next("great, thanks"))
    cited = judged(many).citations
    assert 1 <= len(cited) == len(set(cited)) <= 6


# --- anything -------------------------------------------------------------------------------------


@QUICK
@given(any_turns(), st.sampled_from(INTENTS), failures, st.none() | prompts)
def test_any_turns_are_judged_the_same_way_twice_and_by_the_formula(
    turns: Any, intent: Intent, failed: Any, after: Prompt | None
) -> None:
    found = outcome_of(turns, intent, failed, after)
    assert found == outcome_of(turns, intent, failed, after)
    assert {reason.kind for reason in found.reasons} <= {*RULES.weights, "starting_point"}
    if found.ungraded:
        assert (found.goal_complete, found.confidence, found.evidence) == (None, None, None)
        return
    assert found.evidence is not None
    assert found.confidence is not None
    assert 0 <= found.confidence <= 1
    assert found.goal_complete == is_goal_complete(intent, found.evidence, found.confidence, failed)


@QUICK
@given(any_turns(), st.sampled_from(INTENTS), st.none() | prompts)
def test_whatever_is_quoted_stands_where_it_says_and_whatever_is_not_silent_is_quoted(
    turns: Any, intent: Intent, after: Prompt | None
) -> None:
    found = outcome_of(turns, intent, (), after)
    assert all(stands(reason.turn, reason.quote, turns, after) for reason in found.reasons if reason.quote)
    assert found.citations or found.evidence in ("silent", None)


@each_row("kind", SHOWN)
def test_the_reasons_add_up_to_the_confidence(kind: str) -> None:
    found = judged(SHOWN[kind])
    total = sum(reason.weight for reason in found.reasons)
    assert found.confidence == pytest.approx(1 / (1 + exp(-total)), abs=0.001)


TANGLED = {
    "blank lines": "\n" * 20_000,
    "spaces": " " * 19_999 + "x",
    "spaces around a brace": " " * 3_000 + "{" + " " * 3_000 + "x",
    "one word": "a" * 20_000,
    "hyphens": "a-" * 10_000,
    "dots": "a." * 10_000,
    "slashes": "a/" * 10_000,
    "frames": " at " + "(:" * 10_000,
    "question marks": "?" * 20_000,
    "fences": "```" * 7_000,
    "tags": "<a " * 7_000,
    "brackets": "[a](" * 5_000,
    "commits": "git commit -m" * 1_500,
    "pull requests": "gh pr create " * 1_600,
    "plans": "plan" * 5_000,
    "errors": "Error" * 4_000,
    "greetings": "please " * 3_000,
    "Han": "的" * 20_000,
    "boxes": "[ ]" * 7_000,
    "gaps": "get make move " * 1_500,
}


@each_row("name", TANGLED)
def test_text_that_entangles_regular_expressions_is_judged_all_the_same(name: str) -> None:
    text = TANGLED[name]
    turns = session(
        asked(text, text, shell(f"x {text}", output=text), edit(text[:4_000]), text),
        asked(text, text, shell(f"git commit {text}", "test", "failed", output=text), text),
    )
    assert len(topic_of(turns)) == 1
    assert len(rubric_of(turns).title) <= 60
    assert outcome_of(turns, "feature", (), said_next(text)).ungraded == ""
    assert language_of(turns) == language_of(turns)
