"""Messages of a model's request and answer, in the two ways in which `gen_ai.*` spans hold them, and tool calls."""

import re
from typing import Any, NamedTuple

import msgspec

from assay.types import Call, CallKind, Edit
from assay.types.lines import find_changed_lines, hash_lines
from assay.types.value import to_list, to_table, to_text

NUMBERED = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,4})\.(.+)")
NAMES: dict[CallKind, str] = {
    "shell": "bash shell exec exec_command run_command run_shell_command execute_command terminal powershell",
    "edit": "edit multiedit write write_file edit_file create_file str_replace replace apply_patch notebookedit",
    "read": "read read_file view cat ls list_directory list_dir",
    "search": "grep glob search find search_file_content codebase_search",
    "agent": "task agent delegate spawn_agent",
    "todo": "todowrite update_plan write_todos",
    "web": "webfetch websearch web_search web_fetch google_web_search",
}
KINDS: dict[str, CallKind] = {name: kind for kind, names in NAMES.items() for name in names.split()}
TARGETS = "file_path path filename pattern query url description".split()


class AskedTool(NamedTuple):
    """A tool that a model asks to be run."""

    id: str
    name: str
    given: Any


class ToolAnswer(NamedTuple):
    """What a tool gave back."""

    id: str
    text: str


class SpanMessage(NamedTuple):
    """One message."""

    role: str
    text: str = ""
    requests: tuple[AskedTool, ...] = ()
    responses: tuple[ToolAnswer, ...] = ()


def list_input(told: dict[str, Any]) -> list[SpanMessage]:
    """What a model was sent."""
    given = to_list(parse_json(told.get("gen_ai.input.messages"))) or list_numbered(told, "prompt")
    return [read_message(to_table(one)) for one in given]


def list_output(told: dict[str, Any]) -> list[SpanMessage]:
    """What a model answered."""
    given = to_list(parse_json(told.get("gen_ai.output.messages"))) or list_numbered(told, "completion")
    return [read_message(to_table(one)) for one in given]


def list_numbered(told: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Messages that are spelled out, an attribute for each of their fields."""
    found: dict[int, dict[str, Any]] = {}
    for key, value in told.items():
        named = NUMBERED.fullmatch(key)
        if named and named[1] == kind:
            found.setdefault(int(named[2]), {})[named[3]] = value
    return [found[n] for n in sorted(found)]


def read_message(given: dict[str, Any]) -> SpanMessage:
    """A message of parts, or of plain content."""
    content = given.get("content")
    parts = [to_table(one) for one in to_list(given.get("parts")) or to_list(content)]
    words = [to_text(one.get("content")) or to_text(one.get("text")) for one in parts if one.get("type") == "text"]
    requests = tuple(
        AskedTool(to_text(one.get("id")), to_text(one.get("name")), one.get("arguments"))
        for one in parts
        if one.get("type") == "tool_call" and one.get("id")
    )
    responses = tuple(
        ToolAnswer(to_text(one.get("id")), to_plain_text(one.get("response", one.get("result"))))
        for one in parts
        if one.get("type") == "tool_call_response" and one.get("id")
    )
    text = "\n".join(one for one in words if one) or to_text(content)
    return SpanMessage(to_text(given.get("role")), text, requests, responses)


def build_call(id: str, name: str, given: Any, at: str, by: str) -> Call:
    """The call of a tool with these arguments."""
    told = to_table(parse_json(given)) if isinstance(given, str) else to_table(given)
    kind = KINDS.get(name.lower()) or ("mcp" if name.startswith("mcp") else "other")
    command = to_text(told.get("command")) or to_text(told.get("cmd"))
    return Call(
        id=id,
        at=at,
        name=name,
        by=by,
        kind=kind,
        target=next((found for key in TARGETS if (found := to_text(told.get(key)))), ""),
        command=command if kind == "shell" else "",
        edits=list_edits(told) if kind == "edit" else (),
    )


def list_edits(told: dict[str, Any]) -> tuple[Edit, ...]:
    """The edit that a call asks for."""
    path = next((found for key in TARGETS[:3] if (found := to_text(told.get(key)))), "")
    if not path:
        return ()
    whole = to_text(told.get("content"))
    if whole:
        lines = whole.splitlines()
        return (Edit(path=path, added=len(lines), new=hash_lines(lines)),)
    old = to_text(told.get("old_string")) or to_text(told.get("old_str"))
    added, removed = find_changed_lines(old, to_text(told.get("new_string")) or to_text(told.get("new_str")))
    return (Edit(path=path, added=len(added), removed=len(removed), new=hash_lines(added), old=hash_lines(removed)),)


def to_plain_text(value: Any) -> str:
    """A value as text."""
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()


def parse_json(value: Any) -> Any:
    """What a text of JSON says, or the value itself; `None` for text that is none."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
