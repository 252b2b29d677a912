"""What a session was after."""

from typing import Any

import pytest
from hypothesis import given

from assay.judges.offline.intent import (
    RubricWeights,
    from_names,
    from_prompts,
    from_replies,
    from_work,
    judge_intent,
)
from assay.resources import load_table
from assay.types import Call, Mark
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
    shell,
    tool,
)
from tests.tables import each_row

READ = tuple(look(f"import/part{n}.py") for n in range(12))
LOOKED = (shell("git diff main"), *READ[:5])
PLANNED = edit("docs/plan.md", added=60, removed=0, how="create")
RELABELLED = edit("till/button.py", added=1, removed=1)
REPAIRED = (look("till/sum.py"), edit("till/sum.py", added=12, removed=3), checked())
BUILT = (edit("till/export.py", "till/cli.py", added=120, removed=0, how="create"), checked())
TIDIED = (edit("till/discount.py", added=40, removed=90), checked())
WORKED = edit("till/a.py", "till/b.py", added=40, removed=10)


def intent_of(*steps: Step) -> str | None:
    return rubric_of(session(*steps)).intent


# --- clear cases --------------------------------------------------------------------------------

CASES: list[tuple[str, str, str, tuple[Call, ...], str]] = [
    ("question", "en", "What is the difference between a tuple and a list in Python?", (), "A tuple cannot change."),
    ("question", "zh", "Python 里元组和列表有什么区别？", (), "元组不可变，列表可变。"),
    ("question", "ja", "Pythonのタプルとリストの違いは何ですか？", (), "タプルは変更できません。"),
    ("question", "de", "Was ist der Unterschied zwischen einem Tupel und einer Liste?", (), "Ein Tupel bleibt gleich."),
    ("question", "ko", "파이썬에서 튜플과 리스트의 차이가 뭐예요?", (), "튜플은 변경할 수 없습니다."),
    ("question", "es", "¿Cuál es la diferencia entre una tupla y una lista?", (), "Una tupla es inmutable."),
    (
        "investigation",
        "en",
        "Investigate why the nightly import takes three hours, don't change anything, report back with the root cause",
        READ,
        "The root cause is a query per row.",
    ),
    (
        "investigation",
        "zh",
        "调查一下为什么夜间导入需要三个小时，先不要改代码，分析根本原因",
        READ,
        "根本原因是每行都查询一次。",
    ),
    (
        "investigation",
        "ja",
        "夜間の取り込みに三時間かかる原因を調査してください。コードは変更しないでください。",
        READ,
        "原因は行ごとのクエリです。",
    ),
    (
        "investigation",
        "de",
        "Untersuche, warum der nächtliche Import drei Stunden dauert, ändere nichts, finde nur die Ursache",
        READ,
        "Die Ursache ist eine Abfrage je Zeile.",
    ),
    (
        "review",
        "en",
        "Review the changes on this branch before I merge them https://github.com/ada/till/pull/12",
        LOOKED,
        "Two issues: a missing lock and a missing test.",
    ),
    ("review", "zh", "请审查一下这个分支的改动，看看有没有问题", LOOKED, "发现两个问题。"),
    ("review", "ja", "このブランチの変更をレビューしてください", LOOKED, "問題が二つあります。"),
    ("review", "de", "Mach bitte ein Review der Änderungen auf diesem Branch", LOOKED, "Zwei Probleme."),
    (
        "plan",
        "en",
        "Plan how we would split the till into services, write the design proposal to docs/plan.md, no code yet",
        (PLANNED,),
        "The plan has three phases.",
    ),
    ("plan", "zh", "先制定一个把收银台拆分成服务的方案，写到 docs/plan.md，不要写代码", (PLANNED,), "方案分三个阶段。"),
    (
        "plan",
        "ja",
        "レジをサービスに分割する計画を立てて docs/plan.md に書いてください。実装はまだしないでください。",
        (PLANNED,),
        "計画は三段階です。",
    ),
    (
        "plan",
        "de",
        "Plane, wie wir die Kasse in Dienste aufteilen, schreibe den Entwurf nach docs/plan.md, noch kein Code",
        (PLANNED,),
        "Der Plan hat drei Phasen.",
    ),
    ("small_change", "en", "Rename the button label from Save to Keep", (RELABELLED,), "Renamed."),
    ("small_change", "zh", "把按钮的文字从“保存”改成“保留”", (RELABELLED,), "已修改。"),
    (
        "small_change",
        "ja",
        "ボタンのラベルを「保存」から「保持」に変更してください",
        (RELABELLED,),
        "変更しました。",
    ),
    ("small_change", "de", "Ändere die Beschriftung des Knopfes auf Behalten", (RELABELLED,), "Geändert."),
    ("bug_fix", "en", "Fix the crash when the basket is empty", REPAIRED, "Fixed the crash."),
    ("bug_fix", "zh", "购物篮为空时程序崩溃了，请修复", REPAIRED, "已修复。"),
    ("bug_fix", "ja", "買い物かごが空だとクラッシュするので修正してください", REPAIRED, "修正しました。"),
    ("bug_fix", "de", "Behebe den Absturz bei leerem Korb", REPAIRED, "Behoben."),
    ("bug_fix", "ko", "장바구니가 비어 있으면 크래시가 나요. 고쳐 주세요.", REPAIRED, "수정했습니다."),
    ("bug_fix", "es", "Arregla el fallo cuando la cesta está vacía", REPAIRED, "Arreglado."),
    ("bug_fix", "fr", "Corrige le plantage quand le panier est vide", REPAIRED, "Corrigé."),
    ("bug_fix", "ru", "Исправь падение при пустой корзине", REPAIRED, "Исправлено."),
    (
        "feature",
        "en",
        "Add a command that exports all receipts as CSV, with a flag for the year",
        BUILT,
        "Added the export command.",
    ),
    ("feature", "zh", "新增一个把所有收据导出为 CSV 的命令，支持按年份筛选", BUILT, "已实现。"),
    ("feature", "ja", "すべてのレシートをCSVに書き出すコマンドを実装してください", BUILT, "実装しました。"),
    ("feature", "de", "Implementiere einen Befehl, der alle Belege als CSV exportiert", BUILT, "Der Befehl ist da."),
    ("feature", "ko", "모든 영수증을 CSV로 내보내는 명령을 추가해 주세요", BUILT, "추가했습니다."),
    (
        "refactor",
        "en",
        "Refactor the discount module: extract the duplicated rounding into one function, same behaviour",
        TIDIED,
        "Extracted the rounding.",
    ),
    ("refactor", "zh", "重构折扣模块，把重复的取整逻辑抽取成一个函数", TIDIED, "已重构。"),
    (
        "refactor",
        "ja",
        "割引モジュールをリファクタリングして、重複した丸め処理を一つの関数に抽出してください",
        TIDIED,
        "リファクタリングしました。",
    ),
    ("refactor", "de", "Refaktoriere das Rabattmodul und ziehe die doppelte Rundung heraus", TIDIED, "Refaktoriert."),
]


