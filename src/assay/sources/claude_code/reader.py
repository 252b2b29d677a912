"""Claude Code records to events, in file order."""

import re

import msgspec
from msgspec import Struct

from assay.sources.claude_code import prompts, tools
from assay.sources.claude_code.records import ClaudeMessage, Echo, MessageBlock, Record, TokenUsage, ToolOutcome
from assay.types import About, Emit, Mark, MarkKind, Prompt, Reply, Spend, Usage, to_key

QUIET = frozenset(
    """file-history-snapshot file-history-delta summary last-prompt mode permission-mode bridge-session
    atis-latch agent-name api-request api-request-shape api-request-blob cost-state tools-used
    agent-color agent-setting task-summary worktree-state content-replacement attribution-snapshot
    marble-origami-commit speculation-accept relocated started result""".split()
)
"""Record types that are known and hold nothing for us."""

QUIET_SYSTEM = frozenset(
    """stop_hook_summary turn_duration informational local_command microcompact_boundary away_summary
    model_refusal_no_fallback bridge_status memory_saved scheduled_task_fire permission_retry
    agents_killed api_metrics snip_boundary hook_additional_context""".split()
)

PLACED = frozenset({"assistant", "user", "system", "attachment", "progress"})
"""Records that say where they were written."""

TEXT = msgspec.json.Decoder(str)
IMPOSSIBLE = 1 << 40
CLEAR = re.compile(r"\s*(?:<command-message>[^<]*</command-message>\s*)?<command-name>\s*/clear\s*</command-name>")


class QueuedPrompt(Struct):
    """A prompt that was typed while the agent worked, and not taken up yet."""

    at: str
    text: str


