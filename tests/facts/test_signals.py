"""Signals of how the work was done: what is one, what only looks like one."""

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from assay.facts.signals import MOST_TURNS, fact, find_signals
from assay.types import Call, Edit, Mark, Run, Spend, Turn, Usage
from tests.judges.make_turns import (
    QUICK,
    any_turns,
    asked,
    checked,
    committed,
    edit,
    session,
    shell,
    tool,
)
from tests.judges.make_turns import (
    look as read,
)
from tests.tables import each_row

COMPACT = Mark(kind="compact", at="", detail="auto")


def counted(name: str, *done: str | Call | Mark) -> tuple[int, int]:
    seen = find_signals(session(asked("weave", *done)))[name]
    return len(seen.signs), seen.of


def cat(path: str, name: str = "Bash") -> Call:
    return replace(shell(f"cat {path}"), name=name)


def ran(command: str, *programs: str, status: str = "ok", output: str = "") -> Call:
    return Call(
        id=command, at="", name="Bash", kind="shell", command=command, output=output,
        status=status, runs=tuple(Run(program=one) for one in programs),
    )  # fmt: skip


def wrote(command: str, program: str, path: str) -> Call:
    run = Run(program=program, mutates=True, paths=(path,))
    return Call(id=command, at="", name="Bash", kind="shell", command=command, status="ok", runs=(run,))


GREP = tool("search", "knot", name="Grep")
TABLE = [
    ("rereads", [read("a"), read("b"), read("a")], (1, 3)),
    ("rereads", [read("a"), edit("a"), read("a")], (0, 2)),  # it had changed
    ("rereads", [read("a"), wrote("sed -i s/x/y/ a", "sed", "a"), read("a")], (0, 2)),
    ("rereads", [read("a"), read("a"), read("a")], (0, 3)),  # part by part
    ("rereads", [replace(read("a"), by="sub"), read("b"), read("a")], (0, 3)),  # another agent's context
    ("rereads", [read("a"), replace(read("a"), status="error"), read("a")], (0, 2)),
    ("retries", [checked("failed"), checked("failed"), checked("passed")], (2, 3)),
    ("retries", [checked("failed"), edit("a"), checked("passed")], (0, 3)),  # something was changed
    ("retries", [ran("weave", "weave", status="error"), ran("weave --slow", "weave")], (0, 2)),
    ("retries", [ran("grep x a", "grep", status="error"), ran("grep x a", "grep", status="error")], (0, 2)),
    ("shell_file_work", [cat("a"), read("b")], (1, 2)),
    ("shell_file_work", [cat("a", name="exec_command")], (0, 0)),  # an agent without a tool to read
    ("shell_file_work", [ran("grep x a", "grep")], (0, 0)),  # its version may have no tool to search
    ("shell_file_work", [ran("grep x a", "grep"), GREP], (1, 2)),
    ("shell_file_work", [ran("go test | head", "go", "head")], (0, 0)),  # no file is read
    ("shell_file_work", [wrote("sed -i s/x/y/ a", "sed", "a")], (1, 1)),
    ("shell_file_work", [wrote("cat > /tmp/note", "cat", "/tmp/note")], (0, 0)),
    ("read_before_edit", [read("a"), edit("a")], (1, 1)),
    ("read_before_edit", [edit("a")], (0, 1)),
    ("read_before_edit", [edit("a"), edit("a")], (1, 2)),
    ("read_before_edit", [edit("a", removed=0)], (0, 0)),  # it may be new
    ("read_before_edit", [edit("a", how="create"), edit("a")], (1, 1)),
    ("read_before_edit", [ran("sed -n 1,9p loom/a.py", "sed"), edit("/x/loom/a.py")], (1, 1)),
    ("planning", [tool("todo"), edit("a"), tool("plan")], (2, 3)),
    ("delegation", [tool("agent", "look around"), replace(edit("a"), by="sub")], (1, 1)),
    ("recovered", [checked("failed"), edit("a"), checked("passed")], (1, 1)),
    ("recovered", [checked("failed"), edit("a"), committed()], (0, 1)),
    ("recovered", [ran("weave", "weave", status="error"), ran("weave --slow", "weave")], (1, 1)),  # another way
    ("recovered", [edit("a", status="error"), edit("b")], (0, 1)),
    ("recovered", [edit("a", status="error"), edit("a")], (1, 1)),
    ("recovered", [shell("ruff .", "lint", "failed")], (0, 0)),  # a linter answers
    ("verified", [edit("a.py"), checked()], (1, 1)),
    ("verified", [checked(), edit("a.py")], (0, 1)),
    ("verified", [edit("a.py"), checked("failed")], (0, 1)),
    ("verified", [edit("README.md"), checked()], (0, 0)),  # no code
    ("verified", [checked()], (0, 0)),
    ("targeted_reads", [replace(read("a"), is_partial=True), read("b")], (1, 2)),
    ("targeted_reads", [replace(shell("sed -n '1,40p' a"), name="exec_command"), shell("cat b")], (1, 2)),
    ("targeted_reads", [replace(read("a"), status="error", is_partial=True)], (0, 0)),
    ("skills", [tool("skill", "release", name="Skill")], (1, 1)),
    ("skills", [replace(shell("cat /home/x/skills/yeet/SKILL.md"), name="exec_command")], (1, 1)),
    ("skills", [tool("skill", "release", name="Skill"), shell("cat .claude/skills/yeet/SKILL.md")], (1, 2)),
    ("skills", [read("a")], (0, 0)),
    ("workflow", [shell("git commit -m x", "commit", "passed")], (1, 1)),
    ("workflow", [shell("git commit --no-verify -m x", "commit", "passed")], (0, 1)),
    ("workflow", [shell("git push", "push", "failed", output="! [remote rejected] main (hook declined)")], (0, 1)),
    ("workflow", [read("/loom/CONTRIBUTING.md"), shell("git push", "push", "passed")], (2, 2)),
    ("workflow", [read("/loom/warp.py")], (0, 0)),
    ("file_links", ["See [warp.py](src/warp.py:12), and src/weft.py too."], (1, 2)),
    ("file_links", ["Nothing to see, e.g. and/or."], (0, 0)),
    ("emoji", ["Done \U0001f389"], (1, 1)),
    ("emoji", ["Done → well"], (0, 1)),
]


