"""Claude Code's tool calls with their results, and its sub-agents."""

from typing import Any

import pytest

from assay.facts import edits as edits_fact
from assay.facts import tokens
from assay.facts import tools as tools_fact
from assay.sessions.streams import FilePiece, join_files
from assay.types import Call, Turn
from tests.make import (
    Record,
    answer,
    aside,
    assistant,
    built,
    calling,
    echo,
    failure,
    moment,
    patch,
    stamped,
    turns,
    usage,
    user,
    written,
)
from tests.tables import each_row

PATH = "/till/price.py"
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def ended(call: Record, *answers: Record) -> Call:
    """The call as it stands behind its answers."""
    [made] = [made for turn in turns(user("Go"), assistant(call), *answers) for made in turn.calls]
    return made


def lines(call: Call) -> list[tuple[str, int, int, str]]:
    return [(edit.path, edit.added, edit.removed, edit.how) for edit in call.edits]


# --- edits --------------------------------------------------------------------------------------

EDIT = calling("t1", "Edit", file_path=PATH, old_string="a\nb\nc", new_string="a\nB\nB2\nc")
NEW = calling("t1", "Write", file_path=PATH, content="one\ntwo\nthree")
MULTI = calling(
    "t1",
    "MultiEdit",
    file_path=PATH,
    edits=[{"old_string": "a", "new_string": "b"}, {"old_string": "x\ny", "new_string": "x"}],
)
CELL = calling("t1", "NotebookEdit", notebook_path="/till/n.ipynb", new_source="x = 1\ny = 2\n")
EDITED: dict[str, tuple[Record, Record, list[tuple[str, int, int, str]]]] = {
    "an edit": (EDIT, answer("t1", "ok", patch(PATH, " a", "-b", "+B", "+B2", " c")), [(PATH, 2, 1, "update")]),
    "lines that begin with signs": (
        EDIT,
        answer("t1", "ok", patch(PATH, "+++i", "---j", "+", "\\ No newline at end of file")),
        [(PATH, 2, 1, "update")],
    ),
    "an edit in two hunks": (
        EDIT,
        answer("t1", "ok", {"filePath": PATH, "structuredPatch": [{"lines": ["+a"]}, {"lines": ["-b", "+c"]}]}),
        [(PATH, 2, 1, "update")],
    ),
    "an edit that the client says nothing of": (EDIT, answer("t1", "ok"), [(PATH, 2, 1, "update")]),
    "several edits": (MULTI, answer("t1", "ok", patch(PATH, "-a", "+b", "-y")), [(PATH, 1, 2, "update")]),
    "several edits without a patch": (MULTI, answer("t1", "ok"), [(PATH, 1, 2, "update")]),
    "a new file": (NEW, answer("t1", "ok", written(PATH, "one\ntwo\nthree")), [(PATH, 3, 0, "create")]),
    "a new file with a last newline": (NEW, answer("t1", "ok", written(PATH, "one\ntwo\n")), [(PATH, 2, 0, "create")]),
    "a new empty file": (NEW, answer("t1", "ok", written(PATH, "")), [(PATH, 0, 0, "create")]),
    "a file written anew": (NEW, answer("t1", "ok", written(PATH, "one\ntwo", "-1", "+2")), [(PATH, 1, 1, "update")]),
    "a file written as it was": (
        NEW,
        answer("t1", "ok", {"type": "update", "filePath": PATH, "content": "one\ntwo", "structuredPatch": []}),
        [(PATH, 0, 0, "update")],
    ),
    "a notebook's cell": (CELL, answer("t1", "ok", {"new_source": "x = 1"}), [("/till/n.ipynb", 2, 0, "update")]),
}


@each_row(("call", "result", "expected"), EDITED.values(), ids=[name.replace(" ", "-") for name in EDITED])
def test_lines_are_counted_as_the_client_saw_them(
    call: Record, result: Record, expected: list[tuple[str, int, int, str]]
) -> None:
    made = ended(call, result)
    assert (made.kind, made.status, lines(made)) == ("edit", "ok", expected)


@each_row("call", [EDIT, NEW, MULTI, CELL], ids=["Edit", "Write", "MultiEdit", "NotebookEdit"])
@each_row(
    ("answers", "status"),
    [
        ([], "open"),
        ([failure("t1", "<tool_use_error>String to replace not found in file.</tool_use_error>")], "error"),
        ([failure("t1", REFUSED)], "rejected"),
        ([answer("other", "ok")], "open"),
    ],
)
def test_an_edit_that_was_not_made_counts_nothing(call: Record, answers: list[Record], status: str) -> None:
    found = turns(user("Go"), assistant(call), *answers)
    assert [made.status for made in found[0].calls] == [status]
    assert edits_fact.fact(found) == edits_fact.Edits(
        lines_added=0, lines_removed=0, net_lines=0, files=[], lines_by_file={}
    )


