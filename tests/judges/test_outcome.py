"""Whether a session landed, how sure the offline judge is, and by what evidence."""

from collections.abc import Iterator
from math import exp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from assay.judges.criteria import SHOWS
from assay.judges.offline.outcome import load_weights
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

RULES = load_weights()
FIX = edit("till/sum.py")
REQUEST = "Fix the crash when the basket is empty"
DONE = "Fixed the crash of empty baskets."
NO_WORD = "Empty baskets sum to zero."
LONG = "The import asks the database once for every row. " * 13
PULL_REQUEST = shell("gh pr create --fill", "pr", "passed", mutates=True)
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
PLAIN = asked(REQUEST, FIX, NO_WORD)
COMPLAINT = asked("it is still wrong", FIX, "It sums to zero.")
NEXT = said_next("Add an export of receipts.")
CURL = "curl -sf http://127.0.0.1:8000/till"

# --- one session for every kind of evidence -------------------------------------------------------

BROKEN_OFF: dict[str, Case] = {
    "unanswered": case(PLAIN, asked("Now fix the discount of gift cards")),
    "api_error": case(asked(REQUEST, FIX, Mark(kind="api_error", at=""))),
    "mid_work": case(asked(REQUEST, "Let me look.", look("till/sum.py"))),
    "announces_more": case(asked(REQUEST, FIX, "Let me run the tests now.")),
    "interrupted": case(asked(REQUEST, FIX, Mark(kind="interrupt", at=""))),
    "rejected": case(asked(REQUEST, edit("till/sum.py", status="rejected"))),
    "pending": case(asked(REQUEST, tool("ask", "zero or error?", status="open"))),
}
WEIGHED: dict[str, Case] = {
    "stopped": case(asked(REQUEST, FIX, Mark(kind="interrupt", at="")), after=NEXT),
    "broken_after_showing": case(FIXED, asked("Now fix the discount of gift cards")),
    "says_done": case(asked(REQUEST, FIX, DONE)),
    "admits_failure": case(asked(REQUEST, FIX, "I was unable to reproduce it.")),
    "never_shown": case(asked(REQUEST, FIX, DONE)),
    "handed_in": case(asked(REQUEST, FIX, committed(), DONE)),
    "nothing_changed": case(asked(REQUEST, look("till/sum.py"), NO_WORD)),
    "last_turn_idle": case(FIXED, asked("Add a test for gift cards", look("tests/test_sum.py"), NO_WORD)),
    "ends_on_error": case(asked(REQUEST, FIX, checked("failed"), DONE)),
    "failure_signal": case(FIXED, failures=(FROZEN,)),
    "full_answer": case(asked("Why is it slow?", LONG), intent="question"),
}
SHOWING: dict[str, Case] = {
    "accepted": case(FIXED, asked("perfect, thanks", "You are welcome.")),
    "accepted_next": case(FIXED, after=said_next("Perfect, thanks! Next, add an export of receipts.")),
    "check_passed": case(FIXED),
    "ran_again": case(
        asked("Fix the 500 of the till", shell(CURL, outcome="failed"), FIX, shell(CURL, outcome="passed"), NO_WORD)
    ),
    "concluded": case(asked("Find out why", "The root cause is a query per row."), intent="investigation"),
    "plan_accepted": case(asked("Plan it", tool("plan", "# Split the till"), "Fine."), intent="plan"),
    "building_began": case(
        asked("Plan it", "First the schema, then the rows."), asked("go ahead", FIX, DONE), intent="plan"
    ),
}
EVERY = BROKEN_OFF | WEIGHED | SHOWING


def test_the_sessions_cover_every_kind_of_evidence() -> None:
    assert set(BROKEN_OFF) == set(BROKEN_ENDINGS)
    assert set(WEIGHED) == set(RULES.weights)
    assert set(SHOWING) == set(SHOWS)


@each_row("kind", EVERY)
def test_every_kind_of_evidence_is_found_in_some_session(kind: str) -> None:
    assert kind in kinds(EVERY[kind])


