"""Transcripts of both agents in which every place that can hold words holds one that is planted."""

import base64
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from assay.testing.claude_code import (
    build_call,
    build_prompt,
    build_record,
    build_reply,
    build_result,
    build_shell_call,
    format_time,
    write_lines,
)
from tests.sessions.redaction_secrets import SHAPES, Secret, made

SAYABLE = (
    "private-key jwt aws-secret-key google-api-key stripe-key slack-token anthropic-key openai-key github-token "
    "azure-storage-key npm-token gitlab-token sendgrid-key"
).split()
"""Kinds that stand in running text."""
NAMEABLE = "github-token gitlab-token stripe-key npm-token groq-key google-api-key replicate-token".split()
"""Kinds without a sign that a name of a file, a branch or a tool could not have."""
RUN = re.compile(r"[A-Za-z0-9_-]{12,}")
WINDOW, PREFIX = 12, 4
"""So much of a secret in a row is a leak; so many signs of it, at most, say only what it is."""


class Plant(Protocol):
    """Gives the words to put in a place, which may hold no more than a name."""

    def __call__(self, place: str, *, named: bool) -> str: ...


class Secrets:
    """Plants another secret in every place."""

    def __init__(self) -> None:
        self.planted: dict[str, Secret] = {}

    def __call__(self, place: str, *, named: bool) -> str:
        if place not in self.planted:
            kinds = NAMEABLE if named else SAYABLE
            kind = kinds[len(self.planted) % len(kinds)]
            self.planted[place] = made(kind, SHAPES[kind][0], random.Random(place))
        return self.planted[place].text

    def pieces(self) -> dict[str, str]:
        """All that must be seen nowhere, with the place it is from: whole, in part, and encoded."""
        found: dict[str, str] = {}
        for place, secret in self.planted.items():
            for text in forms(secret.value):
                found |= dict.fromkeys(windows(text), place)
        return found


def forms(value: str) -> Iterator[str]:
    """A value as it may be written elsewhere; base64 depends on what stands before it."""
    yield value
    yield json.dumps(value)[1:-1]
    yield quote(value, safe="")
    for before in range(3):
        yield base64.b64encode(b"x" * before + value.encode()).decode().rstrip("=")[4:-4]


def windows(text: str) -> Iterator[str]:
    """Every stretch of a text that is long enough to be told from others."""
    for run in RUN.findall(text):
        for at in range(min(PREFIX, len(run) - WINDOW), len(run) - WINDOW + 1):
            yield run[at : at + WINDOW]


def leaks(text: str, pieces: dict[str, str]) -> set[str]:
    """Places whose words are in a text, also where a terminal broke its lines."""
    found = set()
    for one in (text, "".join(text.split())):
        seen = {one[at : at + WINDOW] for at in range(len(one) - WINDOW + 1)}
        found |= {pieces[piece] for piece in seen & pieces.keys()}
    return found


# --- Claude Code ------------------------------------------------------------------------------


def edited(second: float, call: float, path: str, lines: list[str], stream: str) -> dict[str, Any]:
    done = build_result(second, call, "updated", stream)
    patch = [{"oldStart": 1, "newStart": 1, "lines": lines}]
    return done | {"toolUseResult": {"type": "update", "filePath": path, "structuredPatch": patch}}


