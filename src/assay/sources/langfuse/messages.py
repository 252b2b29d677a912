"""Messages as models are sent them and answer them, in the two dialects that proxies keep."""

import re
from typing import Any, NamedTuple

from assay.sources.langfuse.records import rows, table, word
from assay.sources.langfuse.tools import parsed, plain

TAG = re.compile(r"\s*<([a-z][a-z0-9_-]*)[^>]*>", re.IGNORECASE)
CONTEXT = "ide_opened_file ide_selection ide_diagnostics system-reminder".split()
MACHINE = frozenset(
    """local-command-stdout local-command-stderr local-command-caveat bash-stdout bash-stderr bash-notification
    task-notification agent-notification teammate-message cross-session-message channel tick user-memory-input
    user-prompt-submit-hook fork-boilerplate""".split()
)
"""Tags that only the client writes at the head of a message."""
COMMAND = re.compile(r"<command-name>\s*/?([^<]*?)\s*</command-name>")
ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
CLIENT = frozenset(
    """add-dir agents branch clear compact config context copy cost doctor effort exit export fast help hooks ide
    login logout mcp memory model new output-style permissions plugin plugins quit rename reset resume rewind
    sandbox settings skills stats status statusline tasks theme todos upgrade usage vim""".split()
)
"""Slash commands that set up the client and ask nothing of the agent."""
SUMMARY = "This session is being continued from a previous conversation"
INTERRUPTED = "[Request interrupted by user"


class Asked(NamedTuple):
    """A tool that a model wants to be run."""

    id: str
    name: str
    given: dict[str, Any]


class Ran(NamedTuple):
    """What a tool gave back."""

    id: str
    output: Any
    is_error: bool


def of_request(value: Any) -> list[dict[str, Any]]:
    """The messages a model was sent."""
    if isinstance(value, dict):
        value = value.get("messages", [value])
    return [one for one in rows(value) if isinstance(one, dict) and "role" in one]


def of_answer(value: Any) -> dict[str, Any]:
    """The message a model gave: by itself, as the first choice, or as the last of a list."""
    if isinstance(value, list):
        messages = of_request(value)
        return messages[-1] if messages else {"role": "assistant", "content": value}
    given = table(value)
    choice = table(next(iter(rows(given.get("choices"))), None))
    return table(choice.get("message")) or given


def words(message: dict[str, Any]) -> str:
    """The text of a message."""
    content = message.get("content")
    if isinstance(content, list):
        blocks = [table(one) for one in content]
        return "\n".join(word(one.get("text")) for one in blocks if one.get("type") == "text" and one.get("text"))
    return word(content)


def asked(message: dict[str, Any]) -> list[Asked]:
    """The tools that an assistant's message asks for."""
    found = [
        Asked(word(one.get("id")), word(one.get("name")), table(one.get("input")))
        for one in map(table, rows(message.get("content")))
        if one.get("type") == "tool_use"
    ]
    for one in map(table, rows(message.get("tool_calls"))):
        function = table(one.get("function"))
        given = one.get("input", function.get("arguments", one.get("arguments")))
        given = parsed(given) if isinstance(given, str) else given
        found.append(Asked(word(one.get("id")), word(one.get("name")) or word(function.get("name")), table(given)))
    return [one for one in found if one.id and one.name]


def ran(message: dict[str, Any]) -> list[Ran]:
    """The results of tools in a message, whichever way they are given."""
    found = [
        Ran(word(one.get("tool_use_id")), one.get("content"), one.get("is_error") is True)
        for one in map(table, rows(message.get("content")))
        if one.get("type") == "tool_result"
    ]
    for one in map(table, rows(message.get("tool_results"))):
        if one.get("output") is not None:
            found.append(Ran(word(one.get("tool_use_id")), one.get("output"), one.get("is_error") is True))
    if message.get("role") == "tool" and message.get("tool_call_id"):
        found.append(Ran(word(message.get("tool_call_id")), message.get("content"), is_error=False))
    return [one for one in found if one.id]


def spoken(text: str) -> str:
    """A person's words without what the client put around them; empty where a machine wrote it all."""
    tag = TAG.match(text)
    while tag and tag[1] in CONTEXT:
        close = text.find(f"</{tag[1]}>", tag.end())
        text = text[close + len(tag[1]) + 3 :] if close >= 0 else ""
        tag = TAG.match(text)
    text = text.strip()
    if text.startswith((INTERRUPTED, SUMMARY)) or (tag and tag[1] in MACHINE):
        return ""
    return in_command(text) if tag and tag[1].startswith("command-") else text


def in_command(text: str) -> str:
    """The request in a slash command; nothing for one that only steers the client."""
    name, given = COMMAND.search(text), ARGUMENTS.search(text)
    if not name or name[1] in CLIENT:
        return ""
    return f"/{name[1]} {given[1].strip() if given else ''}".strip()


def text_of(value: Any) -> str:
    """What an input or output says where it is a text, a message, or blocks of one."""
    if isinstance(value, dict) and "role" in value:
        return words(value)
    return value if isinstance(value, str) else plain(value) if isinstance(value, list) else ""