class Reader(Struct):
    """Remembers, between two records, only what the next one needs."""

    unknown: dict[str, int] = {}
    began_at: str = ""
    stream: str | None = None
    cwd: str | None = None
    branch: str | None = None
    version: str | None = None
    origin: str = ""
    is_begun: bool = False
    by: str = ""
    is_compacted: bool = False
    """A compaction boundary was read, its summary not yet."""
    message_id: str = ""
    message_key: int = 0
    usage: tuple[int, int, int] | None = None
    """Tokens last reported for that message: one message stands in several records."""
    queue: list[QueuedPrompt] = []
    handed_over: list[str] = []
    """Texts that left the queue and will arrive as records of their own."""
    steered: list[tuple[str, str]] = []
    """How and with which text queued prompts were delivered, in case another record repeats them."""

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        kind = record.type
        if not self.began_at and record.timestamp:
            self.began_at = record.timestamp
            emit(About(at=self.began_at))
        if (
            record.sessionId != self.stream
            or record.cwd != self.cwd
            or record.gitBranch != self.branch
            or record.version != self.version
            or not self.is_begun
        ) and kind in PLACED:
            self.read_place(record, emit)
        if kind == "assistant":
            self.read_assistant(record, emit)
        elif kind == "user":
            self.read_user(record, emit)
        elif kind == "progress":
            self.read_progress(record, emit)
        elif kind == "system":
            self.read_system(record, emit)
        elif kind == "queue-operation":
            self.read_queue_operation(record, emit)
        elif kind == "attachment":
            self.read_attachment(record, emit)
        else:
            self.read_other(record, emit)

    def read_place(self, record: Record, emit: Emit) -> None:
        """Emit where and as what the record was written."""
        if not self.is_begun and record.type in ("assistant", "user"):
            self.is_begun = True
            self.by = (record.agentId or "sidechain") if record.isSidechain else ""
        self.stream, self.cwd = record.sessionId, record.cwd
        self.branch, self.version = record.gitBranch, record.version
        self.origin = record.entrypoint or self.origin
        emit(
            About(
                stream=self.stream or "",
                by=self.by,
                cwd=self.cwd or "",
                branch=self.branch or "",
                version=self.version or "",
                origin=self.origin,
            )
        )

    def read_assistant(self, record: Record, emit: Emit) -> None:
        """A block of the model's answer, or an API error written as one."""
        message = record.message
        if message is None:
            return
        at = record.timestamp or ""
        if record.isApiErrorMessage or message.model == "<synthetic>":
            if record.isApiErrorMessage:
                emit(Mark(kind="api_error", at=at, detail=decode_text(record.error)))
            return
        by = (record.agentId or "sidechain") if record.isSidechain else ""
        self.read_response(message, at, record.uuid or "", by, emit)

    def read_response(self, message: ClaudeMessage, at: str, uuid: str, by: str, emit: Emit) -> None:
        """What one record adds to a model response: tokens, words, calls."""
        name = message.id or uuid
        if name != self.message_id:
            self.message_id, self.message_key, self.usage = name, to_key(name), None
        key = self.message_key
        usage = message.usage
        if usage is not None:
            known = (usage.output_tokens, usage.input_tokens, usage.cache_read_input_tokens)
            if known != self.usage:
                spent = to_usage(usage)
                self.usage = (spent.output, spent.input, spent.cache_read)
                emit(Spend(at=at, key=key, model=message.model or "", usage=spent, by=by))
        if isinstance(message.content, str):
            if message.content and not by:
                emit(Reply(at=at, text=message.content))
            return
        for block in message.content or ():
            if block.type == "tool_use":
                emit(tools.build_call(block, at, key, by))
            elif block.type == "text" and block.text and not by:
                emit(Reply(at=at, text=block.text))

    def read_user(self, record: Record, emit: Emit) -> None:
        """Tool results, a prompt, or neither."""
        message = record.message
        if message is None:
            return
        blocks = message.content if isinstance(message.content, list) else []
        results = [block for block in blocks if block.type == "tool_result"]
        if results:
            self.read_results(results, record, emit)
            return
        text = message.content if isinstance(message.content, str) else prompts.join_text_blocks(blocks)
        if record.isSidechain:
            if text.strip() == "Warmup":
                emit(About(is_warmup=True))
            return
        at = record.timestamp or ""
        self.forget_arrival(text)
        if mark := find_mark(text):
            emit(Mark(kind=mark, at=at))
            return
        if record.isCompactSummary:
            if not self.is_compacted:  # 1.0.x writes no boundary record, only the summary
                emit(Mark(kind="compact", at=at, detail="auto"))
            self.is_compacted = False
        if prompts.is_by_machine(record):
            return
        images = sum(block.type == "image" for block in blocks)
        said = prompts.from_text(text) or (("typed", "[image]") if images and not text.strip() else None)
        if said:
            self.emit_prompt(said, record, images, emit)

    def emit_prompt(self, said: prompts.PromptText, record: Record, images: int, emit: Emit) -> None:
        """Emit a person's prompt, unless it was already taken up from the queue."""
        kind, text = said
        known = next((one for one in self.steered if one[1] == text), None)
        self.steered = []  # what is repeated is repeated at once
        if known:
            return
        emit(
            Prompt(
                at=record.timestamp or "",
                text=text,
                key=to_key(record.uuid or f"{record.timestamp}{text}"),
                kind=kind,
                images=images,
                previous=prompts.find_previous_stream(text) if kind == "plan" else "",
            )
        )

    def read_results(self, blocks: list[MessageBlock], record: Record, emit: Emit) -> None:
        """How calls ended, and what the person said while rejecting one."""
        at = record.timestamp or ""
        for block in blocks:
            ended = tools.build_result(block, at, record.toolUseResult, record.toolDenialKind or "")
            emit(ended)
            if isinstance(record.toolUseResult, ToolOutcome):
                opened = tools.parse_git_report(record.toolUseResult).pr_url
                if opened:
                    emit(Mark(kind="pr", at=at, detail=opened))
            said = prompts.from_rejection(ended.output) if ended.status == "rejected" else None
            if said and not record.isSidechain:
                self.emit_prompt(said, record, 0, emit)

    def read_progress(self, record: Record, emit: Emit) -> None:
        """A sub-agent's record that its parent echoes (2.1.11 to 2.1.83); other progress is noise."""
        state = record.data
        if state is None or state.type != "agent_progress" or state.message is None:
            return
        self.read_echo(state.message, state.agentId or "sidechain", emit)

    def read_echo(self, echo: Echo, by: str, emit: Emit) -> None:
        """Calls, results and tokens of an echoed record."""
        message = echo.message
        if message is None:
            return
        if echo.type == "assistant" and message.model != "<synthetic>":
            self.read_response(message, echo.timestamp, echo.uuid, by, emit)
        elif echo.type == "user" and isinstance(message.content, list):
            for block in message.content:
                if block.type == "tool_result":
                    emit(tools.build_result(block, echo.timestamp, echo.toolUseResult, ""))

    def read_system(self, record: Record, emit: Emit) -> None:
        """Compactions, retries and slash commands of the client."""
        at = record.timestamp or ""
        if record.subtype == "compact_boundary":
            trigger = record.compactMetadata.trigger if record.compactMetadata else ""
            emit(Mark(kind="compact", at=at, detail=trigger or "auto"))
            self.is_compacted = True
        elif record.subtype == "api_error":
            emit(Mark(kind="retry", at=at))
        elif record.subtype == "local_command":
            if CLEAR.match(decode_text(record.content)):
                emit(Mark(kind="clear", at=at))
        elif record.subtype not in QUIET_SYSTEM:
            self.count_unknown(f"system/{record.subtype}")

    def read_queue_operation(self, record: Record, emit: Emit) -> None:
        """Prompts that are typed while the agent works.

        `dequeue` hands one over as an ordinary user record, `popAll` puts them back into the
        prompt box; `remove` means it was delivered in mid-turn, and then it is written nowhere else.
        """
        text = decode_text(record.content)
        if record.operation == "enqueue":
            self.queue.append(QueuedPrompt(at=record.timestamp or "", text=text))
        elif record.operation == "popAll":
            self.queue.clear()
        elif record.operation in ("dequeue", "remove") and self.queue:
            found = next((n for n, one in enumerate(self.queue) if text and one.text == text), 0)
            waiting = self.queue.pop(found)
            if record.operation == "remove":
                self.emit_queued_prompt("queue", waiting, emit)
            else:
                self.handed_over = [*self.handed_over[-9:], waiting.text]
        elif record.operation not in ("dequeue", "remove"):
            self.count_unknown(f"queue-operation/{record.operation}")

    def forget_arrival(self, text: str) -> None:
        """Take off the queue what has arrived as a record of its own."""
        if text in self.handed_over:
            self.handed_over.remove(text)
        elif self.queue:
            found = next((n for n, one in enumerate(self.queue) if one.text == text), None)
            if found is not None:
                del self.queue[found]

    def emit_queued_prompt(self, how: str, waiting: QueuedPrompt, emit: Emit) -> None:
        """Emit a queued prompt that reached the agent in mid-turn; queue and attachment may both tell of it."""
        said = prompts.from_text(waiting.text)
        is_setting = waiting.text.startswith("/") and waiting.text[1:].split(" ")[0] in prompts.CLIENT_COMMANDS
        if said is None or is_setting:
            return
        known = next((one for one in self.steered if one[0] != how and one[1] == said[1]), None)
        if known:
            self.steered.remove(known)
            return
        self.steered = [*self.steered[-9:], (how, said[1])]
        emit(Prompt(at=waiting.at, text=said[1], key=to_key(f"{waiting.at}{said[1]}"), kind="queued"))

    def read_attachment(self, record: Record, emit: Emit) -> None:
        """A queued prompt delivered as an attachment; other attachments are context."""
        attachment = record.attachment
        if attachment is None or attachment.type != "queued_command" or record.isSidechain:
            return
        if attachment.commandMode == "prompt" and attachment.prompt:
            self.emit_queued_prompt(
                "attachment", QueuedPrompt(record.timestamp or "", tools.join_text(attachment.prompt)), emit
            )

    def read_other(self, record: Record, emit: Emit) -> None:
        """Titles, pull requests, and record types that are not known."""
        if record.type in ("ai-title", "custom-title"):
            emit(About(title=record.customTitle or record.aiTitle or ""))
        elif record.type == "pr-link":
            if record.prUrl:
                emit(Mark(kind="pr", at=record.timestamp or "", detail=record.prUrl))
        elif record.type not in QUIET:
            self.count_unknown(record.type or "(no type)")

    def count_unknown(self, what: str) -> None:
        """Count a record type that is not understood, for `assay doctor`."""
        what = what[:60]
        if what in self.unknown or len(self.unknown) < 50:
            self.unknown[what] = self.unknown.get(what, 0) + 1


def find_mark(text: str) -> MarkKind | None:
    """What a record's text says happened to the conversation, if anything."""
    if CLEAR.match(text):
        return "clear"
    return "interrupt" if text.lstrip().startswith(prompts.INTERRUPTED) else None


def to_usage(usage: TokenUsage) -> Usage:
    """Token counts of a response as `Usage`."""
    hour = usage.cache_creation.ephemeral_1h_input_tokens if usage.cache_creation else 0
    return Usage(
        input=to_count(usage.input_tokens),
        output=to_count(usage.output_tokens),
        cache_read=to_count(usage.cache_read_input_tokens),
        cache_write=to_count(usage.cache_creation_input_tokens),
        cache_write_1h=to_count(hour),
    )


def to_count(tokens: int | None) -> int:
    """A number of tokens; 0 for one that no response can have."""
    return tokens if tokens and 0 < tokens < IMPOSSIBLE else 0


def decode_text(raw: msgspec.Raw) -> str:
    """The text of a raw field; empty where the field is no string."""
    try:
        return TEXT.decode(raw) if raw else ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
