"""How a run of turns ends."""

import time
from typing import Any

import pytest
from hypothesis import given

from assay.sessions.endings import (
    BROKEN_ENDINGS,
    LAST_WORDS,
    Ending,
    EndingKind,
    find_ending,
    is_announcing_more,
    quote_tail,
)
from assay.types import Call, Mark, Turn
from tests.judges.make_turns import QUICK, any_turns, asked, checked, committed, edit, look, session, shell, tool
from tests.tables import each_row

STOPPED = Mark(kind="interrupt", at="")
FAILED = Mark(kind="api_error", at="")
FIX = edit("till/sum.py")


def by_helper(call: Call) -> Call:
    return Call(id="h", at="", name=call.name, kind=call.kind, command=call.command, status=call.status, by="a1")


def end_of(*done: Any, text: str = "round the sums") -> Ending:
    """How a session of one prompt ends."""
    return find_ending(session(asked(text, *done)))


# --- one turn -----------------------------------------------------------------------------------


@each_row(
    ("kind", "done", "quote"),
    [
        ("answered", ["Sums are rounded."], "Sums are rounded."),
        ("answered", [FIX, checked(), "I looked.\n\nSums are rounded. All is well."], "All is well."),
        ("answered", [FIX, "Rounded.", by_helper(shell("ls"))], "Rounded."),
        ("answered", [FIX, STOPPED, "Rounded."], "Rounded."),
        ("answered", [FAILED, "Rounded."], "Rounded."),
        ("answered", ["Should I commit?"], "Should I commit?"),
        ("unanswered", [], "round the sums"),
        ("unanswered", ["  \n"], "round the sums"),
        ("unanswered", [by_helper(shell("ls"))], "round the sums"),
        ("api_error", ["Rounding.", FAILED], "Rounding."),
        ("api_error", [FIX, FAILED], "round the sums"),
        ("api_error", ["API Error: 529 overloaded"], "API Error: 529 overloaded"),
        ("interrupted", [STOPPED], "round the sums"),
        ("interrupted", ["Rounding.", FIX, STOPPED], "till/sum.py"),
        ("interrupted", [shell("pytest -q", status="interrupted")], "pytest -q"),
        ("interrupted", ["Rounding half up, as asked.", STOPPED], "Rounding half up, as asked."),
        ("interrupted", ["First the sums.", tool("plan", "", "interrupted"), STOPPED], "First the sums."),
        ("mid_work", [shell("npm run dev", status="interrupted")], "npm run dev"),
        ("mid_work", [FIX, shell("cd web && pnpm dev", status="interrupted"), STOPPED], "cd web && pnpm dev"),
        ("interrupted", [shell("npm run devour", status="interrupted")], "npm run devour"),
        ("rejected", ["Rounding.", shell("rm -r till", status="rejected")], "rm -r till"),
        ("rejected", [shell("rm -r till", status="denied")], "rm -r till"),
        ("rejected", [tool("plan", "Round first.", "rejected")], "Round first."),
        ("rejected", [tool("ask", "Which?", "interrupted")], "Which?"),
        ("pending", [tool("plan", "Round first.", "open")], "Round first."),
        ("pending", ["Two ways.", tool("ask", "Which?", "open")], "Which?"),
        ("landed", [FIX, committed()], 'git commit -am "sums"'),
        ("landed", [shell("git push", "push", status="open")], "git push"),
        ("landed", [shell("gh pr create", "pr", "passed")], "gh pr create"),
        ("mid_work", [shell("git push", "push", "failed")], "git push"),
        ("mid_work", [FIX], "till/sum.py"),
        ("mid_work", ["Reading.", look("till/sum.py")], "till/sum.py"),
        ("mid_work", [tool("plan", "Round first.", "ok")], "Round first."),
        ("mid_work", [tool("todo")], "round the sums"),
        ("announces_more", [FIX, "Rounded. Now let me run the tests."], "Now let me run the tests."),
        ("announces_more", ["I'll look at these files:"], "I'll look at these files:"),
    ],
)
def test_a_turn_ends_with_what_happened_last(kind: EndingKind, done: list[Any], quote: str) -> None:
    assert end_of(*done) == Ending(kind, 1, quote)


def test_words_and_a_call_of_the_same_moment_end_with_the_call() -> None:
    (one,) = session(asked("round the sums", "Rounding.", FIX))
    moment = one.replies[0].at
    same = Turn(prompt=one.prompt, replies=one.replies, calls=(Call(id="c", at=moment, name="Edit", target="a.py"),))
    assert find_ending([same]).kind == "mid_work"


@each_row(
    "text",
    [
        "API Error: 500 Internal server error",
        'API Error: 529 {"type":"error"}',
        "API Error (Request timed out.)",
        "API Error",
        "  api error 502",
        "Error: 429 too many requests",
        "stream error: stream disconnected before completion",
        "Request failed with status code 529",
        "request timed out",
        "Claude AI usage limit reached|1772442000",
        "Claude usage limit reached. Your limit will reset at 3pm.",
        "You've hit your limit · resets 3pm",
        "You’ve hit your usage limit.",
        "5-hour limit reached ∙ resets 3pm",
        "Credit balance is too low",
        "Prompt is too long",
        "Invalid API key · Please run /login",
        "OAuth token has expired · Please run /login",
        "OAuth token revoked",
        "Rate limit reached for requests",
        "Overloaded",
        "overloaded_error: try again",
    ],
)
def test_a_service_that_fails_speaks_in_the_agents_place(text: str) -> None:
    assert end_of(FIX, text) == Ending("api_error", 1, text.strip())


