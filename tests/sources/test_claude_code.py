"""Which records are a person's words, and what else Claude Code tells of a conversation."""

from pathlib import Path
from typing import Any

import pytest

from assay.facts import conversation
from assay.sources import claude_code
from assay.types import About, Mark, Prompt, Reply, Spend, Usage
from tests.make import (
    Record,
    answer,
    api_error,
    aside,
    assistant,
    attachment,
    boundary,
    calling,
    command,
    events,
    failure,
    image,
    jsonl,
    moment,
    queue,
    stamped,
    summary_of_before,
    system,
    text,
    turns,
    usage,
    user,
)
from tests.tables import each_row

REFUSAL = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file)."
)
SAID = f"{REFUSAL} To tell you how to proceed, the user said:\n"
NOTE = "\n\nNote: The user's next message may contain a correction or preference."
OPENED = "<ide_opened_file>The user opened the file /till/price.py in the IDE.</ide_opened_file>"
REMINDER = "<system-reminder>\nThe list of todos is empty.\n</system-reminder>"
PLAN = (
    "Implement the following plan:\n\n# Faster till\n\nIf you need details from before, "
    "read the full transcript at: /home/ada/.claude/projects/-till/old-stream-7.jsonl"
)


def prompts(*records: Record) -> list[Prompt]:
    return [event for event in events(*records) if isinstance(event, Prompt)]


def marks(*records: Record) -> list[tuple[str, str]]:
    return [(event.kind, event.detail) for event in events(*records) if isinstance(event, Mark)]


HUMAN: list[tuple[str, Record, str, str]] = [
    ("a plain string", user("Why is the till slow?"), "typed", "Why is the till slow?"),
    ("text blocks", user([text("Why is"), text("the till slow?")]), "typed", "Why is\nthe till slow?"),
    ("an image", user([image()]), "typed", "[image]"),
    ("an image with words", user([image(), text("See?")]), "typed", "See?"),
    ("another script", user("请把收银台修好 🧾"), "typed", "请把收银台修好 🧾"),
    ("a declared human", user("Go on", origin={"kind": "human"}, promptSource="typed"), "typed", "Go on"),
    ("the sdk", user("Go on", promptSource="sdk"), "typed", "Go on"),
    ("context in a block of its own", user([text(OPENED), text("Fix it")]), "typed", "Fix it"),
    ("context before the words", user(f"{OPENED}\nFix it"), "typed", "Fix it"),
    ("context before the words of one block", user([text(f"{OPENED}\nFix it")]), "typed", "Fix it"),
    ("several contexts", user(f"{REMINDER}{OPENED}\n\nFix it"), "typed", "Fix it"),
    ("words between two contexts", user([text(f"{OPENED}\nFix it\n{OPENED}")]), "typed", f"Fix it\n{OPENED}"),
    ("words that end in a tag", user("Drop the </ide_opened_file> tag"), "typed", "Drop the </ide_opened_file> tag"),
    ("a tag of their own", user("<html> is missing"), "typed", "<html> is missing"),
    ("a quoted tag", user("What is <task-notification>?"), "typed", "What is <task-notification>?"),
    (
        "a quoted command",
        user("Why is <command-name>/clear</command-name> in my log?"),
        "typed",
        "Why is <command-name>/clear</command-name> in my log?",
    ),
    ("a custom command", user(command("/my-command", "the till")), "command", "/my-command the till"),
    ("a command without arguments", user(command("/review")), "command", "/review"),
    (
        "a command that names its message first",
        user("<command-message>review is running…</command-message>\n<command-name>/review</command-name>"),
        "command",
        "/review",
    ),
    ("a shell command", user("<bash-input>git status</bash-input>"), "shell", "git status"),
    ("an accepted plan", user(PLAN), "plan", PLAN),
    ("words of a rejection", failure("t1", f"{SAID}use a Decimal{NOTE}"), "rejection", "use a Decimal"),
    (
        "words of a rejection by kind",
        failure("t1", "The user said:\nuse cents", toolDenialKind="user-rejected"),
        "rejection",
        "use cents",
    ),
]

