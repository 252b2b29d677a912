"""A session as a judge reads it."""

from typing import Any

import pytest
from msgspec.structs import replace

from assay.sessions.rendering import estimate_tokens, render_prompts, render_session
from assay.types import Call, Edit, Mark, Turn
from tests.judges.make_turns import asked, checked, committed, edit, look, said_next, shell, tool
from tests.judges.make_turns import session as turns_of
from tests.redteam.frame import read
from tests.tables import each_row

DIFF = "-    return price\n+    return price + tax"
LONG = "\n".join(f"line {n}" for n in range(400))
PLENTY = 24_000


def changed(path: str, text: str = DIFF, **more: Any) -> Call:
    return replace(edit(path), edits=(Edit(path=path, added=1, removed=1, text=text, **more),))


def told(*turns: Turn, tokens: int = PLENTY, after: Any = None) -> str:
    text = render_session(turns, after, tokens)
    read(text)
    return text


def lines_under(text: str, header: str) -> list[str]:
    """What is quoted right below one of our lines."""
    lines = text.split("\n")
    found: list[str] = []
    for line in lines[lines.index(header) + 1 :]:
        if not line.startswith("|"):
            break
        found.append(line.removeprefix("| "))
    return found


# --- what is told -----------------------------------------------------------------------------

STORY = turns_of(
    asked(
        "Make the till add the tax.",
        look("/home/ada/till/a/price.py"),
        "I begin with the price.",
        changed("/home/ada/till/a/price.py"),
        checked("failed", "E   assert 1 == 2\nFAILED tests/test_price.py::test_tax"),
        "One test fails, I look into it.",
    ),
    asked("go on", changed("/home/ada/till/a/tax.py", how="create"), checked("passed"), committed("tax"), "Done."),
)


def test_a_whole_session_reads_like_this():
    lines = told(*STORY).split("\n")[1:-1]
    assert (
        lines
        == """\
- files are named from:
| /home/ada/till/a/
[turn 1] the person writes, 2026-03-02 09:00:
| Make the till add the tax.
- looked: 1 read:
| price.py
- the agent says:
| I begin with the price.
- changed a file, +1 -1 lines:
| price.py
| -    return price
| +    return price + tax
- command: failed; test failed:
| pytest -q
- it printed:
| E   assert 1 == 2
| FAILED tests/test_price.py::test_tax
- the agent's last words:
| One test fails, I look into it.
[turn 2] the person writes, 2026-03-02 09:10:
| go on
- created a file, +1 -1 lines:
| tax.py
| -    return price
| +    return price + tax
- command: ended well; test passed:
| pytest -q
- it printed:
| 3 passed in 0.1s
- command: ended well; commit passed:
| git commit -am "tax"
- it printed:
| [main 1a2b3c4] tax
- the agent's last words:
| Done.""".split("\n")
    )


MARKS = [
    (Mark(kind="interrupt", at=""), "- the person interrupted the agent"),
    (Mark(kind="compact", at="", detail="auto"), "- the context was summarised"),
    (Mark(kind="api_error", at="", detail="overloaded"), "- the model's service failed:\n| overloaded"),
    (Mark(kind="pr", at="", detail="https://x.y/pull/7"), "- a pull request:\n| https://x.y/pull/7"),
    (Mark(kind="rollback", at="", detail="2"), "- turns were undone:\n| 2"),
]
CALLS = [
    (replace(shell("rm -rf x"), status="rejected"), "- command: refused by the person:\n| rm -rf x"),
    (replace(shell("rm -rf x"), status="denied"), "- command: refused by a rule:\n| rm -rf x"),
    (replace(shell("sleep 9"), status="interrupted"), "- command: interrupted:\n| sleep 9"),
    (replace(shell("make"), status="error", exit_code=2), "- command: failed with exit code 2:\n| make"),
    (replace(edit("a.py"), status="error", output="no match"), "- edit: failed:\n| a.py\n- it printed:\n| no match"),
    (replace(checked("failed"), status="ok"), "- command: ended; test failed:\n| pytest -q"),
    (replace(tool("agent", "Look"), output="All fine"), "- sub-agent: ended well:\n| Look\n- it reported:\n| All fine"),
    (replace(tool("ask", "Which?"), output="The left"), "- question: ended well:\n| Which?\n- the answer:\n| The left"),
    (replace(tool("plan", "1. Tax"), status="rejected"), "- plan: refused by the person:\n| 1. Tax"),
    (replace(committed(), commits=("1a2b3c4",)), "- command: ended well; commit passed; 1 commit made:"),
]


