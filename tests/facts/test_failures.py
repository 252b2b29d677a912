"""Failure signals: each fires where it should, with a quote that stands there, and nowhere else."""

import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.facts import failures
from assay.facts.failures import CHECKS, DISMISSED, LOOP, STACK
from assay.sessions.calls import LANDING, TELLING
from assay.types import Call, Failure, FailureKind, Mark, Prompt, Run, Turn
from tests.judges.make_turns import QUICK, Step, any_turns, asked, checked, committed, edit, look, session, shell, tool
from tests.tables import each_row

STOPPED = Mark(kind="interrupt", at="")
FIX = edit("till/sum.py")
RED = checked("failed", "collected 3 items\nFAILED tests/test_till.py::test_sum - assert 3 == 4\n")
RED_LINE = "FAILED tests/test_till.py::test_sum - assert 3 == 4"
GREEN = checked()
TRACE = 'Traceback (most recent call last):\n  File "till.py", line 3\nValueError: no such till\n'
CRASH = shell("python till.py", output=TRACE, status="error")
BUILD = shell("make", "build", "failed", output="make: *** Error 2")
TYPES = shell("mypy", "types", "failed", output="till.py:1: error: no such sum")
BEGIN = asked("round the sums", FIX, "Rounded.")
GO_ON = asked("and the taxes", "They are rounded too.")


def signals(*steps: Step) -> list[tuple[FailureKind, int, str]]:
    turns = session(*steps)
    found = failures.fact(turns).failure_signals
    assert all(stands_in(one, turns) for one in found)
    return [(one.kind, one.turn, one.quote) for one in found]


def kinds(*steps: Step) -> list[str]:
    return [kind for kind, _, _ in signals(*steps)]


def stands_in(failure: Failure, turns: Sequence[Turn]) -> bool:
    """Whether its quote stands, letter for letter, in its turn."""
    turn = turns[failure.turn - 1]
    said = [turn.prompt.text if turn.prompt else "", *(reply.text for reply in turn.replies)]
    said += [text for call in turn.calls for text in (call.command, call.target, call.output)]
    return any(failure.quote in text for text in said)


def ran(command: str, *programs: str, output: str = "", status: Any = "error") -> Call:
    """A command of several programs, none of them a check."""
    runs = tuple(Run(program=program) for program in programs)
    return Call(id=command, at="", name="Bash", kind="shell", command=command, runs=runs, output=output, status=status)


# --- unresolved error ---------------------------------------------------------------------------


@each_row(
    ("steps", "turn", "quote"),
    [
        ([asked("round the sums", FIX, RED, "I tried.")], 1, RED_LINE),
        ([BEGIN, asked("run the tests", RED, "They fail.")], 2, RED_LINE),
        ([BEGIN, asked("run the tests", RED, "They fail."), GO_ON], 2, RED_LINE),
        ([asked("build it", FIX, BUILD, "Hm.")], 1, BUILD.output),
        ([asked("type it", FIX, TYPES, "Hm.")], 1, TYPES.output),
        ([asked("build it", FIX, GREEN, replace(BUILD, output=""))], 1, BUILD.command),
        ([asked("test it", RED, shell("ruff check", "lint", "passed"))], 1, RED_LINE),
        ([asked("test it", RED, edit("till.py", status="error"))], 1, RED_LINE),
        ([asked("test it", RED, shell("git commit", "commit", "failed"))], 1, RED_LINE),
        ([BEGIN, asked("start it", CRASH, "It does not start.")], 2, "ValueError: no such till"),
        ([BEGIN, asked("start it", FIX, look("a.py"), CRASH, look("b.py"))], 2, "ValueError: no such till"),
        ([BEGIN, asked("go on", "API Error: 500 Internal server error")], 2, "API Error: 500 Internal server error"),
        ([BEGIN, asked("go on", Mark(kind="api_error", at=""))], 2, "go on"),
    ],
)
def test_an_error_that_nothing_resolves_is_a_failure(steps: list[Step], turn: int, quote: str) -> None:
    assert signals(*steps) == [("unresolved_error", turn, quote)]


