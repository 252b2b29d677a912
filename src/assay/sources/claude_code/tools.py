"""Tool calls and their results as Claude Code writes them."""

import re
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from assay.sources.claude_code.records import InnerBlock, MessageBlock, ToolOutcome
from assay.types import Call, CallKind, CallStatus, Edit, Result
from assay.types.lines import MOST_LINES, find_changed_lines, hash_lines, hash_text_lines, shorten_change, shorten_file

KINDS: dict[str, CallKind] = {
    "Bash": "shell",
    "PowerShell": "shell",
    "Edit": "edit",
    "MultiEdit": "edit",
    "Write": "edit",
    "NotebookEdit": "edit",
    "Read": "read",
    "NotebookRead": "read",
    "LS": "read",
    "LSP": "search",
    "Grep": "search",
    "Glob": "search",
    "ToolSearch": "search",
    "Task": "agent",
    "Agent": "agent",
    "Workflow": "agent",
    "EnterPlanMode": "plan",
    "ExitPlanMode": "plan",
    "TodoWrite": "todo",
    "TaskCreate": "todo",
    "TaskUpdate": "todo",
    "TaskList": "todo",
    "TaskGet": "todo",
    "AskUserQuestion": "ask",
    "WebFetch": "web",
    "WebSearch": "web",
    "Skill": "skill",
    "SlashCommand": "skill",
}

REFUSED = re.compile(
    r"The user doesn't want to (?:proceed|take this action)|User rejected"
    r"|Permission for this tool use was denied\. The tool use was rejected"
)
DENIED = re.compile(r"Claude requested permissions|Permission (?:to use|for this)\b|This command requires approval")
EXIT = re.compile(r"(?:Error: )?Exit code (\d{1,10})\b")


class StringEdit(Struct):
    old_string: str = ""
    new_string: str = ""


class ToolInput(Struct):
    """All fields of all tools' inputs that are read."""

    command: str = ""
    file_path: str = ""
    notebook_path: str = ""
    path: str = ""
    pattern: str = ""
    query: str = ""
    url: str = ""
    description: str = ""
    skill: str = ""
    plan: str = ""
    content: str = ""
    old_string: str = ""
    new_string: str = ""
    new_source: str = ""
    edits: list[StringEdit] = []
    offset: Any = None
    limit: Any = None


class CommitReport(Struct):
    sha: str = ""


class PrReport(Struct):
    url: str = ""
    action: str = ""


class GitReport(Struct):
    """`gitOperation`: what the client itself saw git do."""

    commit: CommitReport | None = None
    pr: PrReport | None = None


INPUT = msgspec.json.Decoder(ToolInput)
GIT = msgspec.json.Decoder(GitReport)
TEXT = msgspec.json.Decoder(str)


def find_kind(name: str) -> CallKind:
    """The kind of a tool, by its name."""
    return KINDS.get(name) or ("mcp" if name.startswith("mcp__") else "other")


def parse_input(raw: Raw) -> ToolInput:
    """A tool's input; one of an unexpected shape is empty."""
    try:
        return INPUT.decode(raw) if raw else ToolInput()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ToolInput()


def build_call(block: MessageBlock, at: str, of: int, by: str) -> Call:
    """The call in a `tool_use` block."""
    kind = find_kind(block.name)
    given = parse_input(block.input)
    target = given.file_path or given.notebook_path or given.pattern or given.query or given.url
    return Call(
        id=block.id,
        at=at,
        name=block.name,
        of=of,
        by=by,
        kind=kind,
        target=target or given.skill or given.plan or given.description or given.path,
        is_partial=kind == "read" and (given.offset is not None or given.limit is not None),
        command=given.command if kind == "shell" else "",
        dialect="powershell" if block.name == "PowerShell" else "bash",
        edits=list_asked_edits(given) if kind == "edit" else (),
    )


def list_asked_edits(given: ToolInput) -> tuple[Edit, ...]:
    """The edit that a call asks for; what the client reports with the result replaces it."""
    path = given.file_path or given.notebook_path
    if not path:
        return ()
    if whole := given.content or given.new_source:
        return (build_file_edit(path, whole),)
    added: list[str] = []
    removed: list[str] = []
    changed: list[str] = []
    for edit in given.edits or [StringEdit(old_string=given.old_string, new_string=given.new_string)]:
        more, less = find_changed_lines(edit.old_string, edit.new_string)
        added += more
        removed += less
        changed += sign_lines(less, "-") + sign_lines(more, "+")
    return (build_edit(path, added, removed, changed),)