@each_row(("happened", "expected"), [*MARKS, *CALLS])
def test_what_happened_is_said_in_our_words_and_its_words_are_quoted(happened: Any, expected: str):
    assert f"\n{expected}\n" in told(*turns_of(asked("go", happened, "There.")))


def test_what_sub_agents_did_is_told_in_sum():
    theirs = [replace(one, by="a1") for one in (look("x.py"), look("y.py"), changed("z.py"), checked("failed"))]
    text = told(*turns_of(asked("go", tool("agent", "Look"), *theirs)))
    assert "\n- sub-agents: 1 command, 1 edit, 2 reads, 1 failed; +1 -1 lines:\n| z.py +1 -1\n" in text
    assert "pytest" not in text


def test_a_service_that_fails_again_and_again_is_told_once():
    marks = [Mark(kind="api_error", at="", detail="overloaded")] * 12
    assert "\n- the model's service failed, 12 times:\n| overloaded\n" in told(*turns_of(asked("go", *marks, "x")))


def test_a_pull_request_is_named_once_however_often_the_client_tells_of_it():
    def told(*numbers: int) -> list[Mark]:
        return [Mark(kind="pr", at="", detail=f"https://x.y/pull/{n}") for n in numbers]

    turns = turns_of(asked("Open it", *told(7, 7, 8), "Opened."), asked("And then?", *told(7, 8, 9), "Done."))
    text = render_session(turns, None, 10_000)
    assert [text.count(f"pull/{n}") for n in (7, 8, 9)] == [1, 1, 1]
    assert "a pull request, 2 times:\n| https://x.y/pull/7\n| https://x.y/pull/8" in text
    assert render_prompts(turns, 10_000).count("a pull request") == 2


def test_a_to_do_list_is_not_worth_a_line():
    assert "to-do" not in told(*turns_of(asked("go", tool("todo"), "Done.")))


def test_the_same_tool_many_times_is_named_once():
    text = told(*turns_of(asked("go", *[tool("other", "7", name="write_stdin")] * 5)))
    assert lines_under(text, "- used: 5 tools:") == ["write_stdin 7 (5×)"]


def test_what_codex_tells_its_window_is_not_what_the_agent_said():
    text = told(*turns_of(asked("go", 'Done.\n\n::git-push{cwd="/x" branch="b"}\n::git-commit{cwd="/x"}')))
    assert lines_under(text, "- the agent's last words:") == ["Done."]


def test_quiet_commands_that_follow_each_other_when_words_are_left_out_are_one_line():
    step = asked("go", *[thing for _ in range(90) for thing in (shell("ls"), "And now this.")], LONG)
    text = told(*turns_of(*[step] * 4), tokens=6_000)
    assert "- 90 commands: ended well" in text


def test_what_was_said_next_belongs_to_another_session_and_has_the_next_number():
    lines = told(*STORY, after=said_next("it broke again")).split("\n")
    at = lines.index("[turn 3] another session, next in the same conversation: the person writes, 2026-03-03 09:00:")
    assert lines[at + 1 : -1] == ["| it broke again"]


def test_a_turn_that_nobody_began_has_its_number_too():
    assert read(told(*turns_of(asked(None, "Hello."), asked("go")))).turns == [1, 2]