MACHINE: list[tuple[str, Record]] = [
    ("a tool result", answer("t1", "ok")),
    ("a tool result beside text", user([{"type": "tool_result", "tool_use_id": "t1"}, text("and now this")])),
    ("a sub-agent's task", aside("a1", user("Find the till"))[0]),
    ("injected context", user("Caveat: what follows was run locally", isMeta=True)),
    ("a summary", summary_of_before()),
    ("an empty text", user("  \n")),
    ("no content", user(None)),
    ("only context", user([text(OPENED)])),
    ("context that is not closed", user("<system-reminder>cut in the mid")),
    *(
        (f"<{tag}>", user(f"<{tag}>something</{tag}>"))
        for tag in (
            "local-command-stdout",
            "local-command-stderr",
            "local-command-caveat",
            "bash-stdout",
            "bash-stderr",
            "task-notification",
            "system-reminder",
            "ide_opened_file",
            "ide_selection",
        )
    ),
    *((name, user(command(name))) for name in ("/clear", "/compact", "/model", "/exit", "/ide")),
    ("/model with arguments", user(command("/model", "opus"))),
    ("an interruption", user([text("[Request interrupted by user]")])),
    ("an interruption of a tool", user([text("[Request interrupted by user for tool use]")])),
    ("a notification by origin", user("Your task is done", origin={"kind": "task-notification"})),
    ("another agent", user("Hello from the next window", origin={"kind": "peer"})),
    ("the system as source", user("Go on with the task", promptSource="system")),
    ("a rejection without words", failure("t1", f"{REFUSAL} STOP what you are doing and wait.")),
    ("a file that tells what was said", answer("t1", "12: the user said: make it quick")),
    ("a failure that tells what was said", failure("t1", "Exit code 1\nthe user said: make it quick")),
    ("a rejection in a sub-agent", aside("a1", failure("t1", f"{SAID}use a Decimal"))[0]),
]


@each_row(("record", "kind", "words"), [row[1:] for row in HUMAN], ids=[row[0].replace(" ", "-") for row in HUMAN])
def test_a_persons_words_are_a_prompt(record: Record, kind: str, words: str) -> None:
    assert [(prompt.kind, prompt.text) for prompt in prompts(record)] == [(kind, words)]


@each_row("record", [row[1] for row in MACHINE], ids=[row[0].replace(" ", "-") for row in MACHINE])
def test_what_a_machine_wrote_is_no_prompt(record: Record) -> None:
    assert prompts(record) == []


def test_a_prompt_knows_when_it_was_written_and_how_many_images_it_had() -> None:
    [prompt] = prompts(user([image(), image(), text("Which?")]))
    assert (prompt.at, prompt.images) == (moment(0), 2)


def test_a_prompt_is_the_same_in_every_copy_of_its_record() -> None:
    [one], [other] = prompts(user("Go", uuid="u1")), prompts(user("Go", uuid="u1", sessionId="s2", timestamp="later"))
    assert one.key == other.key


@pytest.mark.parametrize(
    ("named", "previous"),
    [
        ("/home/ada/.claude/projects/-till/old-7.jsonl", "old-7"),
        (r"C:\Users\ada\.claude\projects\-till\old-7.jsonl", "old-7"),
        ("nowhere", ""),
    ],
)
def test_an_accepted_plan_names_the_stream_it_was_made_in(named: str, previous: str) -> None:
    [prompt] = prompts(user(f"Implement the following plan:\n\nDo it.\n\nread the full transcript at: {named}"))
    assert (prompt.kind, prompt.previous) == ("plan", previous)


def test_a_typed_prompt_that_names_a_transcript_continues_nothing() -> None:
    [prompt] = prompts(user("Please read the full transcript at: /tmp/old-7.jsonl"))
    assert (prompt.kind, prompt.previous) == ("typed", "")