@each_row(("intent", "language", "text", "calls", "reply"), CASES, ids=[f"{case[0]} {case[1]}" for case in CASES])
def test_a_clear_request_that_was_carried_out_has_its_intent(
    intent: str, language: str, text: str, calls: tuple[Call, ...], reply: str
) -> None:
    found = rubric_of(session(asked(text, *calls, reply)))
    assert found.intent == intent
    assert found.reasons


def test_the_cases_cover_all_eight_intents() -> None:
    assert {case[0] for case in CASES} == set(INTENTS)


# --- names --------------------------------------------------------------------------------------


@each_row(
    ("call", "intent"),
    [
        (committed("fix: sum of an empty basket"), "bug_fix"),
        (committed("feat(export): receipts as CSV"), "feature"),
        (committed("refactor!: extract the rounding"), "refactor"),
        (
            shell("git commit -m \"$(cat <<'EOF'\nfix(till): sum of an empty basket\n\nLong.\nEOF\n)\"", "commit"),
            "bug_fix",
        ),
        (shell("gh pr create --title 'feat: receipts as CSV' --body x", "pr", mutates=True), "feature"),
        (shell("gh pr create --base main --title 'fix: empty basket'", "pr", mutates=True), "bug_fix"),
        (shell("git switch -c refactor/rounding", mutates=True), "refactor"),
        (shell("git checkout -b fix/empty-basket", mutates=True), "bug_fix"),
    ],
    ids=lambda value: value.command.split("\n")[-1][:40] if isinstance(value, Call) else "",
)
def test_where_the_words_say_nothing_a_commit_pull_request_or_branch_names_the_intent(call: Call, intent: str) -> None:
    assert intent_of(asked("work on the till", WORKED, call, "See above.")) == intent


def test_a_name_that_was_refused_names_nothing() -> None:
    refused = shell("git switch -c refactor/rounding", status="rejected")
    assert intent_of(asked("work on the till", refused, WORKED)) == intent_of(asked("work on the till", WORKED))


