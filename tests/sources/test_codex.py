"""Each fixture in `codex/` is a rollout with one oddity; `test_fixtures` compares the events it gives."""

import json
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from assay.sources import codex
from assay.sources.codex.reader import find_person_words
from assay.types import About, Call, Event, Mark, Prompt, Reply, Result, Spend, Usage
from tests.tables import each_row

HERE = Path(__file__).parent / "codex"
FIXTURES = sorted(HERE.glob("*.jsonl"))
T = TypeVar("T")
DECODER = msgspec.json.Decoder(codex.Record)


def events_of(name: str) -> tuple[codex.Reader, list[Event]]:
    reader, events = codex.Reader(), list[Event]()
    for line in (HERE / f"{name}.jsonl").read_bytes().splitlines():
        reader.take(DECODER.decode(line), events.append)
    return reader, events


def only(events: list[Event], kind: type[T]) -> list[T]:
    return [event for event in events if isinstance(event, kind)]


def ended(events: list[Event]) -> dict[str, Call]:
    """Calls with their results folded in."""
    calls = {call.id: call for call in only(events, Call)}
    for result in only(events, Result):
        told: dict[str, Any] = {"status": result.status}
        told |= {"exit_code": result.exit_code} if result.exit_code is not None else {}
        told |= {"edits": result.edits} if result.edits is not None else {}
        told |= {name: value for name in ("output", "agent") if (value := getattr(result, name))}
        calls[result.id] = msgspec.structs.replace(calls[result.id], **told)
    return calls


def marks(name: str) -> list[tuple[str, str]]:
    return [(mark.kind, mark.detail) for mark in only(events_of(name)[1], Mark)]


@each_row("path", FIXTURES, ids=lambda path: path.stem)
def test_a_call_is_made_once_and_no_result_is_without_a_call(path: Path) -> None:
    events = events_of(path.stem)[1]
    made = [call.id for call in only(events, Call)]
    assert len(made) == len(set(made))
    assert {result.id for result in only(events, Result)} <= set(made)


def test_a_plain_turn_has_one_prompt_and_each_reply_once() -> None:
    _, events = events_of("plain_turn")
    assert [prompt.text for prompt in only(events, Prompt)] == ["Why is the till slow?"]
    assert [reply.text for reply in only(events, Reply)] == ["Looking at the till.", "The till reads each price twice."]


def test_a_resumed_thread_tells_its_new_branch() -> None:
    first, title, later = only(events_of("plain_turn")[1], About)
    assert (first.stream, first.branch, first.origin, first.version) == ("t-plain", "main", "codex-tui", "0.125.0")
    assert (title.title, later.stream, later.branch) == ("Slow till", "t-plain", "fix-till")


def test_the_end_event_is_preferred_to_the_cut_output() -> None:
    calls = ended(events_of("plain_turn")[1])
    assert (calls["c1"].exit_code, calls["c1"].output) == (1, "1 failed\nwhole text")
    assert (calls["c2"].exit_code, calls["c2"].output) == (0, "clean")
    assert (calls["c3"].status, calls["c3"].output) == ("error", "")
    assert calls["c4"].kind == "todo"


def test_all_calls_of_a_turn_bear_the_key_of_its_prompt() -> None:
    _, events = events_of("plain_turn")
    assert {call.of for call in only(events, Call)} == {only(events, Prompt)[0].key}


def test_old_files_have_prompts_without_turn_ids() -> None:
    reader, events = events_of("before_turn_ids")
    prompts = only(events, Prompt)
    assert [(prompt.text, prompt.images) for prompt in prompts] == [("Raise the rate.", 1), ("go on", 0), ("go on", 0)]
    assert len({prompt.key for prompt in prompts}) == 3
    assert reader.unknown == {"event_msg/mystery": 1}


def test_a_reply_that_only_the_event_tells_is_kept_and_repeated_ones_are_not_lost() -> None:
    replies = [reply.text for reply in only(events_of("before_turn_ids")[1], Reply)]
    assert replies == ["Only the event says this.", "Going on.", "Going on."]


@pytest.mark.parametrize(
    ("id", "command", "status", "exit_code"),
    [
        ("c1", "ls | wc -l", "ok", 0),
        ("c2", "rg 'two words' till", "error", 2),
        ("c5", "make test", "interrupted", None),
        ("c6", "Get-ChildItem till", "rejected", None),
        ("c7", "not json at all", "error", None),
    ],
)
def test_every_way_to_call_a_shell_is_read(id: str, command: str, status: str, exit_code: int | None) -> None:
    call = ended(events_of("before_turn_ids")[1])[id]
    assert (call.kind, call.command, call.status, call.exit_code) == ("shell", command, status, exit_code)
    assert call.dialect == ("powershell" if id == "c6" else "bash")