def build_file_edit(path: str, content: str, how: Literal["create", "update"] = "update") -> Edit:
    """The edit that writes a whole file."""
    lines = count_lines(content)
    return Edit(path=path, added=lines, how=how, new=hash_text(content), text=shorten_file(content, lines))


def build_edit(path: str, added: list[str], removed: list[str], changed: list[str]) -> Edit:
    """The edit of these lines; `changed` are both, signed, in their order."""
    return Edit(
        path=path,
        added=len(added),
        removed=len(removed),
        new=hash_lines(added),
        old=hash_lines(removed),
        text=shorten_change(changed, len(added), len(removed)),
    )


def sign_lines(lines: list[str], sign: str) -> list[str]:
    """The first of these lines as a diff shows them."""
    return [sign + line for line in lines[:MOST_LINES]]


def count_lines(text: str) -> int:
    """Lines of a text, counted as an editor does."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def hash_text(text: str) -> bytes:
    """Hashes of the lines of a text."""
    return hash_text_lines(text.encode("utf-8", "surrogatepass"))


def join_text(content: str | list[InnerBlock] | None) -> str:
    """The text of a tool result's content."""
    if isinstance(content, str):
        return content
    return "\n".join(inner.text for inner in content or () if inner.text)


def build_result(block: MessageBlock, at: str, outcome: ToolOutcome | str | list[Raw] | None, denial: str) -> Result:
    """How the call that a `tool_result` block answers ended."""
    text = join_text(block.content)
    detail = outcome if isinstance(outcome, ToolOutcome) else ToolOutcome()
    status = judge_status(text, detail, bool(block.is_error), denial)
    code = EXIT.match(text) if block.is_error else None
    succeeded = status == "ok" and not detail.backgroundTaskId and not detail.returnCodeInterpretation
    return Result(
        id=block.tool_use_id,
        at=at,
        status=status,
        output=text[code.end() :].lstrip("\n") if code else text,
        exit_code=int(code[1]) if code else 0 if succeeded else None,
        edits=list_made_edits(detail) if status == "ok" else None,
        agent=detail.agentId or "",
        commit=parse_git_report(detail).commit_id,
    )


def judge_status(text: str, detail: ToolOutcome, is_error: bool, denial: str) -> CallStatus:
    """Rejected by the person, denied by a rule, interrupted, failed, or ok."""
    if is_error and (denial == "user-rejected" or REFUSED.match(text)):
        return "rejected"
    if is_error and (denial or DENIED.match(text)):
        return "denied"
    if detail.interrupted or (is_error and text.startswith("[Request interrupted")):
        return "interrupted"
    return "error" if is_error else "ok"


def list_made_edits(detail: ToolOutcome) -> tuple[Edit, ...] | None:
    """The edit that the client's own patch reports; `None` where there is no patch."""
    if not detail.filePath or detail.structuredPatch is None:
        return None
    if detail.type == "create":
        try:
            content = TEXT.decode(detail.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        return (build_file_edit(detail.filePath, content, "create"),)
    lines = [line for hunk in detail.structuredPatch for line in hunk.lines]
    added = [line[1:] for line in lines if line[:1] == "+"]
    removed = [line[1:] for line in lines if line[:1] == "-"]
    return (build_edit(detail.filePath, added, removed, lines),)


class GitSummary(Struct):
    """The commit and the pull request that the client saw git make."""

    commit_id: str = ""
    pr_url: str = ""


def parse_git_report(detail: ToolOutcome) -> GitSummary:
    """The commit and the pull request in `gitOperation`."""
    if not detail.gitOperation:
        return GitSummary()
    try:
        seen = GIT.decode(detail.gitOperation)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return GitSummary()
    opened = seen.pr and seen.pr.action in ("", "created")
    return GitSummary(
        commit_id=seen.commit.sha if seen.commit else "",
        pr_url=seen.pr.url if seen.pr and opened else "",
    )