@pytest.mark.parametrize(
    ("text", "intent"),
    [("/review 12", "review"), ("/plan the export", "plan"), ("/explain till.py", "question")],
)
def test_a_slash_command_names_the_intent(text: str, intent: str) -> None:
    assert intent_of(asked(text, "Looking.", kind="command")) == intent


@each_row(
    "text",
    [
        "Does till-sync handle any ref or just branches",
        "Can the till handle gift cards?",
        "is the export supporting v1.2",
    ],
)
def test_one_question_after_which_nothing_was_changed_asks_for_no_change(text: str) -> None:
    assert intent_of(asked(text, look("till/sum.py"), "Only branches.")) == "question"


@each_row(
    "text", ["Can you handle gift cards in the till", "Is it odd? Handle gift cards.", "Do the handling of gift cards"]
)
def test_a_polite_request_is_no_question(text: str) -> None:
    assert intent_of(asked(text, look("till/sum.py"), WORKED)) not in ("question", "investigation")


@pytest.mark.parametrize("kind", ["command", "typed"])
def test_a_slash_command_is_no_small_talk(kind: Any) -> None:
    assert intent_of(asked("/fix-issue 12", "Looking.", kind=kind)) is not None


# --- what was pasted and done -------------------------------------------------------------------


@pytest.mark.parametrize(
    "pasted",
    [
        'Traceback (most recent call last):\n  File "till/sum.py", line 12, in total\nTypeError: unsupported operand',
        "TypeError: basket is undefined\n    at total (/till/sum.js:12:5)\n    at main (/till/main.js:1:1)",
        "--- FAIL: TestSum (0.00s)\n    sum_test.go:12: want 0, got -1",
        "error[E0382]: borrow of moved value: `basket`",
        "npm ERR! code ELIFECYCLE",
    ],
    ids=["Python", "Node", "Go", "Rust", "npm"],
)
def test_a_pasted_error_and_a_change_are_a_bug_fix(pasted: str) -> None:
    assert intent_of(asked(pasted, *REPAIRED, "It handles that now.")) == "bug_fix"


def test_a_pasted_stack_is_told_by_its_frames_alone() -> None:
    turns = session(asked("this:\n    at total (/till/sum.js:12:5)\n    at main (/till/main.js:1:1)", *REPAIRED))
    assert "pasted_error" in kinds(*turns)


def test_a_question_that_changes_nothing_is_a_question_and_one_that_reads_much_an_investigation() -> None:
    text = "Why is the nightly import slower than the one at noon?"
    assert intent_of(asked(text, *READ, "The root cause is a query per row. " * 15)) == "investigation"
    assert intent_of(asked("What does the flag --dry do?", "It prints.")) == "question"


def test_documents_alone_are_no_feature() -> None:
    written = edit("docs/export.md", added=50, removed=0, how="create")
    assert intent_of(asked("Write documentation for the export command", written, "Written.")) == "small_change"
    updated = edit("README.md", added=12, removed=4)
    assert intent_of(asked("Update the readme with the new install steps", updated, "Updated it.")) == "small_change"


def test_a_plan_that_was_made_and_never_built_is_a_plan() -> None:
    text = "Design the migration of receipts to SQLite"
    drawn = tool("plan", "# Migrate receipts")
    assert intent_of(asked(text, look("till.py"), drawn, "Here is the plan.")) == "plan"
    assert intent_of(asked("Add an export of receipts to SQLite", drawn, *BUILT, "Added.")) == "feature"


def test_an_accepted_plan_that_opens_a_conversation_is_built() -> None:
    assert intent_of(asked("# Export receipts\n\n## Steps\n- write", *BUILT, "Done.", kind="plan")) == "feature"


@each_row(
    "broken",
    [(), (Mark(kind="interrupt", at=""),), (Mark(kind="api_error", at=""),), (look("till/cli.py"),)],
    ids=["unanswered", "interrupted", "service failed", "in the middle of work"],
)
@each_row(
    ("text", "intent"),
    [
        ("Implement the export of receipts", "feature"),
        ("Fix the crash when the basket is empty", "bug_fix"),
        ("Refactor the discount module, same behaviour", "refactor"),
    ],
)
def test_a_session_that_was_cut_short_is_judged_by_its_words(text: str, intent: str, broken: tuple[Any, ...]) -> None:
    assert intent_of(asked(text, *broken)) == intent