@pytest.mark.parametrize("words", ["[Request interrupted by user]", "[Request interrupted by user for tool use]"])
@pytest.mark.parametrize("content", ["text", "blocks"])
def test_an_interruption_is_marked(words: str, content: str) -> None:
    assert marks(user(words if content == "text" else [text(words)])) == [("interrupt", "")]


# --- the queue ----------------------------------------------------------------------------------

NOTIFICATION = "<task-notification><task-id>b1</task-id></task-notification>"
STEER = attachment("queued_command", commandMode="prompt", prompt="stop")
QUEUED: dict[str, tuple[list[Record], list[tuple[str, str, int]]]] = {
    "dequeued, then a record": ([queue("enqueue", "stop"), queue("dequeue"), user("stop")], [("typed", "stop", 2)]),
    "a record, then dequeued": ([queue("enqueue", "stop"), user("stop"), queue("dequeue")], [("typed", "stop", 1)]),
    "removed": ([queue("enqueue", "stop"), queue("remove")], [("queued", "stop", 0)]),
    "removed by name": (
        [queue("enqueue", "stop"), queue("enqueue", "go"), queue("remove", "go")],
        [("queued", "go", 1)],
    ),
    "taken back": ([queue("enqueue", "stop"), queue("popAll", "stop")], []),
    "taken back and sent again": (
        [queue("enqueue", "stop"), queue("popAll", "stop"), queue("enqueue", "stop now"), queue("remove")],
        [("queued", "stop now", 2)],
    ),
    "still waiting": ([queue("enqueue", "stop")], []),
    "removed, then a record": ([queue("enqueue", "stop"), queue("remove"), user("stop")], [("queued", "stop", 0)]),
    "removed, then another record": (
        [queue("enqueue", "stop"), queue("remove"), user("go")],
        [("queued", "stop", 0), ("typed", "go", 2)],
    ),
    "attached": ([STEER], [("queued", "stop", 0)]),
    "attached in blocks": (
        [attachment("queued_command", commandMode="prompt", prompt=[text("stop")])],
        [("queued", "stop", 0)],
    ),
    "removed, then attached": ([queue("enqueue", "stop"), queue("remove"), STEER], [("queued", "stop", 0)]),
    "attached to a sub-agent": (aside("a1", STEER), []),
    "two removed in their order": (
        [queue("enqueue", "one"), queue("enqueue", "two"), queue("remove"), queue("remove")],
        [("queued", "one", 0), ("queued", "two", 1)],
    ),
    "the same words twice": (
        [queue("enqueue", "go on"), queue("remove"), queue("enqueue", "go on"), queue("remove")],
        [("queued", "go on", 0), ("queued", "go on", 2)],
    ),
    "the same words, handed over and then removed": (
        [queue("enqueue", "go"), queue("enqueue", "go"), queue("dequeue"), user("go"), queue("remove")],
        [("typed", "go", 3), ("queued", "go", 1)],
    ),
    "a notification": ([queue("enqueue", NOTIFICATION), queue("remove")], []),
    "a notification handed over": ([queue("enqueue", NOTIFICATION), queue("dequeue"), user(NOTIFICATION)], []),
    "a notification attached": (
        [attachment("queued_command", commandMode="task-notification", prompt=NOTIFICATION)],
        [],
    ),
    "a prompt behind a notification that came as a record": (
        [queue("enqueue", NOTIFICATION), user(NOTIFICATION), queue("enqueue", "stop"), queue("remove")],
        [("queued", "stop", 2)],
    ),
    "a client command": ([queue("enqueue", "/model opus"), queue("remove")], []),
    "a custom command": ([queue("enqueue", "/review all"), queue("remove")], [("queued", "/review all", 0)]),
    "removed from nothing": ([queue("remove"), queue("dequeue"), queue("popAll")], []),
}


@each_row(("records", "expected"), QUEUED.values(), ids=[name.replace(" ", "-") for name in QUEUED])
def test_a_queued_prompt_is_counted_once_when_it_was_typed(
    records: list[Record], expected: list[tuple[str, str, int]]
) -> None:
    found = [(prompt.kind, prompt.text, prompt.at) for prompt in prompts(*records)]
    assert found == [(kind, words, moment(at)) for kind, words, at in expected]