@each_row("kind", WEIGHED)
def test_a_weight_has_the_sign_of_what_its_evidence_means_and_says_what_it_was_fitted_on(kind: str) -> None:
    known = RULES.weights[kind]
    (found,) = (reason for reason in judged(WEIGHED[kind]).reasons if reason.kind == kind)
    assert (found.weight > 0) == (known.weight > 0) == (kind in ("says_done", "handed_in", "full_answer"))
    assert known.low <= known.weight <= known.high
    assert known.n > 0
    assert 0 <= known.complete <= 1


# --- explicit, silent, failure, unclear -----------------------------------------------------------


@each_row(
    "one",
    [
        *SHOWING.values(),
        case(asked(REQUEST, FIX, checked(), committed(), DONE)),
        case(asked("Fix the crash", FIX, checked(), DONE), asked("太好了，谢谢", "不客气。")),
        case(asked("Fix the crash", FIX, checked(), DONE), asked("ありがとう、完璧です", "どういたしまして。")),
        case(asked("Fix the crash", FIX, checked(), DONE), asked("super, danke", "Gerne.")),
        case(asked("Why is it slow?", "A query per row."), asked("ah, makes sense. thank you!"), intent="question"),
    ],
)
def test_what_is_shown_while_nothing_speaks_against_it_is_explicit_and_completes_the_goal(one: Case) -> None:
    found = judged(one)
    assert (found.evidence, found.goal_complete, found.ungraded) == ("explicit", True, "")
    assert found.confidence is not None
    assert found.confidence >= RULES.shown - 0.001
    assert found.citations


@each_row(
    "one",
    [
        case(asked(REQUEST, FIX, committed(), DONE)),
        case(asked(REQUEST, FIX, PULL_REQUEST, DONE)),
        case(asked(REQUEST, FIX, committed(), "Perfect! Everything works now.")),
        case(asked("Rename the button", FIX, "Renamed the button."), intent="small_change"),
        case(asked("What is a till?", LONG), intent="question"),
    ],
)
def test_a_landing_a_long_answer_and_the_agents_own_praise_complete_a_goal_but_show_nothing(one: Case) -> None:
    found = judged(one)
    assert (found.evidence, found.goal_complete) == ("silent", True)


@each_row("intent", ["bug_fix", "feature", "refactor"])
def test_a_change_that_nothing_shows_to_work_is_not_called_complete(intent: Intent) -> None:
    assert judged(case(PLAIN, intent=intent)).goal_complete is False


@each_row("kind", BROKEN_OFF)
def test_a_session_that_broke_off_failed_as_surely_as_measured(kind: str) -> None:
    found = judged(BROKEN_OFF[kind])
    assert (found.evidence, found.goal_complete) == ("failure", False)
    assert found.confidence == pytest.approx(RULES.broken_off, abs=0.002)
    assert found.citations


@each_row("kind", BROKEN_OFF)
def test_an_ending_is_broken_only_where_the_conversation_ends_there(kind: str) -> None:
    going_on = Case(BROKEN_OFF[kind].steps, BROKEN_OFF[kind].intent, NEXT)
    assert kind not in kinds(going_on)
    assert confidence_of(going_on) > confidence_of(BROKEN_OFF[kind])


def test_where_the_evidence_speaks_for_neither_nothing_is_claimed_and_the_chance_is_told() -> None:
    found = judged(case(FIXED, asked("Add a test for gift cards", look("tests/test_sum.py"), NO_WORD)))
    assert (found.goal_complete, found.ungraded, found.citations) == (None, "", ())
    assert found.confidence is not None
    assert RULES.unclear.low <= found.confidence < RULES.unclear.high


def test_a_change_that_was_never_made_is_not_complete() -> None:
    assert judged(WEIGHED["nothing_changed"]).goal_complete is False
    small = case(asked("Rename the button", NO_WORD), intent="small_change")
    assert judged(small).goal_complete is False


def test_a_check_that_fails_in_the_end_is_a_failure() -> None:
    found = judged(case(asked(REQUEST, FIX, checked("failed"), "Two tests remain.")))
    assert (found.evidence, found.goal_complete) == ("failure", False)
    assert "FAILED tests/test_till.py::test_sum" in [cited.quote for cited in found.citations]


