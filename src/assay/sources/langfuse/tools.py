"""Tool calls and how they ended, as far as Langfuse was told."""

import re
from typing import Any

import msgspec

from assay.sources.langfuse.records import rows, table, word
from assay.types import Call, CallKind, CallStatus, Edit
from assay.types.lines import packed

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
FAILED = re.compile(
    r"<tool_use_error>|(?:Input validation)?Error:|(?:File|Path) does not exist|String to replace not found"
)
REJECTED = re.compile(r"The user doesn't want to (?:proceed|take this action)|User rejected|Tool use rejected")
DENIED = re.compile(r"Claude requested permissions|Permission (?:to use|for this)\b|This command requires approval")
INTERRUPTED = re.compile(r"\[Request interrupted")


def call(id: str, name: str, given: dict[str, Any], at: str, of: int, by: str = "") -> Call:
    """The call of a tool with these arguments."""
    kind = KINDS.get(name) or ("mcp" if name.startswith("mcp__") else "other")
    target = next((found for key in TARGETS if (found := word(given.get(key)))), "")
    return Call(
        id=id,
        at=at,
        name=name,
        of=of,
        by=by,
        kind=kind,
        target=target,
        command=word(given.get("command")) if kind == "shell" else "",
        dialect="powershell" if name == "PowerShell" else "bash",
        edits=edits(given) if kind == "edit" else (),
    )


def edits(given: dict[str, Any]) -> tuple[Edit, ...]:
    """What an edit asked for; the client's own patch does not come with it."""
    path = word(given.get("file_path")) or word(given.get("notebook_path"))
    if not path:
        return ()
    if whole := word(given.get("content")) or word(given.get("new_source")):
        lines = whole.splitlines()
        return (Edit(path=path, added=len(lines), new=packed(lines)),)
    added: list[str] = []
    removed: list[str] = []
    for one in rows(given.get("edits")) or [given]:
        change = table(one)
        more, less = changed(word(change.get("old_string")), word(change.get("new_string")))
        added += more
        removed += less
    return (Edit(path=path, added=len(added), removed=len(removed), new=packed(added), old=packed(removed)),)


def changed(old: str, new: str) -> tuple[list[str], list[str]]:
    """Lines added and removed between the lines that both texts begin and end with."""
    before, after = old.splitlines(), new.splitlines()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return after, before


def ending(text: str, *, is_error: bool = False) -> tuple[CallStatus, int | None, str]:
    """How a call ended, its exit code and its output, read off the output: the hook keeps no other sign."""
    if REJECTED.match(text):
        return "rejected", None, text
    if DENIED.match(text):
        return "denied", None, text
    if INTERRUPTED.match(text):
        return "interrupted", None, text
    if code := EXIT.match(text):
        return "error", int(code[1]), text[code.end() :]
    if is_error or FAILED.match(text):
        return "error", None, text
    return "ok", 0, text


def plain(value: Any) -> str:
    """The text in a message's content or a tool's output: a string, blocks with text, or JSON of either."""
    if isinstance(value, str):
        inner = parsed(value) if value[:2] == "[{" else None
        return (plain(inner) if isinstance(inner, list) else "") or value
    if isinstance(value, list):
        return "\n".join(found for one in value if (found := word(one) or word(table(one).get("text"))))
    if isinstance(value, dict):
        told = next((value[key] for key in ("content", "text", "output", "stdout") if value.get(key)), None)
        return plain(told) if told is not None else msgspec.json.encode(value).decode()
    return ""


def parsed(text: str) -> Any:
    """A text that is JSON as what it says, else `None`."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
