"""How well a session was asked for, its grade, its title and its summary."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.judges.criteria import grade_checks
from assay.types import RubricJudgement
from tests.judges.make_turns import (
    INTENTS,
    QUICK,
    Step,
    any_turns,
    asked,
    checked,
    committed,
    edit,
    look,
    rubric_of,
    session,
    texts,
    tool,
)
from tests.tables import each_row

LADDER = ("A+", "A", "A-", "B+", "B", "B-", "C+", "C", "C-", "D", "F")
CHECKS = {
    "goal_explicit",
    "scope_bounded",
    "references_concrete",
    "context_sufficient",
    "verification_requested",
    "root_cause_oriented",
    "plan_first",
}
READ = tuple(look(f"import/part{n}.py") for n in range(12))
BUILT = edit("till/export.py", "till/cli.py", added=120, removed=0, how="create")
ASKED: dict[str, Step] = {
    "question": asked("What is the difference between a tuple and a list?", "A tuple cannot change."),
    "investigation": asked(
        "Investigate why the import is slow and report the root cause", *READ, "The root cause is I/O."
    ),
    "review": asked("Review the changes on this branch https://github.com/ada/till/pull/12", *READ[:6], "Two issues."),
    "plan": asked("Plan how we split the till, a design proposal, no code", tool("plan", "# Split"), "Here it is."),
    "small_change": asked("Rename the button label to Keep", edit("till/button.py", added=1, removed=1), "Renamed."),
    "bug_fix": asked("Fix the crash when the basket is empty", edit("till/sum.py"), checked(), "Fixed the crash."),
    "feature": asked("Add a command that exports all receipts as CSV", BUILT, checked(), "Added it."),
    "refactor": asked(
        "Refactor the discount module, extract the rounding, same behaviour",
        edit("till/discount.py", added=40, removed=90),
        "Extracted the rounding.",
    ),
}
SAYS_NOTHING_OF = {
    "question": {"scope_bounded", "verification_requested", "root_cause_oriented", "plan_first"},
    "investigation": {"verification_requested", "plan_first"},
    "review": {"verification_requested", "root_cause_oriented", "plan_first"},
    "plan": {"verification_requested", "root_cause_oriented"},
    "small_change": {"root_cause_oriented", "plan_first"},
    "bug_fix": {"plan_first"},
    "feature": {"root_cause_oriented"},
    "refactor": {"root_cause_oriented"},
}


def judged(*steps: Step) -> RubricJudgement:
    return rubric_of(session(*steps))


def checks_of(text: str, *done: Any, **prompt: Any) -> dict[str, bool | None]:
    return judged(asked(text, *done, **prompt)).checks


# --- the seven checks -----------------------------------------------------------------------------


@each_row("intent", INTENTS)
def test_each_intent_has_seven_checks_of_which_some_do_not_apply(intent: str) -> None:
    found = judged(ASKED[intent])
    assert found.intent == intent
    assert set(found.checks) == CHECKS
    assert {name for name, held in found.checks.items() if held is None} == SAYS_NOTHING_OF[intent]
    assert found.grade in LADDER


CONCRETE = "Fix the crash in till/sum.py when the basket is empty"
VAGUE = "Fix the crash when the basket is empty"
FIXED = (edit("till/sum.py"), "Fixed the crash.")


@pytest.mark.parametrize(
    ("check", "better", "worse"),
    [
        ("goal_explicit", asked(CONCRETE, *FIXED), asked("crash bug", *FIXED)),
        ("scope_bounded", asked(f"{VAGUE}, only touch the sum, nothing else", *FIXED), asked(VAGUE, *FIXED)),
        ("references_concrete", asked(CONCRETE, *FIXED), asked(VAGUE, *FIXED)),
        ("context_sufficient", asked(CONCRETE, *FIXED), asked("Fix the crash", *FIXED)),
        ("verification_requested", asked(f"{VAGUE} and make sure the tests pass", *FIXED), asked(VAGUE, *FIXED)),
        ("root_cause_oriented", asked(f"{VAGUE}, find the root cause first", *FIXED), asked(VAGUE, *FIXED)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_check_holds_for_the_better_prompt_and_not_for_the_worse(check: str, better: Step, worse: Step) -> None:
    assert [judged(step).checks[check] for step in (better, worse)] == [True, False]


@pytest.mark.parametrize(
    "text",
    [
        "Add an export of receipts. Make a plan first and show it to me before you write any code",
        "新增导出收据的命令，先做个计划再写代码",
        "レシートを書き出すコマンドを実装してください。まず計画を立ててください。",
    ],
    ids=["English", "Chinese", "Japanese"],
)
def test_asking_for_a_plan_first_counts_in_any_language(text: str) -> None:
    assert checks_of(text, BUILT, committed("feat: export"), "Added.")["plan_first"]


def test_a_plan_that_was_made_before_the_first_edit_counts_as_planned() -> None:
    text = "Add a command that exports all receipts as CSV"
    drawn = tool("plan", "# Export")
    assert checks_of(text, drawn, BUILT, "Added.")["plan_first"]
    assert not checks_of(text, BUILT, drawn, BUILT, "Added.")["plan_first"]
    assert not checks_of(text, BUILT, "Added.")["plan_first"]


def test_an_agent_that_has_to_ask_was_not_told_enough() -> None:
    answered = asked(CONCRETE, *FIXED)
    asks = asked(CONCRETE, look("till/sum.py"), "Should an empty basket be an error or sum to zero?")
    assert judged(answered).checks["context_sufficient"]
    assert not judged(asks, asked("zero", *FIXED)).checks["context_sufficient"]


def test_verification_that_is_asked_for_later_counts() -> None:
    assert judged(asked(VAGUE, *FIXED), asked("now run the tests", checked(), "Pass.")).checks["verification_requested"]


def test_a_picture_is_concrete() -> None:
    assert checks_of(VAGUE, *FIXED, images=1)["references_concrete"]


# --- the grade ------------------------------------------------------------------------------------


def test_the_grades_are_those_of_the_ladder_and_rise_with_every_check_that_holds() -> None:
    for held in product([True, False, None], repeat=len(CHECKS)):
        checks = dict(zip(sorted(CHECKS), held, strict=True))
        found = grade_checks(checks)
        if not any(value is not None for value in held):
            assert found is None
            continue
        assert found in LADDER
        better = grade_checks({name: None if value is None else True for name, value in checks.items()})
        assert better == "A+"
        assert rung(found) >= rung(better)


def rung(letter: str | None) -> int:
    assert letter is not None
    return LADDER.index(letter)


@given(st.dictionaries(st.sampled_from(sorted(CHECKS)), st.sampled_from([True, False, None]), min_size=1))
def test_one_more_check_that_holds_never_lowers_the_grade(checks: dict[str, bool | None]) -> None:
    for name, held in checks.items():
        if held is False:
            assert rung(grade_checks(checks | {name: True})) <= rung(grade_checks(checks))


def test_nothing_held_is_an_f_and_checks_that_do_not_apply_count_neither_way() -> None:
    assert grade_checks(dict.fromkeys(CHECKS, False)) == "F"
    assert grade_checks({"a": True, "b": None}) == "A+"


# --- title and summary ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("fix the crash when the basket is empty", "Fix the crash when the basket is empty"),
        ("Hi! Could you please fix the crash when the basket is empty?", "Fix the crash when the basket is empty?"),
        ("Fix the crash in the till. It happens at night.", "Fix the crash in the till"),
        ("**Fix** the [crash](https://example.org/12) of the till", "Fix the crash of the till"),
        ("修复购物篮为空时的崩溃。谢谢。", "修复购物篮为空时的崩溃。谢谢"),
    ],
)
def test_the_title_is_the_first_sentence_without_politeness_and_markup(text: str, title: str) -> None:
    assert judged(asked(text, *FIXED)).title == title


SPEC_KIT = """## User Input