@each_row(
    "text",
    [
        "API error handling is in place.",
        "API errors are now shown to the cashier.",
        "Rate limiting works: 5 sums a second.",
        "Rate limits are read from the settings.",
        "OAuth tokens are refreshed before they expire.",
        "OAuth token storage moved to the vault.",
        "Overloaded operators are gone.",
        "Invalid API keys are now refused with 401.",
        "Request timed out errors are retried now.",
        "The tests failed with API Error: 500 before; they pass now.",
    ],
)
def test_work_on_such_errors_is_no_such_error(text: str) -> None:
    assert end_of(FIX, text).kind == "answered"


# --- last words ---------------------------------------------------------------------------------


@each_row(
    "text",
    [
        "Let me check the sums.",
        "The sums are off. I'll fix them.",
        "Now I'll run the tests",
        "Here are the files:",
        "Zuerst die Summen：",
        "Die Summen sind falsch. Ich werde sie korrigieren.",
        "Las sumas están mal. Voy a corregirlas.",
        "看到了问题。现在我来修复它。",
        "问题在这里。我先看看测试。",
        "原因がわかりました。次にテストを実行します。",
        "원인을 찾았습니다.\n먼저 테스트를 실행하겠습니다.",
    ],
)
def test_who_says_what_comes_next_has_not_finished(text: str) -> None:
    assert is_announcing_more(text)


@each_row(
    "text",
    [
        "",
        "Done.",
        "Let me know if you want more.",
        "Let me check the sums.\n\nThe sums are right.",
        "I'll leave it there. Should I commit?",
        "Shall I go on?",
        "要不要我现在提交？",
        "我先看了测试。问题已经修复完成了。",
        "次にテストを実行しました。修正が完了しました。",
        "Listo, las sumas están corregidas.",
        "Fertig, die Summen stimmen jetzt.",
        "Next time the till opens, sums are rounded and I will have been right: all done.",
    ],
)
def test_who_reports_or_asks_back_has_finished(text: str) -> None:
    assert not is_announcing_more(text)


@each_row(
    ("text", "last"),
    [
        ("", ""),
        ("One.", "One."),
        ("One. Two!", "Two!"),
        ("One.\nTwo\n\n", "Two"),
        ("一。二。", "二。"),
        ("Is 1.5 right", "Is 1.5 right"),
        ("一" * 500, "一" * LAST_WORDS),
        ("x" * 500 + " y" * 99, "y " * 98 + "y"),
    ],
)
def test_the_tail_is_the_last_sentence(text: str, last: str) -> None:
    assert quote_tail(text) == last


# --- several turns ------------------------------------------------------------------------------


def test_nothing_ends_with_nothing() -> None:
    assert find_ending([]) == Ending("nothing", 0, "")


def test_the_last_prompt_tells_the_end() -> None:
    turns = session(asked("round the sums", FIX), asked("and the taxes", "Rounded."))
    assert find_ending(turns) == Ending("answered", 2, "Rounded.")


def test_what_a_person_runs_is_no_prompt() -> None:
    turns = session(asked("round the sums", "Rounded."), asked("git diff", kind="shell"))
    assert find_ending(turns) == Ending("answered", 1, "Rounded.")


def test_turns_that_nobody_began_end_too() -> None:
    assert find_ending(session(asked(None, "Rounded."), asked(None, FIX))) == Ending("mid_work", 2, "till/sum.py")


@pytest.mark.parametrize("words", ["thanks!", "great, thank you", "danke", "gracias", "谢谢", "ありがとう", "lgtm"])
def test_a_goodbye_needs_no_answer(words: str) -> None:
    assert find_ending(session(asked("round the sums", "Rounded."), asked(words))) == Ending("answered", 1, "Rounded.")


@pytest.mark.parametrize(
    "words",
    [
        "and the taxes",
        "thanks, but it still fails",
        "great, commit it",
        "thanks, and please round the taxes of every till in town as well",
        "not great",
    ],
)
def test_anything_else_does(words: str) -> None:
    assert find_ending(session(asked("round the sums", "Rounded."), asked(words))) == Ending("unanswered", 2, words)


def test_a_goodbye_after_an_open_end_leaves_it_open() -> None:
    assert find_ending(session(asked("round the sums", FIX), asked("thanks"))).kind == "mid_work"


def test_a_goodbye_that_opens_a_session_waits_for_its_answer() -> None:
    assert find_ending(session(asked("thanks"))) == Ending("unanswered", 1, "thanks")


def test_a_thousand_goodbyes_are_one() -> None:
    turns = session(asked("round the sums", "Rounded."), *[asked("thanks")] * 2_000)
    began = time.process_time()
    assert find_ending(turns) == Ending("answered", 1, "Rounded.")
    assert time.process_time() - began < 1


def all_said(turn: Turn) -> list[str]:
    calls = [said for call in turn.calls for said in (call.command, call.target)]
    return [turn.prompt.text if turn.prompt else "", *(reply.text for reply in turn.replies), *calls]


@QUICK
@given(any_turns())
def test_any_turns_end_somehow_and_the_quote_stands_in_the_turn(turns: tuple[Turn, ...]) -> None:
    end = find_ending(turns)
    assert (end.kind == "nothing") == (not turns)
    assert end.kind not in BROKEN_ENDINGS or turns
    if turns:
        assert any(end.quote in said for said in all_said(turns[end.turn - 1]))
