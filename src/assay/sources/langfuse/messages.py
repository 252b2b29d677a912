"""Messages that models are sent and answer with, in the two dialects that proxies keep, and their tool calls."""

import re
from typing import Any, NamedTuple

import msgspec

from assay.sources.langfuse.records import to_exit_code
from assay.types import Call, CallKind, CallStatus, Edit
from assay.types.lines import find_changed_lines, hash_lines
from assay.types.value import to_list, to_table, to_text

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
CLIENT_COMMANDS = frozenset(
    """add-dir agents branch clear compact config context copy cost doctor effort exit export fast help hooks ide
    login logout mcp memory model new output-style permissions plugin plugins quit rename reset resume rewind
    sandbox settings skills stats status statusline tasks theme todos upgrade usage vim""".split()
)
"""Slash commands that set up the client and ask nothing of the agent."""
SUMMARY = "This session is being continued from a previous conversation"
INTERRUPTION = "[Request interrupted by user"


NAMES: dict[CallKind, str] = {
    "shell": "Bash PowerShell",
    "edit": "Edit MultiEdit Write NotebookEdit",
    "read": "Read NotebookRead LS",
    "search": "Grep Glob LSP ToolSearch",
    "agent": "Task Agent Workflow",
    "plan": "EnterPlanMode ExitPlanMode",
    "todo": "TodoWrite TaskCreate TaskUpdate TaskList TaskGet",
    "ask": "AskUserQuestion",
    "web": "WebFetch WebSearch",
    "skill": "Skill SlashCommand",
}
KINDS: dict[str, CallKind] = {name: kind for kind, names in NAMES.items() for name in names.split()}
TARGETS = "file_path notebook_path pattern query url skill plan description path".split()

EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,9})\b\n*")
HEADED = re.compile(
    r"(?:(?:Command|Chunk ID|Wall time|Original token count)[^\n]*\n){0,5}"
    r"(?:Exit code: |Process exited with code )(-?\d{1,9})\n(?:(?!Output:)[^\n]*\n){0,5}(?:Output:\n)?"
)
"""What Codex writes above a command's output."""
FAILED = re.compile(
    r"<tool_use_error>|(?:Input validation)?Error:|(?:File|Path) does not exist|String to replace not found"
)
REJECTED = re.compile(r"The user doesn't want to (?:proceed|take this action)|User rejected|Tool use rejected")
DENIED = re.compile(r"Claude requested permissions|Permission (?:to use|for this)\b|This command requires approval")
INTERRUPTED = re.compile(r"\[Request interrupted")


class ToolRequest(NamedTuple):
    """A tool that a model asks to be run."""

    id: str
    name: str
    given: dict[str, Any]


class ToolResponse(NamedTuple):
    """What a tool gave back."""

    id: str
    output: Any
    is_error: bool | None
    """`None` where nothing says so."""


def list_messages(value: Any) -> list[dict[str, Any]]:
    """The messages that a model was sent."""
    if isinstance(value, dict):
        value = value.get("messages", [value])
    return [one for one in to_list(value) if isinstance(one, dict) and "role" in one]


def find_answer(value: Any) -> dict[str, Any]:
    """The message a model gave: by itself, as the first choice, or as the last of a list."""
    if isinstance(value, list):
        messages = list_messages(value)
        return messages[-1] if messages else {"role": "assistant", "content": value}
    given = to_table(value)
    choice = to_table(next(iter(to_list(given.get("choices"))), None))
    return to_table(choice.get("message")) or given


def join_words(message: dict[str, Any]) -> str:
    """The text of a message, its blocks joined."""
    content = message.get("content")
    if isinstance(content, list):
        blocks = [to_table(one) for one in content]
        return "\n".join(to_text(one.get("text")) for one in blocks if one.get("type") == "text" and one.get("text"))
    return to_text(content)


def list_tool_requests(message: dict[str, Any]) -> list[ToolRequest]:
    """The tools that an assistant's message asks for."""
    found = [
        ToolRequest(to_text(one.get("id")), to_text(one.get("name")), to_table(one.get("input")))
        for one in map(to_table, to_list(message.get("content")))
        if one.get("type") == "tool_use"
    ]
    for one in map(to_table, to_list(message.get("tool_calls"))):
        function = to_table(one.get("function"))
        given = one.get("input", function.get("arguments", one.get("arguments")))
        given = parse_json(given) if isinstance(given, str) else given
        found.append(
            ToolRequest(
                to_text(one.get("id")), to_text(one.get("name")) or to_text(function.get("name")), to_table(given)
            )
        )
    return [one for one in found if one.id and one.name]


def list_tool_responses(message: dict[str, Any]) -> list[ToolResponse]:
    """The results of tools in a message, whichever way they are given."""
    found = [
        ToolResponse(to_text(one.get("tool_use_id")), one.get("content"), to_truth(one.get("is_error")))
        for one in map(to_table, to_list(message.get("content")))
        if one.get("type") == "tool_result"
    ]
    for one in map(to_table, to_list(message.get("tool_results"))):
        if one.get("output") is not None:
            is_error = to_truth(one.get("is_error"))
            found.append(ToolResponse(to_text(one.get("tool_use_id")), one.get("output"), is_error))
    if message.get("role") == "tool" and message.get("tool_call_id"):
        found.append(ToolResponse(to_text(message.get("tool_call_id")), message.get("content"), is_error=None))
    return [one for one in found if one.id]