@each_row(
    ("command", "programs"),
    [
        ("cat till.log", ["cat"]),
        ("grep -r Error src", ["grep"]),
        ("rg 'Error|Traceback' logs", ["rg"]),
        ("tail -n 500 till.log | grep -C3 Traceback", ["tail", "grep"]),
        ("zcat till.log.gz | egrep Error | sort | uniq", ["zcat", "egrep", "sort", "uniq"]),
        ("journalctl -u till", ["journalctl"]),
        ("docker logs till", ["docker"]),
        ("git log --grep Error", ["git"]),
        ("curl http://localhost/till", ["curl"]),
        ("Get-Content till.log | Select-String Error", ["Get-Content", "Select-String"]),
    ],
)
@each_row("status", ["ok", "error"])
def test_a_log_or_file_that_is_read_fails_nothing(command: str, programs: list[str], status: Any) -> None:
    reading = ran(command, *programs, output=TRACE * 9 + "Error: no such till\n", status=status)
    assert signals(BEGIN, asked("what does the log say", *[reading] * 4, "That a till is missing.")) == []


@each_row(
    "done",
    [
        [replace(look("till.log"), output=TRACE)],
        [tool("search", "Traceback")],
        [replace(edit("errors.py"), output=TRACE, target="errors.py")],
        [replace(tool("mcp", "logs", "error"), output=TRACE)],
        [replace(CRASH, status="ok")],
        [replace(CRASH, runs=())],
        [replace(CRASH, output="usage: till [-h]")],
        [CRASH, FIX],
        [CRASH, shell("python till.py", output="3.50")],
        [replace(CRASH, by="a1")],
        [RED, GREEN],
        [RED, FIX, GREEN],
        [RED, FIX],
        [RED, Call(id="s", at="", name="Bash", kind="shell", command="sed -i s/3/4/ till.py", status="ok",
                   runs=(Run(program="sed", mutates=True, paths=("till.py",)),))],
        [RED, committed()],
        [replace(RED, status="interrupted")],
        [replace(RED, status="open")],
        [shell("ruff check .", "lint", "failed", output="till.py:1:1: error: unused")],
        [shell("cargo clippy", "lint", "failed", output="error[E0308]: mismatched types")],
        [shell("prettier --check .", "format", "failed", output="error: not formatted")],
    ],
)  # fmt: skip
def test_neither_does_what_was_read_resolved_or_only_untidy(done: list[Any]) -> None:
    assert signals(BEGIN, asked("go on", *done, "Done.")) == []


@each_row(
    "words",
    [
        "Done. The one failure is pre-existing.",
        "Two tests fail, unrelated to this change.",
        "test_sum was already failing on main.",
        "That is a known issue of the till.",
        "Der Fehler war schon vorher da.",
        "El fallo es preexistente.",
        "L'échec est sans rapport avec ce changement.",
        "残りの失敗は既存の問題です。",
        "剩下的失败与本次修改无关。",
        "남은 실패는 기존 문제입니다.",
    ],
)
@each_row("later", [[], [asked("hm", "So be it.")]], ids=["at once", "and then talk"])
def test_a_failure_that_the_agent_calls_older_is_not_of_this_work(words: str, later: list[Step]) -> None:
    last = [asked("hm", words)] if later else []
    assert signals(BEGIN, asked("run the tests", *[RED] * LOOP, words), *last) == []


@each_row(
    "words",
    [
        "thanks!",
        "looks good",
        "commit it",
        "push it please",
        "danke",
        "gracias",
        "谢谢",
        "ありがとう",
        "pushして、ありがとう",
    ],
)
@each_row("done", [[RED], [RED] * LOOP, [CRASH]], ids=["a test", "a loop", "a crash"])
def test_a_failure_that_the_person_takes_is_none(done: list[Call], words: str) -> None:
    assert signals(BEGIN, asked("go on", *done, "Done."), asked(words, "Good.")) == []


@pytest.mark.parametrize("words", ["thanks, but it still fails", "so nice that it's broken", "and the taxes?"])
def test_other_words_do_not_take_it_back(words: str) -> None:
    assert signals(BEGIN, asked("run the tests", RED, "Hm."), asked(words, "I see.")) == [
        ("unresolved_error", 2, RED_LINE)
    ]


def test_a_test_that_failed_four_turns_ago_is_out_of_sight() -> None:
    failing = asked("run the tests", RED, "They fail.")
    assert kinds(BEGIN, failing, GO_ON, GO_ON) == ["unresolved_error"]
    assert kinds(BEGIN, failing, GO_ON, GO_ON, GO_ON) == []


