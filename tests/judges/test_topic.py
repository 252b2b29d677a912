"""Where the offline judge sees a new goal begin."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.judges.offline.topic import Scorecard, measure_gaps
from assay.resources import load_table
from assay.types import Gap
from tests.judges.make_turns import (
    DAY,
    QUICK,
    Step,
    any_turns,
    asked,
    checked,
    committed,
    edit,
    look,
    session,
    shell,
    texts,
    topic_of,
)
from tests.tables import each_row

EARLIER = {
    "en": (
        asked(
            "The till shows the wrong sum when a discount is applied to an empty basket, please fix the rounding",
            look("till/sum.py"),
            edit("till/sum.py", "till/discount.py"),
            checked(),
            "Fixed the rounding of discounts in till/sum.py; an empty basket now sums to zero. All tests pass.",
        ),
        asked(
            "also cover the discount of an empty basket with a test",
            edit("tests/test_sum.py", "till/sum.py"),
            checked(),
            "Added a test for the discount of an empty basket in tests/test_sum.py. All tests pass.",
        ),
    ),
    "zh": (
        asked(
            "购物篮为空时打折后的总额不对，请修复四舍五入的问题",
            edit("till/sum.py", "till/discount.py"),
            checked(),
            "已修复折扣的四舍五入，空购物篮的总额现在为零，所有测试通过。",
        ),
        asked(
            "再给空购物篮的折扣补一个测试",
            edit("tests/test_sum.py", "till/sum.py"),
            checked(),
            "已为空购物篮的折扣添加测试，所有测试通过。",
        ),
    ),
    "ja": (
        asked(
            "買い物かごが空のとき割引後の合計がおかしいので、丸め処理を修正してください。",
            edit("till/sum.py", "till/discount.py"),
            checked(),
            "割引の丸め処理を修正しました。空の買い物かごの合計はゼロになります。テストはすべて通ります。",
        ),
        asked(
            "空の買い物かごの割引のテストも追加してください。",
            edit("tests/test_sum.py", "till/sum.py"),
            checked(),
            "空の買い物かごの割引のテストを追加しました。テストはすべて通ります。",
        ),
    ),
    "de": (
        asked(
            "Die Kasse zeigt eine falsche Summe, wenn ein Rabatt auf einen leeren Korb kommt, bitte behebe die Rundung",
            edit("till/sum.py", "till/discount.py"),
            checked(),
            "Die Rundung der Rabatte ist behoben; ein leerer Korb ergibt jetzt null. Alle Tests laufen durch.",
        ),
        asked(
            "ergänze auch einen Test für den Rabatt auf einen leeren Korb",
            edit("tests/test_sum.py", "till/sum.py"),
            checked(),
            "Ein Test für den Rabatt auf einen leeren Korb ist da. Alle Tests laufen durch.",
        ),
    ),
}
"""Work that is finished: a fix and its test."""

DARK_MODE = edit("mobile/Settings.tsx", "mobile/theme.ts")


def step_to(step: Step, language: str = "en", apart: float = 10.0) -> Gap:
    """What is said of the step to a prompt after finished work."""
    return topic_of(session(*EARLIER[language], step, apart=apart))[-1]


# --- new goals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "text", "reply"),
    [
        (
            "en",
            "New task: set up a workflow that publishes the documentation website on every release",
            "Created the workflow that publishes the documentation website.",
        ),
        (
            "en",
            "Now let's move on to something else: implement dark mode for the settings screen of the mobile app",
            "Implemented dark mode on the settings screen of the mobile app.",
        ),
        (
            "zh",
            "新任务：给移动应用的设置页面实现深色模式，颜色参考设计文档里的调色板",
            "已在移动应用的设置页面实现深色模式。",
        ),
        (
            "ja",
            "次のタスクです。モバイルアプリの設定画面にダークモードを実装してください。配色はデザイン資料に従ってください。",
            "モバイルアプリの設定画面にダークモードを実装しました。",
        ),
        (
            "de",
            "Neue Aufgabe: implementiere einen dunklen Modus für die Einstellungen der mobilen App",
            "Der dunkle Modus für die Einstellungen der mobilen App ist fertig.",
        ),
    ],
    ids=["English, new task", "English, moving on", "Chinese", "Japanese", "German"],
)
def test_an_unrelated_request_on_other_files_after_finished_work_is_a_new_goal(
    language: str, text: str, reply: str
) -> None:
    found = step_to(asked(text, DARK_MODE, reply), language)
    assert found.is_shift
    assert found.confidence > 0.5


def test_a_cue_makes_a_new_goal_likelier() -> None:
    text = "implement dark mode for the settings screen of the mobile app"
    plain = step_to(asked(text, DARK_MODE, "Implemented dark mode."))
    cued = step_to(asked(f"Something else: {text}", DARK_MODE, "Implemented dark mode."))
    assert cued.confidence > plain.confidence
    assert "something new" in cued.evidence


def test_the_same_request_on_the_same_files_is_less_of_a_new_goal_than_on_others() -> None:
    text = "implement dark mode for the settings screen of the mobile app"
    others = step_to(asked(text, DARK_MODE, "Implemented dark mode."))
    same = step_to(asked(text, edit("till/sum.py"), "Implemented dark mode."))
    assert same.confidence < others.confidence


# --- the old goal -------------------------------------------------------------------------------

SUM_AGAIN = edit("till/sum.py")
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "till/sum.py", line 12, in total\n'
    "    return sum(basket) - discount\n"
    "TypeError: unsupported operand type(s) for -: 'int' and 'NoneType'\n"
)
STAYS: dict[str, tuple[str, Step]] = {
    "yes": ("en", asked("yes", SUM_AGAIN, "Done.")),
    "ok": ("en", asked("ok", "Great.")),
    "thanks": ("en", asked("thanks!", "You're welcome.")),
    "go ahead": ("en", asked("go ahead", SUM_AGAIN, "Done.")),
    "yes, in Chinese": ("zh", asked("好的，继续", SUM_AGAIN, "已完成。")),
    "yes, in Japanese": ("ja", asked("はい、お願いします", SUM_AGAIN, "完了しました。")),
    "yes, in German": ("de", asked("ja, mach das", SUM_AGAIN, "Erledigt.")),
    "commit and push": ("en", asked("commit and push", committed(), "Committed and pushed.")),
    "commit and push, in Chinese": ("zh", asked("提交并推送", committed(), "已提交并推送。")),
    "pull request": ("en", asked("open a PR", shell("gh pr create --fill", "pr", "passed"), "Opened.")),
    "complaint": (
        "en",
        asked("that's still wrong, the sum of an empty basket is -1 now", SUM_AGAIN, checked(), "Fixed the sum."),
    ),
    "complaint, in German": (
        "de",
        asked("das ist immer noch falsch, ein leerer Korb ergibt jetzt -1", SUM_AGAIN, checked(), "Behoben."),
    ),
    "the same files": (
        "en",
        asked(
            "Round the discount down instead of up when the basket holds gift cards",
            edit("till/sum.py", "till/discount.py"),
            "The discount is rounded down for gift cards.",
        ),
    ),
    "pasted error": ("en", asked(TRACEBACK * 3, SUM_AGAIN, "Fixed the TypeError in till/sum.py.")),
    "the same prompt again": (
        "en",
        asked("also cover the discount of an empty basket with a test", edit("tests/test_sum.py"), "Covered."),
    ),
}


@each_row("apart", [0.1, 10, 30 * DAY], ids=["at once", "soon", "a month later"])
@each_row("name", STAYS)
def test_whoever_goes_on_with_the_work_begins_no_new_goal_however_long_the_pause(name: str, apart: float) -> None:
    language, step = STAYS[name]
    found = step_to(step, language, apart)
    assert not found.is_shift
    assert found.confidence < 0.5


def test_an_answer_to_the_agents_question_is_no_new_goal() -> None:
    turns = session(
        asked(
            "Store the receipts of the till somewhere they survive a restart",
            look("till/receipts.py"),
            "I can keep receipts in SQLite or in one JSON file per day. Which one would you prefer?",
        ),
        asked("SQLite, with one table per year", edit("till/receipts.py"), "Receipts are kept in SQLite now."),
    )
    assert not topic_of(turns)[0].is_shift


@pytest.mark.parametrize("apart", [10, 30 * DAY], ids=["soon", "a month later"])
def test_prompts_about_the_same_thing_are_one_goal_at_any_distance(apart: float) -> None:
    parts = ["rounding", "discount", "gift card", "receipt", "refund"]
    turns = session(
        *(
            asked(
                f"Fix the {part} in the sum of the till",
                edit("till/sum.py"),
                f"Fixed the {part} in the sum of the till.",
            )
            for part in parts
        ),
        apart=apart,
    )
    assert not any(found.is_shift for found in topic_of(turns))


STEPS = st.builds(asked, texts, st.builds(edit, st.sampled_from(["till/sum.py", "mobile/theme.ts"])), texts)


@QUICK
@given(st.lists(STEPS, min_size=2, max_size=6))
def test_a_pause_makes_a_new_goal_likelier_never_less(steps_: list[Step]) -> None:
    soon, later = (topic_of(session(*EARLIER["en"], *steps_, apart=apart)) for apart in (10, 30 * DAY))
    assert all(one.confidence <= other.confidence for one, other in zip(soon, later, strict=True))


# --- the form of what is said -------------------------------------------------------------------


def test_there_is_one_gap_for_each_prompt_after_the_first() -> None:
    turns = session(asked(None, "hello"), *EARLIER["en"], asked(None, "still here"), asked("go on", "Done."))
    assert [found.turn for found in topic_of(turns)] == [2, 4]


@pytest.mark.parametrize("steps_", [(), (asked("fix it", "Done."),), (asked(None, "hello"), asked(None, "hello"))])
def test_without_two_prompts_there_is_no_gap(steps_: tuple[Step, ...]) -> None:
    assert topic_of(session(*steps_)) == ()


def test_times_that_are_none_change_nothing() -> None:
    turns = session(*EARLIER["en"], asked("yes", SUM_AGAIN, "Done."))
    untimed = [type(turn)(prompt=turn.prompt, replies=turn.replies, calls=turn.calls) for turn in turns]
    assert not any(found.is_shift for found in topic_of(untimed))


@QUICK
@given(any_turns())
def test_any_turns_get_a_gap_per_step_with_evidence_and_a_probability(turns: Any) -> None:
    found = topic_of(turns)
    prompts = [n for n, turn in enumerate(turns) if turn.prompt]
    assert [gap.turn for gap in found] == [after for _, after in pairwise(prompts)]
    assert all(0 <= gap.confidence <= 1 and gap.evidence for gap in found)
    assert found == topic_of(turns)


@QUICK
@given(any_turns())
def test_every_sign_has_a_weight_and_every_weight_a_sign(turns: Any) -> None:
    weights = load_table("assay.judges.offline", "topic.toml", Scorecard).signs
    assert all(set(signs) == set(weights) for _, signs in measure_gaps(turns))


def test_every_sign_says_something() -> None:
    card = load_table("assay.judges.offline", "topic.toml", Scorecard)
    assert all(sign.says and sign.weight for sign in card.signs.values())