# --- what happened to the conversation ----------------------------------------------------------

CAVEAT = user("<local-command-caveat>Run locally.</local-command-caveat>", isMeta=True)
MANUAL = [boundary("manual"), summary_of_before(), user(command("/compact"))]


@each_row(
    ("records", "expected"),
    [
        ([boundary(), summary_of_before()], ["auto"]),
        ([summary_of_before()], ["auto"]),
        (MANUAL, ["manual"]),
        ([*MANUAL, user("<local-command-stdout>Compacted</local-command-stdout>")], ["manual"]),
        ([user(command("/compact"))], []),
        ([boundary(), summary_of_before(), user("on"), boundary(), summary_of_before()], ["auto", "auto"]),
        ([summary_of_before(), user("on"), summary_of_before()], ["auto", "auto"]),
        ([system("microcompact_boundary")], []),
    ],
)
def test_a_compaction_is_counted_once(records: list[Record], expected: list[str]) -> None:
    assert [detail for kind, detail in marks(*records) if kind == "compact"] == expected
    assert [prompt.text for prompt in prompts(*records) if prompt.text != "on"] == []


@pytest.mark.parametrize(
    ("records", "begins"),
    [
        ([CAVEAT, user(command("/clear")), user("<local-command-stdout></local-command-stdout>"), user("Go")], True),
        ([system("local_command", content=command("/clear")), user("Go"), assistant("Going")], True),
        ([user("Go"), assistant("Going")], False),
        ([user(command("/model")), user("Go")], False),
        ([system("local_command", content="<local-command-stdout></local-command-stdout>"), user("Go")], False),
    ],
)
def test_a_stream_may_begin_with_clear(records: list[Record], begins: bool) -> None:
    found = turns(*records)
    assert conversation.fact(found).begins_with_clear is begins
    assert [turn.prompt.text for turn in found if turn.prompt] == ["Go"]


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (api_error(), [("api_error", "rate_limit")]),
        (api_error() | {"error": {"status": 529}}, [("api_error", "")]),
        (system("api_error", retryAttempt=1, error={"status": 529}), [("retry", "")]),
        ({"type": "pr-link", "prUrl": "https://example.org/o/r/pull/7"}, [("pr", "https://example.org/o/r/pull/7")]),
        (assistant("No response requested.", message={"model": "<synthetic>"}), []),
        (system("stop_hook_summary"), []),
    ],
)
def test_what_befalls_the_conversation_is_marked(record: Record, expected: list[tuple[str, str]]) -> None:
    assert marks(record) == expected


@pytest.mark.parametrize("record", [api_error(), assistant("Nothing.", message={"model": "<synthetic>"})])
def test_a_message_that_no_model_wrote_has_no_tokens_and_no_words(record: Record) -> None:
    assert [event for event in events(record) if isinstance(event, Spend | Reply)] == []


# --- tokens and words ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([usage(10, 5)], Usage(input=10, output=5)),
        ([usage(10, 5), usage(10, 5), usage(10, 5)], Usage(input=10, output=5)),
        ([usage(10, 1), usage(10, 1), usage(10, 80)], Usage(input=10, output=80)),
        ([usage(10, 80), usage(10, 1)], Usage(input=10, output=80)),
        ([usage(1, 2, 3, 40, 30)], Usage(input=1, output=2, cache_read=3, cache_write=40, cache_write_1h=30)),
        ([{"input_tokens": 4, "output_tokens": None}], Usage(input=4)),
    ],
)
def test_a_message_in_several_records_is_spent_once_and_its_last_report_wins(
    reports: list[Record], expected: Usage
) -> None:
    [turn] = turns(user("Go"), *(assistant(f"part {n}", spent=spent) for n, spent in enumerate(reports)))
    assert [spend.usage for spend in turn.spends] == [expected]
    assert [reply.text for reply in turn.replies] == [f"part {n}" for n in range(len(reports))]


