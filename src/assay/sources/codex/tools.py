"""What a tool call is about: its kind, its shell text, its edits."""

import re
import shlex
from typing import Any, Literal

from msgspec import Struct

from assay.sources.codex.patches import in_patch, in_shell
from assay.sources.codex.records import decoded, number_text, rows, table, word
from assay.sources.codex.scripts import dig
from assay.types import CallKind, Edit

CLIP = 200
"""Targets are labels; the whole text of an order to a sub-agent is not one."""
CUT = re.compile(r"[\w+/=.~%:@-]+\Z", re.ASCII)

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
_MAKES_PR = re.compile(r"\bgh\s+pr\s+create\b|\bglab\s+mr\s+create\b")
_SAYS_EXIT = re.compile(r"exit_?code|JSON\.stringify", re.IGNORECASE)


class Draft(Struct):
    """A call without its place in the conversation."""

    name: str
    kind: CallKind = "other"
    target: str = ""
    command: str = ""
    dialect: Literal["bash", "powershell"] = "bash"
    edits: tuple[Edit, ...] = ()
    session: str = ""

    @property
    def makes_pr(self) -> bool:
        """Whether it opens a pull request."""
        return bool(_MAKES_PR.search(self.command))


def draft(name: str, arguments: Any) -> Draft:
    """Read one call; `arguments` is what the tool was given, decoded."""
    given = table(arguments)
    if name in _SHELLS:
        command, dialect = shell_text(given.get("command") or given.get("cmd"))
        return Draft(name, "shell", command=command, dialect=dialect, edits=in_shell(command))
    if name == "apply_patch":
        patch = arguments if isinstance(arguments, str) else word(given.get("input")) or word(given.get("patch"))
        edits = in_patch(patch)
        return Draft(name, "edit", target=edits[0].path if edits else "", edits=edits)
    session = number_text(given.get("session_id" if name == "write_stdin" else "cell_id"))
    kind: CallKind = "mcp" if name.startswith("mcp__") else _KINDS.get(name, "other")
    return Draft(name, kind, target=session or _target(given), session=session)


def arguments_of(given: Any) -> Any:
    """Arguments are JSON in a string; a patch given raw stays text."""
    found = decoded(given) if isinstance(given, str) else given
    return given if found is None else found


_TOLD_BY_END = ("mcp__", "web_search", "web__", "web.")


def drafts_of_script(script: str) -> list[Draft]:
    """Calls dug out of an `exec`; one of kind "other" when there is nothing to dig out."""
    found: list[Draft] = []
    others: list[str] = []
    for dug in dig(script):
        if dug.tool in _SHELLS or dug.tool == "apply_patch" or dug.tool in _SILENT:
            one = draft(
                dug.tool, {"command": dug.argument} if _is_bare_command(dug.tool, dug.argument) else dug.argument
            )
            if one.command or one.edits or dug.tool in _SILENT:
                found.append(one)
                continue
        others.append(dug.tool)
    if not found and others and all(tool.startswith(_TOLD_BY_END) for tool in others):
        return []  # their end events tell of them
    return found or [Draft("exec", target=others[0] if others else "")]


def says_exit(script: str) -> bool:
    """Whether a script prints exit codes; without it `exit: 1` in an output is somebody else's text."""
    return bool(_SAYS_EXIT.search(script))


def shell_text(command: Any) -> tuple[str, Literal["bash", "powershell"]]:
    """The text a shell was given, out of `["bash", "-lc", text]` and the like."""
    if isinstance(command, str):
        return command, "bash"
    words = [part for part in rows(command) if isinstance(part, str)]
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


def _target(given: dict[str, Any]) -> str:
    for name in ("path", "file_path", "query", "url", "pattern", "task_name", "message", "prompt"):
        if found := word(given.get(name)):
            return label(found)
    questions = rows(given.get("questions")) or rows(given.get("search_query")) or rows(given.get("open"))
    first = table(questions[0]) if questions else {}
    return label(word(first.get("question")) or word(first.get("q")) or word(first.get("ref_id")))


def label(text: str) -> str:
    """How a text begins, without the word in which it is cut: half a secret is no longer known for one."""
    return text if len(text) <= CLIP else CUT.sub("", text[:CLIP])