def test_a_failure_signal_weighs_and_is_cited_but_vetoes_nothing() -> None:
    fixed = asked(REQUEST, FIX, checked(), committed(), f"{DONE} {LONG}")
    assert judged(case(fixed, failures=(FROZEN,))).goal_complete is True
    assert confidence_of(case(fixed, failures=(FROZEN,))) < confidence_of(case(fixed))
    missed = judged(case(asked(REQUEST, look("till/sum.py"), NO_WORD), failures=(FROZEN,)))
    assert (missed.evidence, missed.citations[0]) == ("failure", Citation(turn=FROZEN.turn, quote=FROZEN.quote))


@each_row("steps", [(), (asked(REQUEST),), (asked(REQUEST), asked("hello?"))])
@each_row("intent", INTENTS)
def test_where_nothing_but_prompts_is_there_nothing_is_judged(intent: Intent, steps: tuple[Step, ...]) -> None:
    found = outcome_of(session(*steps), intent)
    assert (found.goal_complete, found.confidence, found.evidence) == (None, None, None)
    assert found.ungraded


def test_entering_plan_mode_accepts_no_plan() -> None:
    entered = tool("plan", name="EnterPlanMode")
    assert "plan_accepted" not in kinds(case(asked("Plan it", entered, "Hm."), intent="plan"))
    taken = asked("Plan it", entered, tool("plan", "# Split"), "It splits the till.")
    assert "plan_accepted" in kinds(case(taken, intent="plan"))


# --- one piece more -------------------------------------------------------------------------------


def confidence_of(one: Case) -> float:
    found = judged(one).confidence
    assert found is not None
    return found


@each_row(
    ("worse", "better"),
    [
        (case(PLAIN), case(asked(REQUEST, FIX, DONE))),
        (case(PLAIN), case(asked(REQUEST, FIX, checked(), NO_WORD))),
        (case(asked(REQUEST, FIX, checked("failed"), NO_WORD)), case(PLAIN)),
        (case(asked(REQUEST, checked(), FIX, NO_WORD)), case(asked(REQUEST, FIX, checked(), NO_WORD))),
        (case(PLAIN), case(asked(REQUEST, FIX, committed(), NO_WORD))),
        (case(PLAIN, asked("and gift cards?", NO_WORD)), case(PLAIN, asked("perfect, thanks", "Welcome."))),
        (case(asked(REQUEST, look("till/sum.py"), NO_WORD)), case(PLAIN)),
        (case(asked(REQUEST, FIX, Mark(kind="interrupt", at=""))), case(PLAIN)),
        (case(asked(REQUEST, FIX, "I was unable to reproduce it.")), case(asked(REQUEST, FIX, DONE))),
    ],
    ids=[
        "says done", "tests pass", "tests fail", "tests are stale", "committed", "accepted", "nothing changed",
        "interrupted", "names failure",
    ],
)  # fmt: skip
def test_one_piece_of_evidence_moves_the_confidence_the_right_way(worse: Case, better: Case) -> None:
    assert confidence_of(worse) < confidence_of(better)


def test_only_the_last_run_of_a_check_counts() -> None:
    again = case(asked(REQUEST, FIX, checked("failed"), FIX, checked(), DONE))
    assert "ends_on_error" not in kinds(again)
    assert "check_passed" in kinds(again)


def test_the_failing_command_run_again_in_other_words_shows_nothing() -> None:
    other = asked(REQUEST, shell(CURL, outcome="failed"), FIX, shell(f"{CURL}/sum", outcome="passed"), NO_WORD)
    assert "ran_again" not in kinds(case(other))


def test_what_a_sub_agent_changed_is_a_change() -> None:
    changed = replace(FIX, by="agent-1")
    assert not {"nothing_changed", "last_turn_idle"} & kinds(case(asked(REQUEST, changed, NO_WORD)))


def test_a_quote_ends_with_a_whole_word() -> None:
    command = f"pytest {'tests/test_till.py ' * 20}"
    cited = [one.quote for one in judged(case(asked(REQUEST, FIX, replace(checked(), command=command), DONE))).reasons]
    assert [quote for quote in cited if quote.startswith("pytest") and quote.endswith((".py", "py "))]


def test_what_a_shell_command_patched_is_a_change() -> None:
    patched = replace(FIX, kind="shell", name="shell", command="apply_patch '*** Begin Patch'")
    assert not {"nothing_changed", "last_turn_idle"} & kinds(case(asked(REQUEST, patched, NO_WORD)))