@pytest.mark.parametrize(
    ("folder", "shell", "dialect"),
    [
        ("C:\\code\\till", "", "powershell"),
        ("/home/x/till", "", "bash"),
        ("C:\\code\\till", "bash", "bash"),
        ("/home/x/till", "pwsh", "powershell"),
    ],
)
def test_a_command_that_names_no_shell_is_powershell_on_windows(folder: str, shell: str, dialect: str) -> None:
    given = {"command": "Set-Content a.md x"} | ({"shell": shell} if shell else {})
    called = {"type": "function_call", "name": "shell_command", "call_id": "c1", "arguments": json.dumps(given)}
    reader, events = codex.Reader(), list[Event]()
    for kind, payload in (("session_meta", {"id": "t-1", "cwd": folder}), ("response_item", called)):
        line = json.dumps({"timestamp": "t", "type": kind, "payload": payload})
        reader.take(DECODER.decode(line.encode()), events.append)
    assert [(call.command, call.dialect) for call in only(events, Call)] == [("Set-Content a.md x", dialect)]


@pytest.mark.parametrize(
    ("printed", "status"),
    [
        ("exec command rejected by user", "rejected"),
        ("failed in sandbox with execution error: sandbox denied exec error, exit code: 2, stderr: no such", "error"),
        ("error: open till.db: permission denied", "error"),
        ("The till was denied a discount.", "ok"),
    ],
)
def test_only_a_person_refuses_a_call(printed: str, status: str) -> None:
    called = {"type": "function_call", "name": "shell_command", "call_id": "c1", "arguments": '{"command": "make"}'}
    told = {"type": "function_call_output", "call_id": "c1", "output": printed}
    reader, events = codex.Reader(), list[Event]()
    for payload in (called, told):
        line = json.dumps({"timestamp": "t", "type": "response_item", "payload": payload})
        reader.take(DECODER.decode(line.encode()), events.append)
    assert ended(events)["c1"].status == status


def test_a_patch_is_counted_by_its_text_and_a_failed_one_not_at_all() -> None:
    calls = ended(events_of("before_turn_ids")[1])
    assert [(edit.path, edit.added, edit.removed, edit.how) for edit in calls["c3"].edits] == [
        ("till/price.py", 2, 1, "update"),
        ("till/tax.py", 2, 0, "create"),
        ("till/old.py", 0, 0, "delete"),
        ("till/b.py", 0, 1, "update"),
    ]
    assert (calls["c4"].status, calls["c4"].edits) == ("error", ())
    assert [(edit.path, edit.added) for edit in calls["c8"].edits] == [("note.txt", 1)]


def test_a_fork_repeats_the_keys_of_its_parent() -> None:
    _, parent = events_of("fork_parent")
    _, child = events_of("fork_child")
    assert [p.key for p in only(child, Prompt)][:2] == [p.key for p in only(parent, Prompt)]
    assert [s.key for s in only(child, Spend)][:2] == [s.key for s in only(parent, Spend)]
    assert [c.of for c in only(child, Call)][:1] == [c.of for c in only(parent, Call)]
    new = only(child, Prompt)[2].key
    assert new not in {prompt.key for prompt in only(parent, Prompt)}
    assert only(child, Call)[-1].of == new


def test_a_fork_keeps_its_own_stream() -> None:
    (about,) = only(events_of("fork_child")[1], About)
    assert (about.stream, about.forked_from) == ("t-child", "t-parent")


@pytest.mark.parametrize(("name", "id"), [("sub_agent", "t-sub"), ("review", "t-review")])
def test_nobody_speaks_in_a_thread_that_an_agent_started(name: str, id: str) -> None:
    _, events = events_of(name)
    assert only(events, Prompt) == []
    (about,) = only(events, About)
    assert (about.by, about.parent) == (id, "t-parent")
    assert {event.by for event in events if isinstance(event, Call | Spend)} <= {id}


def test_started_agents_are_known_by_their_thread() -> None:
    calls = ended(events_of("spawning")[1])
    assert [(call.kind, call.agent) for call in calls.values()][:3] == [
        ("agent", "t-kid-1"),
        ("agent", "t-kid-2"),
        ("other", ""),
    ]
    assert [calls[one].kind for one in ("c4", "c5", "c6")] == ["read", "ask", "mcp"]
    assert (calls["c6"].name, calls["c6"].status) == ("mcp__shop__lookup", "error")


def test_a_pull_request_is_told_only_when_it_is_opened() -> None:
    assert marks("spawning") == [("pr", "https://forge.example/kiosk/till/pull/31")]
    assert marks("scripts") == [("pr", "https://forge.example/kiosk/till/pull/12")]


def test_a_command_in_the_background_ends_when_its_last_words_are_read() -> None:
    calls = ended(events_of("background")[1])
    assert (calls["c1"].status, calls["c1"].exit_code) == ("error", 3)
    assert calls["c1"].output == "step 1\nstep 2\nstep 3\n"
    assert [calls[one].status for one in ("c2", "c3", "c4")] == ["ok", "ok", "error"]
    assert calls["c3"].exit_code is None