def to_truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def find_person_words(text: str) -> str:
    """A person's words without what the client put around them; empty where a machine wrote it all."""
    tag = TAG.match(text)
    while tag and tag[1] in CONTEXT:
        close = text.find(f"</{tag[1]}>", tag.end())
        text = text[close + len(tag[1]) + 3 :] if close >= 0 else ""
        tag = TAG.match(text)
    text = text.strip()
    if text.startswith((INTERRUPTION, SUMMARY)) or (tag and tag[1] in MACHINE):
        return ""
    return find_slash_request(text) if tag and tag[1].startswith("command-") else text


def find_slash_request(text: str) -> str:
    """The request in a slash command; empty for one that only steers the client."""
    name, given = COMMAND.search(text), ARGUMENTS.search(text)
    if not name or name[1] in CLIENT_COMMANDS:
        return ""
    return f"/{name[1]} {given[1].strip() if given else ''}".strip()


def find_text(value: Any) -> str:
    """The text of an input or output that is a string, a message, or blocks of one; else empty."""
    if isinstance(value, dict) and "role" in value:
        return join_words(value)
    return value if isinstance(value, str) else to_plain_text(value) if isinstance(value, list) else ""


# --- tool calls ------------------------------------------------------------------------------


def build_call(id: str, name: str, given: dict[str, Any], at: str, of: int, by: str = "") -> Call:
    """The call of a tool with these arguments."""
    kind = KINDS.get(name) or ("mcp" if name.startswith("mcp__") else "other")
    target = next((found for key in TARGETS if (found := to_text(given.get(key)))), "")
    return Call(
        id=id,
        at=at,
        name=name,
        of=of,
        by=by,
        kind=kind,
        target=target,
        is_partial=kind == "read" and any(given.get(name) is not None for name in ("offset", "limit")),
        command=to_text(given.get("command")) if kind == "shell" else "",
        dialect="powershell" if name == "PowerShell" else "bash",
        edits=list_edits(given) if kind == "edit" else (),
    )


def list_edits(given: dict[str, Any]) -> tuple[Edit, ...]:
    """The edit that a call asks for; the client's own patch does not come with it."""
    path = to_text(given.get("file_path")) or to_text(given.get("notebook_path"))
    if not path:
        return ()
    if whole := to_text(given.get("content")) or to_text(given.get("new_source")):
        lines = whole.splitlines()
        return (Edit(path=path, added=len(lines), new=hash_lines(lines)),)
    added: list[str] = []
    removed: list[str] = []
    for one in to_list(given.get("edits")) or [given]:
        change = to_table(one)
        more, less = find_changed_lines(to_text(change.get("old_string")), to_text(change.get("new_string")))
        added += more
        removed += less
    return (Edit(path=path, added=len(added), removed=len(removed), new=hash_lines(added), old=hash_lines(removed)),)


def parse_ending(
    text: str, *, is_error: bool | None = None, is_telling: bool = False
) -> tuple[CallStatus, int | None, str]:
    """Status, exit code and output of a call, read off its output where nothing else tells.

    Only an agent that tells every failure, such as Claude Code, tells by silence that there was none; of others the
    exit code is not known.
    """
    if REJECTED.match(text):
        return "rejected", None, text
    if DENIED.match(text):
        return "denied", None, text
    if INTERRUPTED.match(text):
        return "interrupted", None, text
    if code := EXIT.match(text):
        return "error", int(code[1]), text[code.end() :]
    if code := HEADED.match(text):
        return "error" if int(code[1]) else "ok", int(code[1]), text[code.end() :]
    if is_error or FAILED.match(text):
        return "error", None, text
    return "ok", 0 if is_telling or is_error is False else None, text


def find_exit_code(output: Any) -> int | None:
    """The exit code that stands beside an output."""
    told = to_table(parse_json(output) if isinstance(output, str) and output[:2] == '{"' else output)
    for one in (to_table(told.get("metadata")), told):
        code = to_exit_code(one.get("exit_code", one.get("exitCode")))
        if code is not None:
            return code
    return None


def to_plain_text(value: Any) -> str:
    """The text in a message's content or a tool's output: a string, blocks with text, or JSON of either."""
    if isinstance(value, str):
        inner = parse_json(value) if value[:2] == "[{" else None
        return (to_plain_text(inner) if isinstance(inner, list) else "") or value
    if isinstance(value, list):
        return "\n".join(found for one in value if (found := to_text(one) or to_text(to_table(one).get("text"))))
    if isinstance(value, dict):
        told = next((value[key] for key in ("content", "text", "output", "stdout") if value.get(key)), None)
        return to_plain_text(told) if told is not None else msgspec.json.encode(value).decode()
    return ""


def parse_json(text: str) -> Any:
    """What a text of JSON says; `None` where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
