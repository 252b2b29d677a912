"""Cline and Roo Code: `tasks/<task>/ui_messages.json`, and `sessions/<id>/<id>.messages.json` of Cline's new client.

The first, of both, is what the person saw: said, asked, and how it went on is told by what comes next. The second is
what the model was sent. Roo Code's tasks are listed as Cline's, for their files are alike. Takes records, gives the
events of `assay.types`.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.types import About, Call, CallStatus, Edit, Emit, Mark, Prompt, Reply, Result, Spend, Usage, to_key
from assay.types.edits import EditHow, build_block_edit, build_diff_edit, build_whole_edit
from assay.types.packed import PackedFile
from assay.types.tools import describe_call, find_kind, pick_text
from assay.types.value import to_count, to_list, to_table, to_text, to_time

AGENT, VERSION = "cline", 1
NAMES = ("ui_messages.json", "*.messages.json")

SEEN = re.compile(rb'\s*\[\s*\{\s*(?:"ts"\s*:\s*\d+|"type"\s*:\s*"(?:say|ask)")\s*,\s*"(?:type|say|ask|ts)"\s*:')
SENT = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"updated_at"\s*:\s*"[^"]*"\s*,\s*"agent"\s*:')
PLACE = re.compile(r"Current (?:Working|Workspace) Directory \(([^)\n]{1,1000})\)")
WRAPPED = re.compile(r"\A\s*<(user_input|task|user_message)\b[^>]*>(.*)</\1>\s*\Z", re.DOTALL)
TASK = re.compile(r"\d{10,}|[0-9a-f-]{36}")
EXTENSIONS = ("saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline")
EDITORS = ("Code", "Code - Insiders", "Cursor", "VSCodium", "Windsurf")
TOOLS = {
    "editedExistingFile": "edit",
    "newFileCreated": "write",
    "appliedDiff": "edit",
    "insertContent": "edit",
    "searchAndReplace": "edit",
    "fileDeleted": "delete_file",
    "readFile": "read",
    "listFilesTopLevel": "ls",
    "listFilesRecursive": "ls",
    "listCodeDefinitionNames": "list_code_definition_names",
    "searchFiles": "grep",
    "codebaseSearch": "codebase_search",
    "webFetch": "web_fetch",
    "webSearch": "web_search",
    "newTask": "new_task",
    "updateTodoList": "update_todo_list",
}
QUIET = frozenset(
    """api_req_finished reasoning checkpoint_created checkpoint_saved task_progress info shell_integration_warning
    mcp_server_request_started mcp_notification load_mcp_documentation deleted_api_reqs api_req_deleted resume_task
    resume_completed_task use_mcp_server mcp_server_response browser_action browser_action_result user_feedback_diff
    browser_action_launch api_req_retried api_req_retry_delayed command_permission_denied clineignore_error
    subtask_result hook_status hook_output_stream generate_explanation conditional_rules_applied new_task condense
    mistake_limit_reached auto_approval_max_req_reached plan_mode_respond interactive_app rooignore_error
    codebase_search_result image error diff_error too_many_tools_warning""".split()
)


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Where editors keep what the extensions store, and where Cline's own client does."""
    top = home / "Library" / "Application Support" if sys.platform == "darwin" else home / ".config"
    stored = [top / one / "User" / "globalStorage" / name / "tasks" for one in EDITORS for name in EXTENSIONS]
    inside = [one for one in stored if one.is_dir()] or stored[: len(EXTENSIONS)]
    own = env.get("CLINE_DIR", "")
    client = (Path(own) if own else home / ".cline") / "data"
    return [*inside, client / "tasks", client / "sessions"]


def claims(head: bytes) -> bool:
    """Whether a file is a list of what was said and asked, or of what a model was sent."""
    plain = head.removeprefix(b"\xef\xbb\xbf")
    return bool(SEEN.match(plain)) or (bool(SENT.match(plain)) and b'"messages"' in plain)


def unpack(file: PackedFile, conversation: str) -> Iterator[Any]:
    """What is known of a task, then its messages."""
    whole = file.value
    if isinstance(whole, list):
        told = file.read_beside("api_conversation_history.json")
        name = file.folder if TASK.fullmatch(file.folder) else ""
        ids = (to_table(one).get("ts") for one in whole)
        place = PLACE.search(find_words(to_list(told)[:2]))
        yield {"type": "task", "id": name or str(next(ids, "")), "cwd": place[1] if place else ""}
        yield from (one for one in whole if isinstance(one, dict))
        return
    sent = to_table(whole)
    about = to_table(file.read_beside(f"{file.name.removesuffix('.messages.json')}.json"))
    git = to_table(to_table(about.get("metadata")).get("git"))
    yield {
        "type": "task",
        "id": to_text(sent.get("sessionId")),
        "cwd": to_text(about.get("cwd")),
        "branch": to_text(git.get("branch")),
        "version": to_text(to_table(sent.get("origin")).get("version")),
    }
    yield from ({**one, "type": "sent"} for one in to_list(sent.get("messages")) if isinstance(one, dict))