def test_what_is_said_while_the_agent_works_is_queued() -> None:
    prompts = only(events_of("steering")[1], Prompt)
    assert [(prompt.text, prompt.kind) for prompt in prompts] == [
        ("Start", "typed"),
        ("and quickly", "typed"),
        ("No, the other till", "queued"),
        ("stop", "queued"),
        ("git stash", "shell"),
        ("Again", "typed"),
        ("Once more", "typed"),
    ]


def test_marks_are_told_once_each() -> None:
    assert marks("steering") == [
        ("interrupt", ""),
        ("compact", "auto"),
        ("compact", "auto"),
        ("compact", "manual"),
        ("rollback", "2"),
        ("api_error", "usage_limit_exceeded"),
        ("retry", "Reconnecting 1/5"),
    ]


def test_spending_is_the_growth_of_the_totals() -> None:
    spends = only(events_of("totals")[1], Spend)
    assert [spend.usage for spend in spends] == [
        Usage(input=100, cache_read=600, output=9),
        Usage(input=100, cache_read=700, output=20),
        Usage(input=200, cache_read=100, output=7),
        Usage(input=200, cache_read=400, output=13),
        Usage(input=100, cache_read=0, output=10),
    ]
    assert [spend.model for spend in spends] == ["gpt-5.4"] * 4 + ["kimi-k3"]
    assert len({spend.key for spend in spends}) == 5


def test_newest_rollouts_tell_things_as_items_and_none_twice() -> None:
    reader, events = events_of("items")
    assert [(prompt.text, prompt.images) for prompt in only(events, Prompt)] == [("Write the label", 1)]
    assert [reply.text for reply in only(events, Reply)] == ["It broke."]
    assert len(only(events, Spend)) == 1
    assert marks("items") == [("api_error", "response_too_many_failed_attempts")]
    calls = ended(events)
    assert [(call.id, call.exit_code) for call in calls.values()] == [("c1", 0), ("c2", 1), ("c3", 2), ("c3#2", 0)]
    assert [(edit.path, edit.added) for edit in calls["c1"].edits] == [("/src/kiosk/label.py", 1)]
    assert reader.unknown == {"item_completed/Hologram": 1}


@each_row(
    ("id", "command", "status", "exit_code"),
    [
        ("s1", 'pytest -q "till"', "error", 1),
        ("s2", "git status", "ok", 0),
        ("s2#2", "git diff", "error", 128),
        ("s3", "ruff check", "ok", None),
        ("s3#2", "mypy till", "ok", None),
        ("s4", "ls", "ok", None),
        ("s4#2", "pwd", "ok", None),
        ("s8", "make all", "error", 2),
        ("s11", "echo ${who} done", "ok", None),
    ],
)
def test_commands_are_dug_out_of_scripts(id: str, command: str, status: str, exit_code: int | None) -> None:
    call = ended(events_of("scripts")[1])[id]
    assert (call.kind, call.command, call.status, call.exit_code) == ("shell", command, status, exit_code)


def test_a_patch_inside_a_script_is_counted_once_and_by_the_client() -> None:
    calls = ended(events_of("scripts")[1])
    edits = [(one, edit.path, edit.added, edit.removed) for one, call in calls.items() for edit in call.edits]
    assert edits == [("s5", "/src/kiosk/till/price.py", 3, 1), ("exec-78", "/src/kiosk/new.py", 2, 0)]
    assert calls["s7"].status == "error"


def test_a_script_left_running_ends_with_what_wait_brings() -> None:
    calls = ended(events_of("scripts")[1])
    assert calls["s8"].output == "half then broke"
    assert (calls["s9"].name, calls["s9"].target, calls["s9"].status) == ("write_stdin", "9001", "ok")


def test_a_script_without_commands_is_another_call_unless_end_events_tell_of_its_tools() -> None:
    calls = ended(events_of("scripts")[1])
    assert "s10" not in calls
    assert (calls["s12"].kind, calls["s12"].target) == ("other", "")
    assert (calls["exec-79"].kind, calls["exec-79"].status) == ("mcp", "ok")


def test_a_search_told_twice_is_one_call() -> None:
    assert [c.target for c in only(events_of("scripts")[1], Call) if c.kind == "web"] == ["till prices"]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nRaise it.\n", "Raise it."),
        ("# Files mentioned by the user:\n\n## a: /a.txt\n\n## My request for Codex:\nBuild it.\n", "Build it."),
        ("# Files mentioned by the user:\n\n## a: /a.txt\n\n## My request for Codex:\n", None),
    ],
)
def test_what_the_client_wrapped_around_a_request_is_not_the_request(written: str, said: str | None):
    assert find_person_words(written) == (said or written.strip())