def test_a_greeting_before_the_request_changes_nothing() -> None:
    request = asked("Fix the crash when the basket is empty", *REPAIRED, "Fixed.")
    assert intent_of(asked("hi", "Hello!"), request) == intent_of(request) == "bug_fix"


def test_a_go_ahead_a_chore_and_thanks_after_the_request_change_nothing() -> None:
    request = asked("Add a command that exports all receipts as CSV", *BUILT, "Added.")
    later = (asked("ok", "Good."), asked("commit and push", committed(), "Pushed."), asked("thanks!", "Welcome."))
    assert intent_of(request, *later) == "feature"


# --- no goal ------------------------------------------------------------------------------------


SMALL_TALK = (
    "hi", "hello there", "ok", "thanks!", "", "   ", "你好", "谢谢", "こんにちは", "ありがとうございます", "안녕하세요",
    "hallo", "hola", "bonjour", "привет",
)  # fmt: skip


@each_row("text", SMALL_TALK)
def test_small_talk_has_no_intent(text: str) -> None:
    found = rubric_of(session(asked(text, "Hello! How can I help?")))
    assert (found.intent, found.grade, found.checks, found.reasons) == (None, None, {}, ())


@each_row(
    ("text", "intent"),
    [
        ("read docs/plan.md and then implement step 2", "feature"),
        ("take a look at till/sum.py, then refactor it into two modules", "refactor"),
        ("look at the failing test and fix it", "bug_fix"),
        ("先看一下README，然后修复登录的bug", "bug_fix"),
        ("请阅读 docs/plan.md，然后实现第二步", "feature"),
        ("READMEを読んで、ログインのバグを修正してください", "bug_fix"),
        ("コードを確認して、テストを追加して", "feature"),
        ("이슈를 확인하고 버그를 수정해주세요", "bug_fix"),
        ("don't change anything, just review the diff", "review"),
        ("do not fix it yet, explain why it fails", "question"),
        ("without adding tests, rename the button", "small_change"),
        ("review plan.md", "review"),
        ("investigate why the import is slow", "investigation"),
    ],
)
def test_the_last_step_of_a_request_is_what_is_wanted_and_denied_words_and_file_names_are_not(
    text: str, intent: str
) -> None:
    assert intent_of(asked(text, "I see.")) == intent


def test_a_template_says_by_its_name_what_is_wanted() -> None:
    argument = "Feature: a drawer that opens by itself. Write the sums to the screen and support coins."
    wrote = edit("specs/001-drawer/spec.md", added=80, removed=0, how="create")
    assert intent_of(asked(f"/speckit.specify {argument}", wrote, "Done.", kind="command")) == "plan"


def test_any_markdown_file_is_no_plan() -> None:
    wrote = edit("docs/design/rules.md", "docs/plan-template.md", added=8, removed=3)
    assert (
        intent_of(asked("Update the rules of the plan: sums are rounded half up", wrote, "Updated.")) == "small_change"
    )


def test_nobody_asking_for_anything_is_no_goal() -> None:
    assert intent_of() is None
    assert intent_of(asked(None, "I am ready.")) is None


def test_a_sub_agents_file_without_its_parent_has_no_goal_whatever_it_did() -> None:
    assert intent_of(asked(None, WORKED)) is None


def test_small_talk_that_work_was_done_on_is_a_goal() -> None:
    assert intent_of(asked("hello", WORKED)) is not None


@each_row(
    "text",
    [
        "hello, are you there?", "Hey!", "hi how are you", "good morning", "test", "您好，在吗？", "もしもし、いますか",
        "Hallo, bist du da?", "You are a grumpy pirate. Speak like one from now on.", "Act as a linux terminal",
        "Du bist ein erfahrener Koch", "你是一名资深工程师", "Unknown skill: till-review",
        "[Request interrupted by user]", "<local-command-stdout>bye</local-command-stdout>",
    ],
)  # fmt: skip
def test_greetings_roles_and_client_messages_have_no_goal(text: str) -> None:
    assert intent_of(asked(text, "Hello! " + "How can I help? " * 20)) is None


@each_row(
    "text",
    [
        "hello, can you fix the sum?", "You are a senior engineer. Review this diff.", "round the sums",
        "You are my accountant: what is VAT?", "hi, the till is broken", "[Image #1] fix the layout",
        "https://github.com/ada/till/issues/12",
    ],
)  # fmt: skip
def test_a_greeting_or_role_before_a_request_takes_nothing_from_it(text: str) -> None:
    assert intent_of(asked(text, "Done.")) is not None