def find_words(messages: list[Any]) -> str:
    """All texts of some messages."""
    blocks = [block for one in messages for block in to_list(to_table(one).get("content"))]
    return "\n".join(to_text(to_table(block).get("text")) for block in blocks)


class Record(Struct):
    """A task, what was said or asked, or a message as it was sent."""

    type: str = ""
    ts: Any = None
    id: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    say: str = ""
    ask: str = ""
    text: str = ""
    images: Any = None
    partial: Any = None
    role: str = ""
    content: Any = None
    modelInfo: Any = None  # noqa: N815
    metrics: Any = None


class Reader(Struct):
    """Remembers the last call: what comes next tells how it ended."""

    unknown: dict[str, int] = {}
    stream: str = ""
    is_asked: bool = False
    """The person has said what they want: in Roo Code nothing else marks the task."""
    pending: str = ""
    kind: str = ""
    is_question: bool = False
    """The person was asked whether the call may be made."""
    output: str = ""
    key: int = 0

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        at = to_time(record.ts)
        if record.type == "task":
            self.stream = record.id
            emit(About(stream=record.id, cwd=record.cwd, branch=record.branch, version=record.version))
        elif record.type == "sent":
            self.read_sent(record, at, emit)
        elif record.type in ("say", "ask") and record.partial is not True:
            self.read_seen(record, at, emit)
        elif record.type not in ("say", "ask"):
            self.count_unknown(record.type or "(no type)")

    # --- what the person saw ---

    def read_seen(self, record: Record, at: str, emit: Emit) -> None:
        """Something said or asked."""
        what = record.say or record.ask
        if what == "command_output":
            self.output += record.text
            return
        self.end_call(what, at, emit)
        if what in ("tool", "command"):
            self.open_call(record, what, at, emit)
        elif what in ("task", "user_feedback") or (what == "text" and not self.is_asked):
            self.read_prompt(record, at, emit)
        elif what in ("text", "completion_result", "followup"):
            if record.text.strip():
                emit(Reply(at=at, text=find_question(record.text) if what == "followup" else record.text))
        elif what == "api_req_started":
            self.read_request(record, at, emit)
        elif what == "api_req_failed":
            emit(Mark(kind="api_error", at=at))
        elif what in ("condense_context", "summarize_task"):
            emit(Mark(kind="compact", at=at))
        elif what not in QUIET:
            self.count_unknown(f"{record.type}/{what}")

    def read_prompt(self, record: Record, at: str, emit: Emit) -> None:
        """What a person said."""
        self.is_asked = True
        images = len(to_list(record.images))
        if record.text.strip() or images:
            key = to_key(f"{self.stream}/{record.ts}/{record.text[:100]}")
            emit(Prompt(at=at, text=record.text or "[image]", key=key, images=images))

    def read_request(self, record: Record, at: str, emit: Emit) -> None:
        """Tokens of a response, which are written into the request when it is over."""
        told = parse_text(record.text)
        self.key = to_key(f"{self.stream}/{record.ts}")
        if "tokensIn" in told or "tokensOut" in told:
            usage = Usage(
                input=to_count(told.get("tokensIn")),
                output=to_count(told.get("tokensOut")),
                cache_read=to_count(told.get("cacheReads")),
                cache_write=to_count(told.get("cacheWrites")),
            )
            emit(Spend(at=at, key=self.key, model=to_text(to_table(record.modelInfo).get("modelId")), usage=usage))
        if told.get("cancelReason") == "user_cancelled":
            emit(Mark(kind="interrupt", at=at))
        elif told.get("cancelReason") == "streaming_failed":
            emit(Mark(kind="api_error", at=at))

    def open_call(self, record: Record, what: str, at: str, emit: Emit) -> None:
        """A call; how it ended is not known yet."""
        told = parse_text(record.text) if what == "tool" else {}
        shown = to_text(told.get("tool"))
        drafted = describe_call("bash" if what == "command" else TOOLS.get(shown, shown), told)
        if what == "command":
            drafted = replace(drafted, command=record.text.removesuffix("REQ_APP"))
        elif drafted.kind == "edit":
            drafted = replace(drafted, edits=list_edits(shown, told))
        self.pending, self.kind, self.output = f"{self.stream}/{record.ts}", drafted.kind, ""
        self.is_question = record.type == "ask"
        emit(replace(drafted, id=self.pending, at=at, of=self.key))

    def end_call(self, what: str, at: str, emit: Emit) -> None:
        """The end of the last call, by what came next: another word of the person's is a no to what they were asked."""
        if not self.pending:
            return
        status: CallStatus = "ok"
        if what == "user_feedback" and self.is_question and not self.output:
            status = "rejected"
        elif what in ("diff_error", "error"):
            status = "error"
        edits = None if status == "ok" else NO_EDITS
        emit(Result(id=self.pending, at=at, status=status, output=self.output, edits=edits))
        self.pending, self.output = "", ""

    # --- what the model was sent ---

    def read_sent(self, record: Record, at: str, emit: Emit) -> None:
        """A message of the person, of the model, or with results."""
        key = to_key(f"{self.stream}/{record.id or record.ts}")
        blocks = [to_table(one) for one in to_list(record.content)]
        words = "\n".join(text for one in blocks if one.get("type") == "text" and (text := to_text(one.get("text"))))
        words = record.content if isinstance(record.content, str) else words
        for one in blocks:
            if one.get("type") == "tool_result":
                emit(build_result(one, at))
        if record.role == "assistant":
            self.read_answer(record, words, key, emit)
        elif words.strip() and not any(one.get("type") == "tool_result" for one in blocks):
            wrapped = WRAPPED.match(words)
            emit(Prompt(at=at, text=wrapped[2] if wrapped else words, key=key))

    def read_answer(self, record: Record, words: str, key: int, emit: Emit) -> None:
        """Words, tokens and calls of a response, whose input holds what came from the cache."""
        at, told = to_time(record.ts), to_table(record.metrics)
        if told:
            read, written = to_count(told.get("cacheReadTokens")), to_count(told.get("cacheWriteTokens"))
            usage = Usage(
                input=max(to_count(told.get("inputTokens")) - read - written, 0),
                output=to_count(told.get("outputTokens")),
                cache_read=read,
                cache_write=written,
            )
            emit(Spend(at=at, key=key, model=to_text(to_table(record.modelInfo).get("id")), usage=usage))
        if words.strip():
            emit(Reply(at=at, text=words))
        for one in map(to_table, to_list(record.content)):
            if one.get("type") == "tool_use":
                drafted: Call = describe_call(to_text(one.get("name")), one.get("input"))
                emit(replace(drafted, id=to_text(one.get("id")), at=at, of=key))

    def count_unknown(self, what: str) -> None:
        """Count a record type that is not understood, for `assay doctor`."""
        what = what[:60]
        if what in self.unknown or len(self.unknown) < 50:
            self.unknown[what] = self.unknown.get(what, 0) + 1