```text
{argument}
```

You **MUST** consider the user input before proceeding (if not empty).

## Outline

The text the user typed after `/speckit.specify` in the triggering message **is** the feature description. Whoever reads
it must be able to build the feature without asking the person again, and must be able to test what was built.

1. Write the specification.
"""


@each_row(
    ("steps", "title"),
    [
        ((asked("hello, are you there?", "Yes."), asked("Round the sums half up", *FIXED)), "Round the sums half up"),
        ((asked("ok", "Yes."), asked("Round the sums half up", *FIXED)), "Round the sums half up"),
        ((asked("Perfect thats working", "."), asked("Round the sums half up", *FIXED)), "Round the sums half up"),
        ((asked("Unknown skill: till", "."), asked("Round the sums half up", *FIXED)), "Round the sums half up"),
        (
            (asked(SPEC_KIT.format(argument="Report what is in a drawer at night"), *FIXED),),
            "Report what is in a drawer at night",
        ),
        ((asked(SPEC_KIT.format(argument="T-12"), *FIXED),), "/speckit.specify T-12"),
        ((asked(SPEC_KIT.format(argument=""), *FIXED),), "/speckit.specify"),
        ((asked("/till-review", *FIXED, kind="command"),), "/till-review"),
        ((asked("Thanks, that works. Now round the sums half up", *FIXED),), "Round the sums half up"),
        ((asked("ありがとう、完璧です。合計を四捨五入してください", *FIXED),), "合計を四捨五入してください"),
        ((asked("/till-review the drawer", *FIXED, kind="command"),), "/till-review the drawer"),
        ((asked("---\ndescription: Reviews the till\n---\nLook at it.", *FIXED),), "Reviews the till"),
        (
            (asked("PLEASE IMPLEMENT THIS PLAN:\n# Split the till in two\n\n## Steps\n\n1. a", *FIXED),),
            "Split the till in two",
        ),
        (
            (asked("Compare https://www.example.org/a/b/?tab=prices#x with our prices", *FIXED),),
            "Compare example.org with our prices",
        ),
        (
            (asked("Look at https://github.com/ada/till/pull/12/files please", *FIXED),),
            "Look at ada/till/pull/12 please",
        ),
        (
            (asked("<system-reminder>be quick</system-reminder>Round the sums half up", *FIXED),),
            "Round the sums half up",
        ),
        ((asked("why?\n\nTypeError: no basket", *FIXED),), "Why? TypeError: no basket"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_title_names_the_goal_in_the_persons_words(steps: tuple[Step, ...], title: str) -> None:
    assert judged(*steps).title == title


def test_a_request_that_says_little_is_titled_by_what_was_committed() -> None:
    found = judged(asked("do it", BUILT, committed("feat: export receipts as CSV"), "Done."))
    assert found.title == "feat: export receipts as CSV"


def test_a_long_title_ends_with_a_whole_word_and_an_ellipsis() -> None:
    found = judged(asked("Fix the crash " + "when the basket is empty and the till is closed " * 3, *FIXED))
    assert len(found.title) <= 60
    assert found.title.endswith("…")
    assert found.title[:-1].split()[-1] in "when the basket is empty and the till is closed Fix crash".split()


def test_the_summary_says_what_was_asked_and_how_it_ended() -> None:
    found = judged(asked(VAGUE, edit("till/sum.py"), "Fixed the crash of empty baskets. Anything else?"))
    assert found.summary == f"{VAGUE} → Fixed the crash of empty baskets."
    assert judged(asked(VAGUE)).summary == f"{VAGUE} → no reply"


def test_what_nobody_asked_for_is_summed_up_too() -> None:
    assert judged().summary == "Nothing was asked → no reply"
    assert judged(asked("hi", "Hello!")).title == "Hi"


HOSTILE = st.one_of(
    texts,
    st.text(max_size=400),
    st.sampled_from(
        [
            "ß" * 90,
            "ﬁ" * 90,
            "x" * 5_000,
            "…" * 90,
            "[" * 300,
            "```" * 99,
            "\x1b[31m" * 40,
            " " * 300,
            "a\rb\x85c\u2028d" * 9,
        ]
    ),
)


@QUICK
@given(HOSTILE, HOSTILE, HOSTILE)
def test_title_and_summary_are_short_and_on_one_line_whatever_is_said(text: str, reply: str, named: str) -> None:
    turns = session(asked(text, edit("a.py"), committed(named), reply), asked("yes", reply))
    found = rubric_of(turns)
    assert len(found.title) <= 60
    assert len(found.summary) <= 240
    assert max(len(told.splitlines()) for told in (found.title, found.summary)) <= 1


@QUICK
@given(any_turns())
def test_any_turns_are_judged_the_same_way_twice_and_within_bounds(turns: Any) -> None:
    found = rubric_of(turns)
    assert found == rubric_of(turns)
    assert len(found.title) <= 60
    assert len(found.summary) <= 240
    assert found.grade in (*LADDER, None)
    assert set(found.checks) == (CHECKS if found.intent else set())


def test_a_sentence_that_has_a_word_of_thanks_in_it_is_no_thanks() -> None:
    assert rubric_of(session(asked('The test "tides are sorted" is flaky. Make it reliable.', "Done."))).title == (
        'The test "tides are sorted" is flaky'
    )