def test_a_picture_is_more_than_small_talk() -> None:
    assert intent_of(asked("", "I see a broken layout.", images=1)) is not None


# --- the table ----------------------------------------------------------------------------------

SIGNS: dict[str, tuple[Step, ...]] = {
    "pasted_error": (asked("TypeError: no basket", *REPAIRED),),
    "tells_a_problem": (asked("the sum of an empty basket is -1", RELABELLED, "It is 0 now."),),
    "complained_later": (asked("Fix the sum", WORKED), asked("it is still wrong", WORKED)),
    "planned_on_paper": (asked("Plan the export of receipts", PLANNED),),
    "asks_question": (asked("What is a till?", "A drawer."),),
    "names_pull_request": (asked("look at https://github.com/ada/till/pull/12", "Seen."),),
    "names_issue": (asked("solve issue #12", WORKED),),
    "nothing_changed": (asked("What is a till?", "A drawer."),),
    "changed": (asked("Fix the sum", WORKED),),
    "changed_code": (asked("Fix the sum", WORKED),),
    "little_read": (asked("What is a till?", "A drawer."),),
    "much_read": (asked("What is slow here?", *READ, "The import."),),
    "small_edit": (asked("Rename the button", RELABELLED),),
    "large_edit": (asked("Add the export", *BUILT),),
    "new_files": (asked("Add the export", *BUILT),),
    "removes_more": (asked("Tidy up", *TIDIED),),
    "many_files_few_lines": (asked("Rename it", edit(*(f"{n}.py" for n in range(6)), added=2, removed=2)),),
    "only_documents": (asked("Update the readme", edit("README.md")),),
    "plan_document": (asked("Write it down", PLANNED),),
    "plan_mode": (asked("Plan it", tool("plan", "# Plan")),),
    "plan_never_built": (asked("Plan it", tool("plan", "# Plan")),),
    "failing_then_passing": (asked("Fix the sum", checked("failed"), WORKED, checked()),),
    "says_not": (asked("the sum does not match the receipts", WORKED),),
    "carried_plan": (asked("# Export receipts", *BUILT, kind="plan"),),
}
"""For every sign a session that shows it."""


def kinds(*turns: Any) -> set[str]:
    """All evidence, whatever intent it is for."""
    weights = load_table("assay.judges.offline", "rubric.toml", RubricWeights)
    return {
        piece.kind
        for collect in (from_prompts, from_replies, from_work, from_names)
        for piece in collect(turns, weights)
    }


def test_the_sessions_cover_every_sign_in_the_weights() -> None:
    assert set(SIGNS) == set(load_table("assay.judges.offline", "rubric.toml", RubricWeights).signs)


@each_row("sign", SIGNS)
def test_every_sign_in_the_weights_is_shown_by_some_session(sign: str) -> None:
    assert sign in kinds(*session(*SIGNS[sign]))


def test_the_weights_speak_of_all_eight_intents_and_of_no_other() -> None:
    weights = load_table("assay.judges.offline", "rubric.toml", RubricWeights)
    for part in (weights.phrases.intents, weights.names.words):
        assert set(part) == set(INTENTS)
    assert all(adds and all(adds.values()) for adds in weights.signs.values())


def test_what_is_quoted_stands_in_the_turn_it_is_quoted_from() -> None:
    turns = session(
        asked(
            "```\nnot code\n```\nhttps://example.org/not\n\nplease note:\nthe sum does not match the receipts", WORKED
        )
    )
    weights = load_table("assay.judges.offline", "rubric.toml", RubricWeights)
    (quote,) = (piece.quote for piece in from_prompts(turns, weights) if piece.kind == "says_not")
    assert quote == "the sum does not match the receipts"


@QUICK
@given(any_turns())
def test_any_turns_have_an_intent_of_the_eight_or_none_with_reasons_inside_the_session(turns: Any) -> None:
    found = judge_intent(turns)
    assert found == judge_intent(turns)
    if found is None:
        return
    assert found.intent != found.second
    assert {found.intent, found.second} <= set(INTENTS)
    assert 1 / len(INTENTS) <= found.chance <= 1
    assert all(1 <= reason.turn <= len(turns) and reason.weight for reason in found.reasons)


def test_where_two_intents_look_alike_what_they_come_down_to_is_told() -> None:
    found = judge_intent(session(asked("change the colour of the sum and fix the sum", edit("till/sum.py"), "Done.")))
    assert found is not None
    assert found.aim == "change"
    assert {found.intent, found.second} <= {"small_change", "bug_fix", "feature", "refactor"}