def test_an_old_failure_does_not_hide_a_new_crash() -> None:
    steps = [asked("run the tests", RED, "They fail."), GO_ON, GO_ON, GO_ON, asked("start it", CRASH, "Hm.")]
    assert signals(*steps) == [("unresolved_error", 5, "ValueError: no such till")]


def test_of_several_failures_the_latest_is_told() -> None:
    steps = [asked("test it", RED, "Hm."), asked("build it", BUILD, "Hm.")]
    assert signals(*steps) == [("unresolved_error", 2, BUILD.output)]


# --- frustration --------------------------------------------------------------------------------

SORE = [
    "wtf, you changed the wrong file",
    "this is ridiculous",
    "for the third time: round it",
    "so eine Scheiße",
    "Das nervt, es geht IMMER NOCH NICHT",
    "joder, ¿cuántas veces te lo tengo que decir?",
    "何度言えばわかるの",
    "いい加減にして",
    "他妈的,怎么又坏了",
    "아 진짜 짜증나",
]


@each_row("words", SORE)
def test_patience_that_ends_is_a_failure(words: str) -> None:
    assert ("frustration", 2, words) in signals(BEGIN, asked(words, FIX, "Sorry, done."))


def test_the_line_that_tells_it_is_quoted() -> None:
    prompt = "```\nwtf\n```\nSee the sums above.\nİß: WTF is that?\nRound them."
    assert signals(BEGIN, asked(prompt, "Rounded.")) == [("frustration", 2, "İß: WTF is that?")]


@each_row("words", SORE)
@each_row(
    "after",
    [
        [GO_ON, GO_ON, GO_ON],
        [asked("thanks, it works now", "Good.")],
        [asked("ok, commit it", committed(), "Committed.")],
        [GO_ON, asked("perfekt, danke", "Gern.")],
        [asked("and the tests?", GREEN, "Green.")],
    ],
    ids=["turns", "thanks", "a commit", "thanks later", "a green test"],
)
def test_patience_that_came_back_is_none(words: str, after: list[Step]) -> None:
    assert "frustration" not in kinds(BEGIN, asked(words, FIX, "Sorry, done."), *after)


def test_a_green_test_in_the_same_turn_calms_and_an_edit_after_it_does_not() -> None:
    assert kinds(BEGIN, asked("wtf", FIX, GREEN, "Done.")) == []
    assert kinds(BEGIN, asked("wtf", FIX, GREEN, FIX, "Done.")) == ["frustration"]


@pytest.mark.parametrize(
    "steps",
    [
        [asked("wtf is this till", FIX, "Fixed.")],
        [asked(None, "Welcome."), asked("wtf is this till", FIX, "Fixed.")],
        [BEGIN, asked("holy shit, it works now, thanks", "Good.")],
        [BEGIN, asked("grep wtf src", kind="shell")],
        [BEGIN, asked("why?\n```\nwtf\n```\n> this is ridiculous", "Because.")],
        [BEGIN, asked("show it", replace(look("a.py"), output="wtf"), "wtf is a constant.")],
    ],
    ids=["first words", "first words after a greeting", "joy", "a command", "pasted", "not the person"],
)
def test_hard_words_that_are_no_complaint_about_the_work_are_none(steps: list[Step]) -> None:
    assert signals(*steps) == []


# --- scope abandoned ----------------------------------------------------------------------------

LET_GO = [
    "never mind",
    "forget it, I'll do it myself",
    "ok let's try something else",
    "Vergiss es",
    "ach egal, lass es",
    "olvídalo, no vale la pena",
    "算了",
    "やっぱりやめます",
    "그만하자",
]


@each_row("words", LET_GO)
@each_row("done", [[], ["All right."]], ids=["unanswered", "answered"])
def test_what_the_person_lets_go_of_is_a_failure(words: str, done: list[Any]) -> None:
    assert signals(BEGIN, asked(words, *done)) == [("scope_abandoned", 2, words)]


@each_row("words", LET_GO)
@each_row(
    "after",
    [
        [asked("then round the taxes", FIX, "Rounded.")],
        [asked("ah, it works, thanks", "Good.")],
        [asked("just commit it", committed(), "Committed.")],
        [GO_ON, GO_ON, GO_ON],
    ],
    ids=["work", "thanks", "a commit", "turns"],
)
def test_what_was_taken_up_again_was_not_let_go(words: str, after: list[Step]) -> None:
    assert signals(BEGIN, asked(words, "All right."), *after) == []