# --- how calls end ------------------------------------------------------------------------------

BASH = calling("t1", "Bash", command="make till", description="Build")
STREAMS = {"stdout": "fine", "stderr": "", "interrupted": False, "isImage": False}
LONG = (
    "Permission to use Bash with command cat > notes.txt <<'E'\n" + "words of a long note\n" * 30 + "E has been denied."
)
ENDED: dict[str, tuple[Record, str, int | None, str]] = {
    "success": (answer("t1", "fine", STREAMS, is_error=False), "ok", 0, "fine"),
    "success without a flag": (answer("t1", "fine", STREAMS), "ok", 0, "fine"),
    "blocks": (answer("t1", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "ok", 0, "a\nb"),
    "exit code": (failure("t1", "Exit code 2\nmake: *** no rule"), "error", 2, "make: *** no rule"),
    "exit code alone": (failure("t1", "Exit code 127"), "error", 127, ""),
    "exit code with a word": (failure("t1", "Error: Exit code 3\nbad"), "error", 3, "bad"),
    "success that prints an exit code": (answer("t1", "Exit code 4", STREAMS), "ok", 0, "Exit code 4"),
    "failure without a code": (failure("t1", "Traceback"), "error", None, "Traceback"),
    "in the background": (
        answer("t1", "Command running in background", STREAMS | {"backgroundTaskId": "b1"}),
        "ok",
        None,
        "Command running in background",
    ),
    "a code with a meaning": (
        answer("t1", "", STREAMS | {"returnCodeInterpretation": "No matches found"}),
        "ok",
        None,
        "",
    ),
    "interrupted": (answer("t1", "half", STREAMS | {"interrupted": True}), "interrupted", None, "half"),
    "interrupted by text": (
        failure("t1", "[Request interrupted by user for tool use]"),
        "interrupted",
        None,
        "[Request interrupted by user for tool use]",
    ),
    "rejected": (failure("t1", REFUSED), "rejected", None, REFUSED),
    "rejected by kind": (failure("t1", "No.", toolDenialKind="user-rejected"), "rejected", None, "No."),
    "rejected in a sub-agent": (
        failure("t1", "Permission for this tool use was denied. The tool use was rejected. The user said:\nno"),
        "rejected",
        None,
        "Permission for this tool use was denied. The tool use was rejected. The user said:\nno",
    ),
    "denied by kind": (failure("t1", "No.", toolDenialKind="automode-blocked"), "denied", None, "No."),
    "denied by mode": (
        failure("t1", "Permission for this action was denied by the Claude Code auto mode classifier. Reason: no"),
        "denied",
        None,
        "Permission for this action was denied by the Claude Code auto mode classifier. Reason: no",
    ),
    "denied": (
        failure("t1", "Claude requested permissions to write to /etc, but you haven't granted it yet."),
        "denied",
        None,
        "Claude requested permissions to write to /etc, but you haven't granted it yet.",
    ),
    "denied by rule": (
        failure("t1", "Permission to use Bash with command make till has been denied."),
        "denied",
        None,
        "Permission to use Bash with command make till has been denied.",
    ),
    "denied with a long command": (failure("t1", LONG), "denied", None, LONG),
    "a file that looks like a rejection": (answer("t1", REFUSED, STREAMS), "ok", 0, REFUSED),
    "an absurd code": (failure("t1", f"Exit code {'9' * 20}"), "error", None, f"Exit code {'9' * 20}"),
}


@each_row(("result", "status", "code", "output"), ENDED.values(), ids=[name.replace(" ", "-") for name in ENDED])
def test_a_result_tells_how_a_call_ended(result: Record, status: str, code: int | None, output: str) -> None:
    call = ended(BASH, result)
    assert (call.status, call.exit_code, call.output, call.ended_at) == (status, code, output, moment(2))


def test_a_call_without_a_result_stays_open() -> None:
    call = ended(BASH)
    assert (call.status, call.exit_code, call.ended_at, call.command) == ("open", None, "", "make till")


@each_row(
    ("name", "input", "kind", "target"),
    [
        ("Bash", {"command": "ls", "description": "List"}, "shell", "List"),
        ("Read", {"file_path": PATH}, "read", PATH),
        ("Grep", {"pattern": "price", "path": "/till"}, "search", "price"),
        ("Glob", {"pattern": "**/*.py"}, "search", "**/*.py"),
        ("Task", {"description": "Look", "prompt": "Look at it"}, "agent", "Look"),
        ("Agent", {"description": "Look", "prompt": "Look at it"}, "agent", "Look"),
        ("ExitPlanMode", {"plan": "1. Do it"}, "plan", "1. Do it"),
        ("TodoWrite", {"todos": []}, "todo", ""),
        ("AskUserQuestion", {"questions": []}, "ask", ""),
        ("WebFetch", {"url": "https://example.org", "prompt": "x"}, "web", "https://example.org"),
        ("Skill", {"skill": "tidy"}, "skill", "tidy"),
        ("mcp__shop__sell", {"query": "cake"}, "mcp", "cake"),
        ("SomethingNew", {"query": 7}, "other", ""),
        ("Edit", {"file_path": ["not", "a", "path"]}, "edit", ""),
    ],
)
def test_a_tool_is_of_a_kind_and_about_something(name: str, input: dict[str, Any], kind: str, target: str) -> None:
    call = ended(calling("t1", name, **input))
    assert (call.kind, call.target) == (kind, target)


@pytest.mark.parametrize(
    ("operation", "commits", "opened"),
    [
        ({"commit": {"sha": "abc1234", "kind": "committed"}}, ("abc1234",), []),
        (
            {"pr": {"url": "https://example.org/o/r/pull/7", "action": "created"}},
            (),
            ["https://example.org/o/r/pull/7"],
        ),
        ({"pr": {"url": "https://example.org/o/r/pull/7", "action": "merged"}}, (), []),
        ({"push": {"branch": "main"}}, (), []),
        ("odd", (), []),
    ],
)
def test_what_the_client_saw_git_do_is_kept(operation: Any, commits: tuple[str, ...], opened: list[str]) -> None:
    [turn] = turns(user("Go"), assistant(BASH), answer("t1", "fine", STREAMS | {"gitOperation": operation}))
    assert (turn.calls[0].commits, [mark.detail for mark in turn.marks]) == (commits, opened)


# --- sub-agents ---------------------------------------------------------------------------------

START = assistant(calling("t9", "Task", description="Look", prompt="Look"), id="m9")
DONE = answer("t9", "Found it", {"agentId": "a1", "status": "completed", "totalTokens": 30})
LOOK = assistant(calling("t2", "Read", file_path=PATH), id="m2", spent=usage(20, 4), uuid="x2", timestamp=moment(61))
SEEN = answer("t2", "price = 1", uuid="x3", timestamp=moment(62))
FOUND = assistant("Found it", id="m3", spent=usage(30, 6), uuid="x4", timestamp=moment(63))
OWN = aside("a1", user("Look", uuid="x1", timestamp=moment(60)), LOOK, SEEN, FOUND)


def main_file(*echoes: Record) -> FilePiece:
    """Three turns, of which the second starts the sub-agent."""
    records = [
        user("One"),
        assistant("1", id="m1"),
        user("Two"),
        START,
        *echoes,
        DONE,
        user("Three"),
        assistant("3", id="m4"),
    ]
    return "main.jsonl", *built(*records, step=10)


def agent_file(*records: Record, stream: str = "s1") -> FilePiece:
    part, found = built(*(records or OWN), stream=stream, start=60)
    return f"agent-{part.by}.jsonl", part, found


def spent(found: tuple[Turn, ...]) -> list[tuple[int, str, int]]:
    """Number of the turn, who spent, and how much was put out."""
    return [(n, spend.by, spend.usage.output) for n, turn in enumerate(found) for spend in turn.spends if spend.by]


def called(found: tuple[Turn, ...]) -> list[tuple[int, str, str, str]]:
    return [(n, call.by, call.id, call.status) for n, turn in enumerate(found) for call in turn.calls if call.by]


def test_a_sub_agents_file_says_whose_it_is() -> None:
    _, part, found = agent_file()
    assert (part.stream, part.by, part.is_warmup) == ("s1", "a1", False)
    assert [turn.prompt for turn in found] == [None]


def test_a_sub_agent_of_old_is_counted_in_the_turn_in_whose_midst_it_stands() -> None:
    inline = aside("", user("Look"), LOOK, SEEN, FOUND)
    _, part, found = main_file(*inline)
    assert part.by == ""
    assert spent(found) == [(1, "sidechain", 4), (1, "sidechain", 6)]
    assert called(found) == [(1, "sidechain", "t2", "ok")]
    assert [reply.text for turn in found for reply in turn.replies] == ["1", "3"]


def test_a_sub_agents_file_is_counted_in_the_turn_that_started_it() -> None:
    stream = join_files([main_file(), agent_file()])
    assert spent(stream.turns) == [(1, "a1", 4), (1, "a1", 6)]
    assert called(stream.turns) == [(1, "a1", "t2", "ok")]
    assert tools_fact.fact(stream.turns).agents == 1


def test_a_sub_agent_that_nobody_names_is_counted_in_the_turn_that_ran_at_that_time() -> None:
    stream = join_files([main_file(), agent_file(*aside("a2", LOOK | {"timestamp": moment(25)}, SEEN))])
    assert called(stream.turns) == [(1, "a2", "t2", "ok")]


def test_a_sub_agent_without_its_main_file_is_a_stream_of_its_own_turn() -> None:
    stream = join_files([agent_file()])
    assert (stream.id, len(stream.turns), len(called(stream.turns))) == ("s1", 1, 1)


ECHOES = [echo("a1", record) for record in OWN]


@pytest.mark.parametrize("with_file", [True, False])
def test_an_echoed_sub_agent_is_counted_once_with_its_file_and_without(with_file: bool) -> None:
    stream = join_files([main_file(*ECHOES), *([agent_file()] if with_file else [])])
    assert spent(stream.turns) == [(1, "a1", 4), (1, "a1", 6)]
    assert called(stream.turns) == [(1, "a1", "t2", "ok")]
    assert tokens.fact(stream.turns).tokens.output == 15 + 10


def test_an_echo_that_was_cut_short_is_mended_by_the_file() -> None:
    partial = LOOK | {"message": LOOK["message"] | {"usage": usage(20, 1)}}
    stream = join_files([main_file(echo("a1", partial)), agent_file()])
    assert spent(stream.turns) == [(1, "a1", 4), (1, "a1", 6)]
    assert called(stream.turns) == [(1, "a1", "t2", "ok")]


@pytest.mark.parametrize("state", [{"type": "bash_progress", "output": "…"}, {"type": "hook_progress"}, {}])
def test_other_progress_is_noise(state: Record) -> None:
    assert turns(user("Go"), {"type": "progress", "data": state})[0] == turns(user("Go"))[0]


# --- warming up ---------------------------------------------------------------------------------

WARM = user("Warmup")
TRY = assistant(calling("t5", "Glob", pattern="*"), id="m5", spent=usage(50, 50))
CANCELLED = answer("t5", "Warmup", "Error: Warmup", is_error=True)
HEARD = assistant("I am ready.", id="m6", spent=usage(50, 50))


@pytest.mark.parametrize(
    ("records", "is_warmup"),
    [
        ([WARM, TRY, CANCELLED], True),
        ([WARM, HEARD], True),
        ([WARM, TRY], True),
        ([user("Look"), TRY, answer("t5", "price.py")], False),
        ([user("Look"), TRY], False),
        ([user("Look"), HEARD], False),
    ],
)
def test_a_sub_agent_that_only_warmed_up_is_left_out(records: list[Record], is_warmup: bool) -> None:
    piece = agent_file(*aside("a5", *records))
    assert piece[1].is_warmup is is_warmup
    assert tokens.fact(join_files([main_file(), piece]).turns).tokens.output == (15 if is_warmup else 65)


def test_a_main_file_is_never_a_warmup() -> None:
    part, found = built(*stamped(WARM, TRY, CANCELLED))
    assert (part.is_warmup, [turn.prompt.text for turn in found if turn.prompt]) == (False, ["Warmup"])


# --- out of order -------------------------------------------------------------------------------


def test_a_result_written_before_its_call_ends_it() -> None:
    early = answer("t1", "done", patch("/till/price.py", "+one", "+two"))
    [turn] = turns(user("Go"), early, assistant(calling("t1", "Edit", file_path="/till/price.py"), id="m1"))
    [call] = turn.calls
    assert (call.status, call.edits[0].added) == ("ok", 2)


def test_only_a_command_has_an_exit_code() -> None:
    [turn] = turns(
        user("Go"),
        assistant(calling("t1", "Read", file_path="/till/price.py"), calling("t2", "Bash", command="ls"), id="m1"),
        answer("t1", "price"),
        answer("t2", "price.py"),
    )
    assert [call.exit_code for call in turn.calls] == [None, 0]


@pytest.mark.parametrize(
    "command", ["git cherry-pick abc", "git rebase --continue", "git commit -m x", "git revert abc"]
)
def test_what_git_committed_is_known_by_its_id(command: str) -> None:
    said = "[till 1a2b3c4] Mend the till\n 1 file changed, 1 insertion(+)"
    [turn] = turns(user("Go"), assistant(calling("t1", "Bash", command=command), id="m1"), answer("t1", said))
    assert turn.calls[0].commits == ("1a2b3c4",)


def test_questions_that_the_person_wants_to_talk_about_are_not_their_words() -> None:
    said = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
        "The user wants to clarify these questions. This means they may have more to say.\n"
        'Questions asked:\n- "Which till?"\n  Answer: the old one\n- "When?"\n  (No answer provided)'
    )
    asked = turns(user("Go"), assistant(calling("t1", "AskUserQuestion"), id="m1"), failure("t1", said))
    assert [turn.prompt.text for turn in asked if turn.prompt] == ["Go", "the old one"]