def test_a_session_without_turns_is_an_empty_frame():
    assert read(render_session((), None, PLENTY)).ours == []
    assert read(render_prompts((), PLENTY)).ours == []


# --- early and final turns --------------------------------------------------------------------


def test_the_final_three_turns_are_told_as_they_were_kept_and_earlier_ones_in_less():
    step = asked("go", shell("ls", output="a\nb"), f"Before.\n{LONG}", "After.")
    text = told(*turns_of(*[step] * 5), tokens=PLENTY)
    assert text.count("line 200") == 3
    assert text.count("- it printed:\n| a\n| b\n") == 3
    assert text.count("- 1 command: ended well:\n| ls\n") == 2


def test_the_line_that_tells_of_a_failure_is_shown_even_where_the_output_is_cut():
    output = f"{LONG}\nTypeError: no tax\n{LONG}"
    failing = shell("pytest", "test", "failed", output=output)
    text = told(*turns_of(*[asked("go", failing)] * 4), tokens=PLENTY)
    assert text.count("- why:\n| TypeError: no tax") == 1


# --- the budget -------------------------------------------------------------------------------


def busy(n: int) -> Any:
    """A turn with much of everything, none of which stands in another one."""
    prompt, printed, said = (LONG.replace("\n", f" {what} {n}\n") for what in ("asked", "printed", "said"))
    return asked(
        f"Please do this\n{prompt}{prompt[:100]}",
        f"I look around, {n} " * 15,
        *[shell(f"cat x > y{n}{k}", mutates=True, output=f"made {n}{k} " * 60) for k in range(4)],
        *[changed(f"till/a{n}{k}.py", DIFF.replace("price", f"price{n}{k}") * 6) for k in range(4)],
        *[look(f"till/b{k}.py") for k in range(9)],
        checked("failed", f"{printed}\nError: boom\nend of trace"),
        f"{said} so far",
    )


LADDER = turns_of(*map(busy, range(7)))
STEPS = [
    ("outputs of calls that ended well", "| made"),
    ("diffs", "| +    return price"),
    ("lists of calls and files", "| till/b0.py"),
    ("replies", "| I look around"),
    ("outputs of calls that failed", "| end of trace"),
    ("middles of prompts", "| line 200"),
]


def early(text: str) -> str:
    return text.partition("[turn 5]")[0]


@pytest.mark.long
def test_things_are_left_out_in_the_documented_order_and_the_text_says_so():
    seen: list[tuple[str, ...]] = []
    for tokens in range(60_000, 46_000, -200):
        text = told(*LADDER, tokens=tokens)
        noted = tuple(what for what, _ in STEPS if f"{what} (turns 1-" in text or f"{what} (turn 1)" in text)
        if "in short" not in text and "folded" not in text and "hardly" not in text:
            assert noted == tuple(what for what, _ in STEPS)[: len(noted)]
            assert not [what for what, sign in STEPS if what in noted[:-1] and sign in early(text)]
            seen.append(noted)
    assert len(set(seen)) == len(STEPS) + 1


SKILL_BODY = "\n".join(f"Rule {n}: look at every price, weigh it, then write down what it is." for n in range(300))
SKILL_PROMPT = f"Base directory for this skill: /home/ada/.claude/skills/till\n\n# Till\n\n{SKILL_BODY}\n\nlast rule"


def test_a_template_goes_before_what_the_agent_concludes():
    """A reply keeps how it begins and ends, however long the template above it is."""
    reply = "It is the tax that is wrong.\n" + "\n".join(f"finding {n} " * 12 for n in range(60)) + "\nNothing is left."
    text = told(
        *turns_of(*[asked(SKILL_PROMPT, reply)] + [asked("go on", f"Done {n}.") for n in range(4)]), tokens=1_500
    )
    assert "bodies of templates" in text.split("\n")[1]
    assert "replies" not in text.split("\n")[1]
    assert "| It is the tax that is wrong." in text
    assert "| Nothing is left." in text
    assert "Rule 150" not in text