NO_EDITS: tuple[Edit, ...] = ()


def build_result(block: dict[str, Any], at: str) -> Result:
    """How a call ended: its result is a text, JSON in a text, or a list of what each part came to."""
    content = block.get("content")
    found = content if isinstance(content, list) else [parse_text(to_text(content)) or {"result": content}]
    parts = [to_table(one) for one in found]
    output = "\n".join(pick_text(one, "result text error") for one in parts)
    has_failed = block.get("is_error") is True or any(one.get("success") is False for one in parts)
    codes = [int(code) for code in re.findall(r"^\[?Command exited with code (\d{1,9})\]?", output, re.MULTILINE)]
    is_shell = find_kind(to_text(block.get("name"))) == "shell"
    return Result(
        id=to_text(block.get("tool_use_id")),
        at=at,
        status="error" if has_failed else "ok",
        output=output,
        exit_code=codes[-1] if is_shell and codes else 0 if is_shell and not has_failed else None,
        edits=NO_EDITS if has_failed else None,
    )


def parse_text(text: str) -> dict[str, Any]:
    """The JSON that a text holds; empty where it holds none."""
    try:
        return to_table(msgspec.json.decode(text)) if text[:1] == "{" else {}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}


def find_question(text: str) -> str:
    """What the agent asked the person."""
    told = parse_text(text)
    return to_text(told.get("question")) or to_text(to_table(told.get("question")).get("text")) or text


def list_edits(shown: str, told: dict[str, Any]) -> tuple[Edit, ...]:
    """The edit that a tool was shown to make: blocks, a diff, or a whole file."""
    path = to_text(told.get("path"))
    text = to_text(told.get("diff")) or to_text(told.get("content"))
    if " SEARCH" in text:
        return tuple(build_block_edit(path, text))
    if "@@" in text:
        return tuple(build_diff_edit(path, text))
    how: EditHow = "create" if shown == "newFileCreated" else "update"
    return tuple(build_whole_edit(path, text, how)) if how == "create" or text else ()