@pytest.mark.parametrize(
    "step",
    [
        asked("skip it when a till is closed, and round the rest", FIX, "Rounded."),
        asked("when the till of a shop is closed, skip it", "It does so already."),
        asked("never mind, it works now", "Good."),
        asked("leave it, just commit", committed(), "Committed."),
        asked("```\nnever mind\n```\nwhat is this?", "A comment."),
        asked("git stash drop # never mind", kind="shell"),
    ],
    ids=["built", "late in a sentence", "works", "committed", "pasted", "a command"],
)
def test_letting_go_inside_a_request_or_with_thanks_is_none(step: Step) -> None:
    assert signals(BEGIN, step) == []


def test_who_opens_with_letting_go_lets_go_of_something_else() -> None:
    assert signals(asked("forget it, new plan: what is a till?", "A drawer.")) == []


@pytest.mark.parametrize(
    ("done", "quote"),
    [
        ([FIX, STOPPED], "till/sum.py"),
        ([STOPPED], "round the taxes"),
        (["Looking.", shell("rm -r till", status="rejected")], "rm -r till"),
        ([shell("pytest", "test", status="interrupted")], "pytest"),
        ([GREEN, FIX, STOPPED], "till/sum.py"),
        ([committed(), FIX, STOPPED], "till/sum.py"),
        ([shell("git commit", "commit", "failed"), STOPPED], "git commit"),
    ],
)
def test_who_stops_the_agent_and_never_comes_back_lets_go(done: list[Any], quote: str) -> None:
    assert signals(BEGIN, asked("round the taxes", *done)) == [("scope_abandoned", 2, quote)]


@pytest.mark.parametrize(
    "steps",
    [
        [asked("round the sums", FIX, committed(), "Done."), asked("tell me more", STOPPED)],
        [asked("round the sums", FIX, committed(), look("a.py"), STOPPED)],
        [asked("round the sums", FIX, GREEN, look("a.py"), STOPPED)],
        [asked("round the sums", FIX, shell("git push", "push", "passed"), STOPPED)],
        [asked("round the sums", FIX, STOPPED), asked("thanks, that is enough")],
        [asked("round the sums", FIX, STOPPED), asked("only the taxes", FIX, "Rounded.")],
    ],
    ids=["committed before", "committed", "tested", "pushed", "thanks", "came back"],
)
def test_who_stops_it_after_the_work_is_done_does_not(steps: list[Step]) -> None:
    assert signals(*steps) == []


# --- iteration loop -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "done",
    [
        [RED, FIX] * LOOP,
        [CRASH, FIX] * LOOP,
        [CRASH, FIX, replace(CRASH, command="python   till.py"), FIX, CRASH, FIX],
        [CRASH, shell("python other.py"), FIX] * LOOP,
        [RED, FIX, GREEN] + [RED, FIX] * LOOP,
        [shell("git push", "push", "failed", output="error: rejected"), FIX] * LOOP,
    ],
    ids=["tests", "crashes", "spaced differently", "with others between", "after a success", "pushes"],
)
def test_a_command_that_fails_three_times_is_a_loop(done: list[Any]) -> None:
    ((kind, turn, quote),) = signals(BEGIN, asked("go on", *done, "I tried."))
    assert (kind, turn) == ("iteration_loop", 2)
    assert quote in (RED_LINE, "ValueError: no such till", "error: rejected")


def test_attempts_may_be_spread_over_the_final_turns_and_no_farther() -> None:
    attempt = asked("go on", RED, FIX, "I tried.")
    assert signals(BEGIN, attempt, attempt, attempt) == [("iteration_loop", 4, RED_LINE)]
    assert signals(BEGIN, attempt, attempt, GO_ON, attempt) == []


@each_row(
    "done",
    [
        [RED, FIX] * 2,
        [CRASH, FIX] * 2,
        [RED, FIX] * LOOP + [GREEN],
        [CRASH, FIX] * LOOP + [shell("python till.py")],
        [CRASH, FIX] * LOOP + [GREEN],
        [RED, FIX] * LOOP + [committed()],
        [RED, FIX, RED, FIX, GREEN, RED, FIX],
        [shell("pytest a", "test", "failed"), FIX, shell("pytest b", "test", "failed"), FIX, RED, FIX],
        [shell("ruff check .", "lint", "failed"), FIX] * 5,
        [shell("ruff check .", "lint", status="error"), FIX] * 5,
        [ran("grep -q Error till.log", "grep"), FIX] * 5,
        [ran("sleep 5 && curl localhost", "sleep", "curl"), FIX] * 5,
        [replace(RED, status="interrupted"), FIX] * 5,
        [replace(CRASH, runs=()), FIX] * 5,
    ],
)
def test_fewer_failures_or_a_success_or_mere_looking_are_none(done: list[Any]) -> None:
    assert signals(BEGIN, asked("go on", *done, "Done.")) == []