def claude_code(top: Path, folder: str, plant: Plant, stream: str = "loom-1") -> Path:
    """A conversation, its sub-agent's, and one that follows its plan."""

    def word(place: str) -> str:
        return plant(f"claude {place}", named=False)

    def name(place: str) -> str:
        return plant(f"claude {place}", named=True)

    path = f"{folder}/src/{name('path')}.py"
    made = f"{folder}/src/new-{name('new path')}.py"
    agent = f"agent-{name('agent id')}"
    lines = ["+" + line for line in word("new line").splitlines()] + [f"+row_{n} = {n}" for n in range(12)]
    refused = f"The user doesn't want to proceed with this tool use. The user said:\nno, use {word('rejection')}"
    records: list[dict[str, Any] | str] = [
        build_prompt(1, f"Please add the row that uses {word('prompt')} to the loom, and test it", stream),
        build_call(2, "Read", {"file_path": path}, stream),
        build_result(3, 2, f"1→{word('file read')}", stream),
        build_call(4, "Edit", {"file_path": path, "old_string": word("old"), "new_string": word("new")}, stream),
        edited(5, 4, path, lines, stream),
        build_call(6, "Write", {"file_path": made, "content": f"{word('written')}\n" + "a = 1\n" * 12}, stream),
        build_result(7, 6, "created", stream),
        build_shell_call(8, f"export TOKEN={word('command')} && pytest -q", stream),
        build_result(9, 8, f"1 failed\nE   AssertionError: {word('test output')}", stream),
        build_call(10, "WebFetch", {"url": f"https://ada:{name('basic auth')}@loom.example/x"}, stream),
        build_result(11, 10, word("page"), stream),
        build_call(12, "Grep", {"pattern": word("pattern")}, stream),
        build_result(13, 12, "nothing", stream),
        build_call(14, f"mcp__loom__{name('tool name')}", {"query": word("tool input")}, stream),
        build_result(15, 14, word("mcp output"), stream),
        build_call(16, "Bash", {"command": "rm -rf /loom"}, stream),
        build_result(17, 16, refused, stream),
        build_call(18, "Task", {"description": word("agent task"), "prompt": word("agent prompt")}, stream),
        build_result(19, 18, word("agent report"), stream) | {"toolUseResult": {"agentId": agent}},
        build_shell_call(20, f"git commit -am 'use {word('commit message')}'", stream),
        build_result(21, 20, f"[main 1a2b3c4] use {word('commit output')}\n 1 file changed", stream),
        build_reply(22, f"Done: the row uses {word('reply')}", stream),
        build_prompt(30, f"<bash-input>echo {word('own command')}</bash-input>", stream),
        build_prompt(
            31, f"<command-name>/knit</command-name><command-args>{word('slash command')}</command-args>", stream
        ),
        build_record("queue-operation", 32, stream, operation="enqueue", content=f"also {word('queued')}"),
        build_record("queue-operation", 33, stream, operation="remove", content=f"also {word('queued')}"),
        build_record("system", 34, stream, subtype=name("system subtype"), content=word("system")),
        {"type": "custom-title", "customTitle": word("title"), "sessionId": stream},
        {"type": "summary", "summary": word("summary"), "leafUuid": "x"},
        {"type": "pr-link", "prUrl": f"https://loom.example/pull/{name('pull request')}", "timestamp": format_time(36)},
        {"type": name("record type"), "text": word("unknown record"), "sessionId": stream},
        '{"type": "user", "message": ' + word("malformed line").replace("\n", " "),
        '"' + word("bare text").replace("\n", " ") + '"',
        '{"type": "user", "message": {"content": {"' + name("odd key") + '": 1}}}',
        build_prompt(40, f"still wrong!! it fails with {word('complaint')}", stream, gitBranch=f"fix/{name('branch')}"),
        build_shell_call(41, "pytest -q", stream),
        build_result(42, 41, f"E   ValueError: {word('last failure')}\n1 failed in 0.1s", stream),
        build_record("assistant", 43, stream, isApiErrorMessage=True, error=word("api error"), message={
            "id": "e1", "model": "<synthetic>", "content": [{"type": "text", "text": word("api error text")}]}),
        build_reply(44, f"It can't be done: {word('last reply')}", stream, version=f"2.1.{name('version')}")
        | {"message": {"id": "m44", "model": name("model"), "content": [{"type": "text", "text": word("final")}],
                       "usage": {"output_tokens": 9}}},
    ]  # fmt: skip
    records = [one | {"cwd": folder} if isinstance(one, dict) and "cwd" in one else one for one in records]
    for one in records:
        if isinstance(one, dict) and one["uuid" if "uuid" in one else "type"] and "gitBranch" in one:
            one["gitBranch"] = f"fix/{name('branch')}"
    write_lines(top / f"{name('transcript')}.jsonl", *records)
    aside = {"isSidechain": True, "agentId": agent, "cwd": folder}
    write_lines(
        top / f"{agent}.jsonl",
        build_prompt(18.1, word("agent prompt"), stream, **aside),
        build_reply(18.2, word("agent words"), stream, **aside),
        build_shell_call(18.3, f"echo {word('agent command')}", stream, **aside),
        build_reply(18.5, word("agent report"), stream, **aside),
    )
    plan = f"Implement the following plan:\n\n# Loom\n{word('plan')}\n\nIf you need details, read the full transcript at: {top}/x/{stream}.jsonl"  # noqa: E501
    second = [
        build_prompt(60, plan, f"{stream}b", cwd=folder),
        build_shell_call(61, "pytest -q", f"{stream}b", cwd=folder),
        build_result(62, 61, "3 passed in 0.1s", f"{stream}b") | {"cwd": folder},
        build_reply(63, f"all of {word('second reply')} is there", f"{stream}b", cwd=folder),
        build_prompt(70, f"thanks, that works, {word('thanks')}", f"{stream}b", cwd=folder),
        build_reply(71, "welcome", f"{stream}b", cwd=folder),
        build_prompt(80, f"now something else: why is {word('other topic')} slow?", f"{stream}b", cwd=folder),
        build_reply(81, "because", f"{stream}b", cwd=folder),
    ]
    write_lines(top / f"second-{stream}.jsonl", *second)
    write_lines(top / f"third-{stream}.jsonl", *cut_in_two(folder, name, f"{stream}c"))
    return top