@each_row(("name", "done", "expected"), TABLE)
def test_a_signal_is_counted_with_its_occasions(name: str, done: list[Call], expected: tuple[int, int]) -> None:
    assert counted(name, *done) == expected


def test_a_file_read_again_after_a_compaction_is_no_reread() -> None:
    turns = session(asked("weave", read("a"), read("b")), asked("go on", COMPACT, read("a")))
    assert find_signals(turns)["rereads"].signs == []


def together(*of: int) -> Turn:
    calls = tuple(replace(read(f"f{n}"), of=key, at=f"{n}", ended_at=f"{n}") for n, key in enumerate(of))
    return Turn(calls=calls, spends=tuple(Spend(at="", key=key, model="m", usage=Usage()) for key in set(of)))


@pytest.mark.parametrize(("of", "expected"), [((1, 1, 2), 2), ((1, 2, 3), 0), ((1, 1, 1), 3), ((1, 2, 1), 0)])
def test_calls_of_one_response_are_parallel(of: tuple[int, ...], expected: int) -> None:
    seen = find_signals([together(*of)])["parallel_calls"]
    assert (len(seen.signs), seen.of) == (expected, len(of))


@pytest.mark.parametrize(("began", "expected"), [("1", 2), ("3", 0)])
def test_where_responses_are_not_told_apart_calls_at_one_time_are_parallel(began: str, expected: int) -> None:
    calls = (replace(read("a"), of=7, at="0", ended_at="2"), replace(read("b"), of=7, at=began, ended_at="4"))
    assert len(find_signals([Turn(calls=calls)])["parallel_calls"].signs) == expected


def test_the_fact_holds_numbers_only_and_stays_small() -> None:
    turns = session(*(asked(f"row {n}", read("a"), read(f"b{n}"), edit("c", added=n)) for n in range(60)))
    found = fact(turns).signals
    assert found["rereads"].count == 59
    assert found["rereads"].turns == list(range(2, 2 + MOST_TURNS))
    encoded = msgspec.json.encode(found)
    assert len(encoded) < 1_200
    assert b'"a"' not in encoded


def test_every_quote_stands_in_its_turn() -> None:
    turns = session(
        asked("weave", read("loom/a.py"), cat("loom/b.py"), checked("failed")),
        asked("again", read("loom/a.py"), checked("failed", "E   thread broke"), edit("loom/a.py"), checked()),
    )
    for name, seen in find_signals(turns).items():
        for sign in (*seen.signs, *([seen.first] if seen.first else [])):
            texts = [part for call in turns[sign.turn - 1].calls for part in (call.command, call.target, call.output)]
            assert any(sign.quote in text for text in texts), name


@QUICK
@given(any_turns())
def test_whatever_the_turns_there_are_never_more_signs_than_occasions(turns: tuple[Turn, ...]) -> None:
    found = fact(turns).signals
    for name, signal in found.items():
        assert 0 <= signal.count <= signal.of, name
        assert all(1 <= turn <= len(turns) for turn in signal.turns)


def test_an_edit_that_was_refused_for_not_being_read_is_no_look() -> None:
    refused = Call(
        id="e", at="", name="Edit", kind="edit", target="a", status="error",
        edits=(Edit(path="a", added=1, removed=1),), output="File has not been read yet. Read it first.",
    )  # fmt: skip
    assert counted("read_before_edit", refused, read("a"), edit("a")) == (1, 2)


def test_pictograms_that_the_person_uses_too_are_no_sign():
    seen = find_signals(session(asked("weave \U0001f9f6 please", "Done \U0001f389")))["emoji"]
    assert (seen.signs, seen.of) == ([], 1)