def test_a_reply_that_must_be_short_keeps_its_beginning_and_its_end():
    said = [f"Outcome {n}: the sum is right.\n" + f"because of {n} " * 600 + f"\nNext {n}: ship it." for n in range(8)]
    text = told(*turns_of(*[asked(f"go {n}", one) for n, one in enumerate(said)]), tokens=6_000)
    assert "replies (" in text.split("\n")[1]
    assert all(f"| Outcome {n}" in text and f"| Next {n}" in text for n in range(8))


def test_prompts_keep_their_first_line_until_turns_are_folded():
    steps = [asked(f"wish {n}\n{LONG}", *[checked("failed", LONG)] * 5, LONG) for n in range(30)]
    for tokens in (16_000, 8_000, 5_000, 4_000):
        text = told(*turns_of(*steps), tokens=tokens)
        assert "folded" not in text
        assert [f"wish {n}" in text for n in range(30)] == [True] * 30


def test_where_nothing_else_helps_the_oldest_turns_but_the_first_are_one_line():
    steps = [asked(f"wish {n}", edit("a.py"), checked("passed"), "ok") for n in range(300)]
    text = told(*turns_of(*steps), tokens=3_000)
    [fold] = [line for line in text.split("\n") if line.startswith("[turns 2-")]
    last = int(fold.split("]")[0].split("-")[1])
    assert fold == (
        f"[turns 2-{last}] folded: {last - 1} prompts; {last - 1} commands, {last - 1} edits; "
        f"+{5 * (last - 1)} -{2 * (last - 1)} lines; last checks: test passed"
    )
    assert read(text).turns == [1, *range(last + 1, 301)]
    assert f"turns 2-{last} folded" in text.split("\n")[1]
    assert estimate_tokens(text) > 2_800


def test_a_budget_below_the_least_is_the_least():
    assert told(*LADDER, tokens=1) == told(*LADDER, tokens=500)


def test_a_session_that_fits_says_nothing_of_being_shortened():
    assert "shortened" not in told(*STORY)


# --- prompts ----------------------------------------------------------------------------------


def test_prompts_come_with_a_line_of_what_was_done_before_the_next():
    lines = render_prompts(STORY, PLENTY).split("\n")[1:-1]
    assert (
        lines
        == """\
- files are named from:
| /home/ada/till/a/
[turn 1] the person writes, 2026-03-02 09:00:
| Make the till add the tax.
- then: 1 command, 1 edit, 1 read, 1 failed; +1 -1 lines; last checks: test failed; ends with an answer; files:
| price.py
- the agent's closing words begin:
| One test fails, I look into it.
[turn 2] the person writes, 2026-03-02 09:10:
| go on
- then: 2 commands, 1 edit; +1 -1 lines; last checks: test passed; 1 commit; ends with an answer; files:
| tax.py
- branches, commits and pull requests:
| [main 1a2b3c4] tax
- the agent's closing words begin:
| Done.""".split("\n")
    )


def test_every_prompt_is_there_as_long_as_its_first_words_fit():
    steps = [asked(f"wish {n}\n{LONG}", edit(f"f{n}.py"), "ok") for n in range(40)]
    for tokens in (30_000, 10_000, 4_000, 2_400):
        text = render_prompts(turns_of(*steps), tokens)
        assert read(text).turns == list(range(1, 41))
        assert [f"wish {n}" in text for n in range(40)] == [True] * 40
        assert estimate_tokens(text) <= tokens


def test_prompts_that_are_too_many_are_folded_and_said_to_be():
    text = render_prompts(turns_of(*[asked(f"wish {n}", "ok") for n in range(500)]), 1_000)
    assert read(text).turns[:1] == [1]
    assert read(text).turns[-3:] == [498, 499, 500]
    assert "folded" in text.split("\n")[1]
