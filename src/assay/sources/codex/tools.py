"""What a tool call is about: its kind, its shell text, and the lines its patch adds and removes."""

import re
import shlex
from typing import Any, Literal

from msgspec import Struct

from assay.sources.codex.records import parse_json, to_id
from assay.sources.codex.scripts import find_calls
from assay.types import CallKind, Edit
from assay.types.edits import PATCH, EditHow, build_diff_edit, build_signed_edit, parse_patch
from assay.types.tools import clip_label
from assay.types.value import to_list, to_table, to_text

_SHELLS = frozenset({"shell", "shell_command", "exec_command", "local_shell", "container.exec", "unified_exec"})
_KINDS: dict[str, CallKind] = {
    "apply_patch": "edit",
    "update_plan": "todo",
    "spawn_agent": "agent",
    "view_image": "read",
    "read_file": "read",
    "list_dir": "read",
    "grep_files": "search",
    "request_user_input": "ask",
    "web_search": "web",
    "web__run": "web",
}
_SILENT = frozenset({"update_plan", "view_image", "spawn_agent", "request_user_input", "write_stdin", "read_file"})
"""Tools inside a script that no later record reports; the others (web, mcp) have an end event of their own."""

_POSIX = re.compile(r"(?:^|/)(?:ba|z|da|k|a)?sh$")
_POWERSHELL = re.compile(r"(?:^|[\\/])(?:powershell|pwsh)(?:\.exe)?$", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_MAKES_PR = re.compile(r"\bgh\s+pr\s+create\b|\bglab\s+mr\s+create\b")
_SAYS_EXIT = re.compile(r"exit_?code|JSON\.stringify", re.IGNORECASE)


Dialect = Literal["bash", "powershell"]


class CallDraft(Struct):
    """A call without its place in the conversation."""

    name: str
    kind: CallKind = "other"
    target: str = ""
    command: str = ""
    dialect: Dialect = "bash"
    edits: tuple[Edit, ...] = ()
    session: str = ""

    @property
    def makes_pr(self) -> bool:
        """Whether the command opens a pull request."""
        return bool(_MAKES_PR.search(self.command))


def draft_call(name: str, arguments: Any, folder: str = "") -> CallDraft:
    """The draft of one call in a folder; `arguments` is what the tool was given, decoded."""
    given = to_table(arguments)
    if name in _SHELLS:
        command, dialect = parse_shell_command(
            given.get("command") or given.get("cmd"), find_dialect(to_text(given.get("shell")), folder)
        )
        return CallDraft(name, "shell", command=command, dialect=dialect, edits=find_shell_patch(command))
    if name == "apply_patch":
        patch = arguments if isinstance(arguments, str) else to_text(given.get("input")) or to_text(given.get("patch"))
        edits = parse_patch(patch)
        return CallDraft(name, "edit", target=edits[0].path if edits else "", edits=edits)
    session = to_id(given.get("session_id" if name == "write_stdin" else "cell_id"))
    kind: CallKind = "mcp" if name.startswith("mcp__") else _KINDS.get(name, "other")
    return CallDraft(name, kind, target=session or _find_target(given), session=session)


def parse_arguments(given: Any) -> Any:
    """Arguments of a call: JSON in a string; a patch given raw stays text."""
    found = parse_json(given) if isinstance(given, str) else given
    return given if found is None else found


_TOLD_BY_END = ("mcp__", "web_search", "web__", "web.")


def draft_script_calls(script: str, folder: str = "") -> list[CallDraft]:
    """Drafts of the calls in an `exec` script; one of kind "other" where none can be found."""
    found: list[CallDraft] = []
    others: list[str] = []
    for dug in find_calls(script):
        if dug.tool in _SHELLS or dug.tool == "apply_patch" or dug.tool in _SILENT:
            is_bare = _is_bare_command(dug.tool, dug.argument)
            one = draft_call(dug.tool, {"command": dug.argument} if is_bare else dug.argument, folder)
            if one.command or one.edits or dug.tool in _SILENT:
                found.append(one)
                continue
        others.append(dug.tool)
    if not found and others and all(tool.startswith(_TOLD_BY_END) for tool in others):
        return []  # their end events tell of them
    return found or [CallDraft("exec", target=others[0] if others else "")]


def has_exit_codes(script: str) -> bool:
    """Whether a script prints exit codes; without it `exit: 1` in an output is somebody else's text."""
    return bool(_SAYS_EXIT.search(script))


def find_dialect(shell: str, folder: str) -> Dialect:
    """What a text is written in that names no shell: the one asked for, else PowerShell on Windows."""
    if shell:
        return "powershell" if _POWERSHELL.search(shell) else "bash"
    return "powershell" if _DRIVE.match(folder) else "bash"


def parse_shell_command(command: Any, otherwise: Dialect = "bash") -> tuple[str, Dialect]:
    """The text a shell was given, out of `["bash", "-lc", text]` and the like, and its dialect."""
    if isinstance(command, str):
        return command, otherwise
    words = [part for part in to_list(command) if isinstance(part, str)]
    if not words:
        return "", "bash"
    is_powershell = bool(_POWERSHELL.search(words[0]))
    if is_powershell:
        flags = [at for at, part in enumerate(words) if part.lower() in ("-command", "-c")]
        return (" ".join(words[flags[0] + 1 :]) if flags else " ".join(words[1:])), "powershell"
    if len(words) >= 3 and _POSIX.search(words[0]) and words[1].startswith("-") and words[1].endswith("c"):
        return words[2], "bash"
    return shlex.join(words), "bash"


def _is_bare_command(tool: str, argument: Any) -> bool:
    return tool in _SHELLS and isinstance(argument, (str, list))


def _find_target(given: dict[str, Any]) -> str:
    for name in ("path", "file_path", "query", "url", "pattern", "task_name", "message", "prompt"):
        if found := to_text(given.get(name)):
            return clip_label(found)
    questions = to_list(given.get("questions")) or to_list(given.get("search_query")) or to_list(given.get("open"))
    first = to_table(questions[0]) if questions else {}
    return clip_label(to_text(first.get("question")) or to_text(first.get("q")) or to_text(first.get("ref_id")))


_IN_SHELL = re.compile(r"\bapply_?patch\b")
_CHANGE: dict[str, EditHow] = {"update": "update", "add": "create", "delete": "delete"}


def find_shell_patch(command: str) -> tuple[Edit, ...]:
    """Edits of an `apply_patch <<'EOF'` inside a shell command."""
    begin = command.find(PATCH)
    return parse_patch(command) if begin > 0 and _IN_SHELL.search(command, 0, begin) else ()


def parse_changes(changes: Any) -> tuple[Edit, ...]:
    """Edits as the client reports them: a unified diff, or the content of a new or deleted file."""
    edits: list[Edit] = []
    for path, value in to_table(changes).items():
        change = to_table(value)
        how = _CHANGE.get(to_text(change.get("type")), "update")
        path = to_text(change.get("move_path")) or path
        if diff := to_text(change.get("unified_diff")):
            edits += build_diff_edit(path, diff, how)
        else:
            sign = "-" if how == "delete" else "+"
            edits += build_signed_edit(path, how, [sign + line for line in to_text(change.get("content")).splitlines()])
    return tuple(edits)


def is_same_file(one: str, other: str) -> bool:
    """Whether two names, one perhaps relative, mean the same file."""
    a, b = one.replace("\\", "/"), other.replace("\\", "/")
    return a == b or a.endswith("/" + b.removeprefix("./")) or b.endswith("/" + a.removeprefix("./"))