def cut_in_two(folder: str, name: Callable[[str], str], stream: str) -> list[dict[str, Any]]:
    """What is too long to be kept whole, with a word where it is cut."""
    row = "thread " * 13
    output = f"{row}{name('where an output is cut')} {row * 5}{name('where its end begins')} {'thread ' * 25}"
    reply = f"{row}{name('where a reply is cut')} " + f"{row}weave " * 60
    return [
        build_prompt(90, f"{row}{name('where a title is cut')} and mend the loom", stream, cwd=folder),
        build_shell_call(91, "ls -la", stream, cwd=folder),
        build_result(92, 91, output, stream) | {"cwd": folder},
        build_reply(93, reply, stream, cwd=folder),
        build_reply(94, reply, stream, cwd=folder),
    ]


# --- Codex ------------------------------------------------------------------------------------


def codex(top: Path, folder: str, plant: Plant, thread: str = "t-kiosk") -> Path:
    """A rollout."""

    def word(place: str) -> str:
        return plant(f"codex {place}", named=False)

    def name(place: str) -> str:
        return plant(f"codex {place}", named=True)

    def event(kind: str, **more: Any) -> tuple[str, dict[str, Any]]:
        return "event_msg", {"type": kind, **more}

    def item(kind: str, **more: Any) -> tuple[str, dict[str, Any]]:
        return "response_item", {"type": kind, **more}

    patch = (
        f"*** Begin Patch\n*** Update File: src/{name('path')}.py\n@@\n-{name('old line')}\n+{name('new line')}\n"
        + "".join(f"+price_{n} = {n}\n" for n in range(12))
        + f"*** Add File: src/new.py\n+KEY = '{name('added line')}'\n*** End Patch"
    )
    shell = json.dumps({"cmd": f"TOKEN={word('command')} pytest -q", "workdir": f"{folder}/{name('workdir')}"})
    usage = {"input_tokens": 100, "cached_input_tokens": 0, "output_tokens": 10, "total_tokens": 110}
    tool = {"server": name("server"), "tool": name("tool"), "arguments": {"query": word("tool input")}}
    payloads = [
        ("session_meta", {"id": thread, "timestamp": format_time(0), "cwd": folder, "originator": name("originator"),
         "cli_version": name("version"), "source": "cli", "git": {"branch": f"fix/{name('branch')}"}}),
        event("task_started", turn_id="k-1"),
        ("turn_context", {"turn_id": "k-1", "cwd": folder, "model": name("model")}),
        event("user_message", message=f"Mend the till with {word('prompt')} and test it", images=[]),
        event("agent_message", message=f"Looking at {word('reply')}"),
        item("function_call", name="exec_command", arguments=shell, call_id="k1"),
        event("exec_command_end", call_id="k1", turn_id="k-1", command=["bash", "-lc", f"echo {word('end command')}"],
              exit_code=1, aggregated_output=f"1 failed\n{word('output')}", stdout="", stderr="", status="failed"),
        item("function_call_output", call_id="k1", output=f"Process exited with code 1\nOutput:\n{word('output')}"),
        item("custom_tool_call", name="apply_patch", input=patch, call_id="k2", status="completed"),
        item("custom_tool_call_output", call_id="k2", output=f"Success. {word('patch output')}"),
        item("function_call", name=f"tool_{name('tool name')}", arguments=f'{{"x": "{name("argument")}"}}',
             call_id="k3"),
        item("function_call_output", call_id="k3", output=word("tool output")),
        event("mcp_tool_call_end", call_id="k4", invocation=tool, result={"Ok": {"content": [{"type": "text",
              "text": word("mcp output")}]}}),
        item("web_search_call", id="k5", action={"query": word("search")}, status="completed"),
        event("token_count", info={"total_token_usage": usage, "last_token_usage": usage}),
        event("stream_error", message=f"again: {word('retry')}"),
        event("stream_error", message=f"{'again ' * 30}{name('where a retry is cut')}"),
        item("function_call", name="look_up", arguments=json.dumps({"query": f"{'till ' * 36}{name('cut target')}"}),
             call_id="k6"),
        item("function_call_output", call_id="k6", output="nothing"),
        event("thread_name_updated", thread_id=thread, thread_name=word("title")),
        event(name("event type"), message=word("unknown event")),
        (name("record type"), {"type": "x", "text": word("unknown record")}),
        event("agent_message", message=f"The till is mended with {word('last reply')}"),
        event("task_complete", turn_id="k-1"),
        event("task_started", turn_id="k-2"),
        event("user_message", message=f"no, that is wrong, it still says {word('complaint')}", images=[]),
        event("agent_message", message=f"Sorry about {word('sorry')}"),
        event("error", message=f"the service says {word('error')}"),
        event("turn_aborted", turn_id="k-2", reason=word("abort")),
    ]  # fmt: skip
    records = [
        {"timestamp": format_time(200 + n), "type": kind, "payload": one} for n, (kind, one) in enumerate(payloads)
    ]
    write_lines(top / f"rollout-2026-03-02T09-00-00-{thread}.jsonl", *records)
    return top