def test_a_linter_in_front_of_the_tests_makes_no_loop() -> None:
    runs = (Run(program="ruff", purpose="lint", outcome="failed"), Run(program="pytest", purpose="test"))
    both = Call(id="b", at="", name="Bash", kind="shell", command="ruff check && pytest", runs=runs, status="error")
    assert signals(BEGIN, asked("go on", *[both, FIX] * 5, "Done.")) == []


def test_three_complaints_in_a_row_end_in_a_loop() -> None:
    wrong = [asked(f"{words} is wrong", FIX, "Fixed.") for words in ("the sum", "the tax", "the till")]
    assert signals(BEGIN, *wrong) == [("iteration_loop", 4, "the till is wrong")]
    assert signals(BEGIN, *wrong[1:]) == []
    assert signals(*wrong) == []
    assert signals(BEGIN, *wrong, GO_ON) == []
    assert signals(BEGIN, *wrong[1:], asked("no, this is wrong", FIX, GREEN, "Fixed.")) == []
    assert signals(BEGIN, *wrong[1:], asked("Perfect. Only the date is wrong", FIX, "Fixed.")) == []


def test_what_a_person_runs_in_between_makes_no_difference() -> None:
    wrong = asked("the sum is wrong", FIX, "Fixed.")
    looks = asked("git diff", kind="shell")
    assert signals(BEGIN, wrong, looks, wrong, looks, wrong, looks) == [("iteration_loop", 6, "the sum is wrong")]


# --- anything -----------------------------------------------------------------------------------


def test_no_turns_have_no_signals() -> None:
    assert failures.fact([]).failure_signals == []


@QUICK
@given(any_turns(6))
def test_any_turns_give_signals_that_can_be_looked_up(turns: tuple[Turn, ...]) -> None:
    found = failures.fact(turns).failure_signals
    assert all(stands_in(one, turns) for one in found)
    assert all(1 <= one.turn <= len(turns) and len(one.quote) <= failures.QUOTE for one in found)
    assert len({one.kind for one in found}) == len(found)


def settles_nothing(turn: Turn) -> Turn:
    """The turn without what passed: work that landed long ago is not abandoned by a later stop."""
    return replace(turn, calls=tuple(call for call in turn.calls if not failures.has_passed(call, CHECKS | LANDING)))


def spoken(turn: Turn) -> bool:
    return turn.prompt is not None and turn.prompt.kind != "shell"


@QUICK
@given(
    any_turns(4), any_turns(3), st.lists(st.sampled_from(SORE + LET_GO + ["ok", "it is wrong"]), min_size=4, max_size=6)
)
def test_what_went_before_the_final_turns_changes_nothing(
    earlier: tuple[Turn, ...], later: tuple[Turn, ...], words: list[str]
) -> None:
    said = [
        Turn(prompt=Prompt(at="", text=text, key=n), calls=later[n].calls if n < len(later) else ())
        for n, text in enumerate(words)
    ]
    final = [*said, *later]
    assume(sum(map(spoken, final)) > failures.FINAL_TURNS)
    before = [settles_nothing(turn) for turn in earlier]
    alone = failures.fact(final).failure_signals
    assert [replace(one, turn=one.turn + len(before)) for one in alone] == failures.fact(
        [*before, *final]
    ).failure_signals


@pytest.mark.parametrize(
    "text", ["\n" * 200_000, "\n  " * 70_000, "a" * 200_000, "\n at x" * 30_000, "Aerror" * 30_000]
)
def test_hostile_output_is_read_within_a_second(text: str) -> None:
    began = time.process_time()
    for pattern in (STACK, TELLING, DISMISSED):
        pattern.search(text)
    failures.fact(session(BEGIN, asked("go on", *[replace(CRASH, output=text)] * LOOP, text)))
    assert time.process_time() - began < 1