def test_a_message_that_goes_on_behind_another_is_still_spent_once() -> None:
    [turn] = turns(
        user("Go"),
        assistant("one", id="m1", spent=usage(10, 1)),
        *aside("", assistant("aside", id="m2", spent=usage(7, 7))),
        assistant("two", id="m1", spent=usage(10, 9)),
    )
    assert [(spend.usage.output, spend.by) for spend in turn.spends] == [(9, ""), (7, "sidechain")]
    assert [reply.text for reply in turn.replies] == ["one", "two"]


def test_thinking_is_not_said() -> None:
    assert [
        event for event in events(assistant({"type": "thinking", "thinking": "hm"})) if isinstance(event, Reply)
    ] == []


# --- files --------------------------------------------------------------------------------------


def test_a_file_tells_where_it_was_written_and_as_what() -> None:
    about = [event for event in events(user("Go"), assistant("Going"), entrypoint="cli") if isinstance(event, About)]
    assert about == [
        About(at=moment(0)),
        About(stream="s1", cwd="/home/ada/till", branch="main", version="2.1.60", origin="cli"),
    ]


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ([{"type": "ai-title", "aiTitle": "Slow till"}, {"type": "ai-title", "aiTitle": "Fast till"}], "Fast till"),
        ([{"type": "ai-title", "aiTitle": "Slow till"}, {"type": "custom-title", "customTitle": "Mine"}], "Mine"),
    ],
)
def test_the_last_title_is_told(records: list[Record], title: str) -> None:
    assert [event.title for event in events(*records) if isinstance(event, About)][-1] == title


@pytest.mark.parametrize(
    ("record", "counted"),
    [
        ({"type": "wholly-new"}, {"wholly-new": 1}),
        ({"type": "system", "subtype": "novel"}, {"system/novel": 1}),
        ({"type": "queue-operation", "operation": "shuffle"}, {"queue-operation/shuffle": 1}),
        ({"type": "file-history-snapshot"}, {}),
        (user("Go"), {}),
    ],
)
def test_a_record_type_that_nobody_knows_is_counted(record: Record, counted: dict[str, int]) -> None:
    reader = claude_code.Reader()
    reader.take(
        claude_code.Record(**{key: record.get(key) for key in ("type", "subtype", "operation")}), list[Any]().append
    )
    assert reader.unknown == counted


@each_row(
    ("head", "is_ours"),
    [
        (jsonl(stamped(user("Go"))), True),
        (jsonl([{"type": "summary", "summary": "Till", "leafUuid": "u1"}]), True),
        (jsonl([{"type": "file-history-snapshot", "messageId": "x", "snapshot": {}}]), True),
        (b"\n\n" + jsonl(stamped(queue("enqueue", "Go"))), True),
        (jsonl([{"type": "session_meta", "payload": {"id": "x"}}]), False),
        (jsonl([{"type": "user", "text": "somebody else's"}]), False),
        (b"# notes\n", False),
        (b"", False),
    ],
)
def test_a_file_is_claimed_by_its_envelope(head: bytes, is_ours: bool) -> None:
    assert claude_code.claims(head) is is_ours


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, ["/home/ada/.claude/projects", "/home/ada/.config/claude/projects"]),
        ({"CLAUDE_CONFIG_DIR": "/etc/one"}, ["/etc/one/projects"]),
        ({"CLAUDE_CONFIG_DIR": "/etc/one, /etc/two,"}, ["/etc/one/projects", "/etc/two/projects"]),
        ({"CLAUDE_CONFIG_DIR": " "}, ["/home/ada/.claude/projects", "/home/ada/.config/claude/projects"]),
    ],
)
def test_transcripts_lie_where_the_client_is_told_to_keep_them(env: dict[str, str], expected: list[str]) -> None:
    assert [str(path) for path in claude_code.roots(env, Path("/home/ada"))] == expected


def test_a_call_is_told_with_its_message() -> None:
    found = events(assistant("Looking", calling("t1", "Read", file_path="/till/price.py"), id="m7"))
    assert [type(event).__name__ for event in found] == ["About", "About", "Spend", "Reply", "Call"]