@each_row(
    ("jobs", "is_error"), [("unit\tpending\t0\nlint\tpass\t9s\n", False), ("unit\tpending\t0\nlint\tfail\t9s\n", True)]
)
def test_jobs_that_are_pending_are_no_error_and_one_that_failed_is(jobs: str, is_error: bool) -> None:
    watched = replace(shell("gh pr checks 7"), status="error", output=jobs)
    assert ("ends_on_error" in kinds(case(asked(REQUEST, FIX, committed(), watched, DONE)))) is is_error


@each_row(
    "text",
    [
        "The build no longer fails.",
        "It failed to start because the port was taken; fixed.",
        "原因是端口被占用，已修复。",
    ],
)
def test_a_failure_that_is_told_as_gone_is_no_admission(text: str) -> None:
    assert "admits_failure" not in kinds(case(asked(REQUEST, FIX, text)))


def test_of_a_long_sentence_the_words_that_tell_of_the_failure_are_quoted() -> None:
    begins = (
        "Wrote down what was changed in the report of the till, its globs, the icon of the orb and the two new tests"
    )
    told = case(
        asked(REQUEST, FIX, f"{begins}, which were sorted by name and by day, but the suite is failing at boot.")
    )
    (found,) = [one for one in judged(told).reasons if one.kind == "admits_failure"]
    assert "failing at boot" in found.quote
    assert len(found.quote) <= 160


def test_an_answer_that_says_what_cannot_be_is_no_admission() -> None:
    answer = "A tuple cannot be changed once it is made."
    assert "admits_failure" not in kinds(case(asked("Can I change a tuple?", answer), intent="question"))
    assert "admits_failure" in kinds(case(asked(REQUEST, FIX, answer)))


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


@each_row("kind", EVERY)
def test_every_quote_stands_word_for_word_in_the_turn_it_names(kind: str) -> None:
    one = EVERY[kind]
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
    one = SHOWING["accepted_next"]
    (praise,) = (reason for reason in judged(one).reasons if reason.kind == "accepted_next")
    assert (praise.turn, praise.quote) == (2, "Perfect, thanks! Next, add an export of receipts.")
    assert Citation(turn=2, quote=praise.quote) in judged(one).citations


def test_citations_are_few_and_none_is_given_twice() -> None:
    many = case(FIXED, asked("perfect, thanks", committed(), checked(), DONE), after=said_next("great, thanks"))
    cited = judged(many).citations
    assert 1 <= len(cited) == len(set(cited)) <= 6


# --- anything -------------------------------------------------------------------------------------


@QUICK
@given(any_turns(), st.sampled_from(INTENTS), failures, st.none() | prompts)
def test_any_turns_are_judged_the_same_way_twice_and_nothing_is_claimed_in_the_unclear_band(
    turns: Any, intent: Intent, failed: Any, after: Prompt | None
) -> None:
    found = outcome_of(turns, intent, failed, after)
    assert found == outcome_of(turns, intent, failed, after)
    assert {reason.kind for reason in found.reasons} <= {*EVERY, "starting_point"}
    if found.ungraded:
        assert (found.goal_complete, found.confidence, found.evidence) == (None, None, None)
        return
    assert found.evidence is not None
    assert found.confidence is not None
    is_unclear = RULES.unclear.low <= found.confidence < RULES.unclear.high
    assert found.goal_complete is (None if is_unclear else found.confidence >= RULES.unclear.high)


@QUICK
@given(any_turns(), st.sampled_from(INTENTS), st.none() | prompts)
def test_whatever_is_quoted_stands_where_it_says_and_whatever_is_not_silent_is_quoted(
    turns: Any, intent: Intent, after: Prompt | None
) -> None:
    found = outcome_of(turns, intent, (), after)
    assert all(stands(reason.turn, reason.quote, turns, after) for reason in found.reasons if reason.quote)
    assert found.citations or found.evidence in ("silent", None)


@each_row("kind", EVERY)
def test_the_reasons_add_up_to_the_confidence(kind: str) -> None:
    found = judged(EVERY[kind])
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
