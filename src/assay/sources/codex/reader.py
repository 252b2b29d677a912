"""Codex records to events, in file order."""

import re
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from assay.sources.codex.ledger import CallLedger, EventContext, parse_status
from assay.sources.codex.records import (
    LARGEST_NUMBER,
    Payload,
    Record,
    TokenReport,
    TokenTotals,
    hash_parts,
    hash_spend,
    hash_turn,
    list_texts,
    to_integer,
)
from assay.sources.codex.tools import CallDraft, draft_call, draft_script_calls, parse_arguments
from assay.types import About, Event, Mark, Prompt, PromptKind, Reply, Spend, Usage
from assay.types.value import to_list, to_table, to_text

Emit = Callable[[Event], None]


_REQUEST = "## My request for Codex:"
_WRAPPERS = ("# Context from my IDE", "# Files mentioned by the user")
_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<recommended_plugins>",
    "# AGENTS.md instructions",
    "<skill>",
)
_INJECTED_KINDS = ("environment_context", "user_instructions")
_SHELL = re.compile(r"\s*<user_shell_command>.*?<command>\n?(.*?)\n?</command>", re.DOTALL)


# --- parts of the reader's state ------------------------------------------------------------


class TokenMeter(Struct):
    """Remembers the last running total: input, cached, cache writes, output."""

    total: list[int] = field(default_factory=list)

    def count_spent(self, counted: TokenReport | None) -> Usage | None:
        """Tokens spent since the last report; `None` where a report only repeats the last one."""
        if counted is None or counted.total_token_usage is None:
            return None
        total = _list_counts(counted.total_token_usage)
        if total == self.total:
            return None
        before, self.total = self.total, total
        last = _list_counts(counted.last_token_usage) if counted.last_token_usage is not None else total
        # The first total of a fork is inherited, and one that fell was started anew: neither can be subtracted.
        if not before or any(now < then for now, then in zip(total, before, strict=True)):
            return _to_usage(last)
        return _to_usage([now - then for now, then in zip(total, before, strict=True)])


def _list_counts(totals: TokenTotals) -> list[int]:
    return [
        min(max(number or 0, 0), LARGEST_NUMBER)
        for number in (
            totals.input_tokens,
            totals.cached_input_tokens,
            totals.cache_write_input_tokens,
            totals.output_tokens,
        )
    ]


def _to_usage(numbers: list[int]) -> Usage:
    asked, cached, written, output = numbers
    return Usage(input=max(asked - cached - written, 0), output=output, cache_read=cached, cache_write=written)


MOST_HEARD = 24
"""The second writing follows the first at once; older ones need no remembering."""


class EchoFilter(Struct):
    """Lets each thing through once: a rollout writes many twice, each time in another kind of record."""

    heard: list[tuple[int, list[str]]] = field(default_factory=list)

    def is_new(self, key: int, channel: str) -> bool:
        """Whether no other channel has said this before."""
        for known, channels in self.heard:
            if known == key and channel not in channels:
                channels.append(channel)
                return False
        self.heard.append((key, [channel]))
        del self.heard[:-MOST_HEARD]
        return True


# --- the reader ------------------------------------------------------------------------------


class Reader(Struct):
    """State between two records; it can be stored after any of them and go on elsewhere."""

    unknown: dict[str, int] = field(default_factory=dict)
    """Kinds of records not understood, counted."""
    stream: str = ""
    by: str = ""
    thread: str = ""
    """Thread of the latest session_meta: in a copied history that of the parent."""
    folder: str = ""
    """Where the work goes on, as last told."""
    model: str = ""
    turn: str = ""
    of: int = 0
    is_running: bool = False
    has_acted: bool = False
    """The model has done something since the turn began; what a person says now is steering."""
    has_asked: bool = False
    has_failed: bool = False
    repeats: dict[int, int] = field(default_factory=dict)
    """How often each thing was said in this turn."""
    compacted_by: list[str] = field(default_factory=list)
    searches: int = 0
    echoes: EchoFilter = field(default_factory=EchoFilter)
    meter: TokenMeter = field(default_factory=TokenMeter)
    ledger: CallLedger = field(default_factory=CallLedger)

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        payload = record.payload
        if payload is None:
            return
        context = EventContext(record.timestamp, self.of, self.by, emit)
        reactions = _REACTIONS.get(record.type)
        if reactions is None:
            name = record.type
        else:
            reaction = reactions.get(payload.type) or reactions.get("*")
            if reaction is not None:
                reaction(self, payload, context)
                return
            name = f"{record.type}/{payload.type}"
        if name not in _IGNORED:
            self.unknown[name] = self.unknown.get(name, 0) + 1

    # --- the thread and its turns ---------------------------------------------------------------

    def read_meta(self, payload: Payload, context: EventContext) -> None:
        """What `session_meta` says of the thread; a copied history has one for each thread."""
        thread = to_text(payload.id)
        if not thread:
            return
        self.thread = thread
        branch = to_text(to_table(payload.git).get("branch"))
        about = About(stream=thread, cwd=to_text(payload.cwd), branch=branch, version=to_text(payload.cli_version))
        if self.stream and thread == self.stream:
            self.folder = about.cwd or self.folder
            context.emit(about)
        if self.stream:
            return
        self.stream, self.folder = thread, about.cwd
        agent = to_table(payload.source).get("subagent")
        spawned = to_table(to_table(agent).get("thread_spawn"))
        if agent or payload.thread_source == "subagent":
            self.by = thread
        context.emit(
            About(
                stream=thread,
                by=self.by,
                parent=to_text(payload.parent_thread_id) or to_text(spawned.get("parent_thread_id")),
                forked_from=to_text(payload.forked_from_id),
                cwd=about.cwd,
                branch=branch,
                version=about.version,
                origin=to_text(payload.originator) or to_text(payload.source),
            )
        )

    def read_context(self, payload: Payload, context: EventContext) -> None:
        """Folder, model and turn, from `turn_context`."""
        if (folder := to_text(payload.cwd)) and folder != self.folder:
            self.folder = folder
            context.emit(About(cwd=folder))
        self.model = to_text(payload.model) or self.model
        if turn := to_text(payload.turn_id):
            self.enter_turn(turn)

    def begin_turn(self, payload: Payload, _scene: EventContext) -> None:
        self.enter_turn(to_text(payload.turn_id))
        self.is_running, self.has_acted, self.has_asked, self.has_failed = True, False, False, False

    def enter_turn(self, turn: str) -> None:
        """Go into a turn: all that happens in it bears its key."""
        if turn == self.turn:
            return
        self.turn = turn
        self.of = hash_turn(turn or self.thread, "")
        self.repeats.clear()
        self.compacted_by.clear()
        self.ledger.forget_ended()

    def finish_turn(self, payload: Payload, context: EventContext) -> None:
        self.is_running = False
        if payload.error is not None:
            self.mark_failure(to_table(payload.error), context)

    def abort_turn(self, payload: Payload, context: EventContext) -> None:
        self.is_running = False
        reason = to_text(payload.reason)
        context.emit(Mark(kind="interrupt", at=context.at, detail="" if reason == "interrupted" else reason))

    def read_error(self, payload: Payload, context: EventContext) -> None:
        self.mark_failure({"message": payload.message, "codex_error_info": payload.codex_error_info}, context)

    def mark_failure(self, error: dict[str, Any], context: EventContext) -> None:
        """A turn's failure is told by an `error` event, by the turn's end, or by both; it is marked once."""
        if self.has_failed:
            return
        self.has_failed = self.is_running or bool(self.turn)
        told = error.get("codex_error_info")
        kind = to_text(told) or next(iter(to_table(told)), "")
        context.emit(Mark(kind="api_error", at=context.at, detail=kind or to_text(error.get("message"))))

    def mark_retry(self, payload: Payload, context: EventContext) -> None:
        context.emit(Mark(kind="retry", at=context.at, detail=to_text(payload.message)))

    def mark_rollback(self, payload: Payload, context: EventContext) -> None:
        turns = to_integer(payload.num_turns)
        context.emit(Mark(kind="rollback", at=context.at, detail="" if turns is None else str(turns)))

    def mark_compaction(self, payload: Payload, context: EventContext) -> None:
        channel = payload.type or "compacted"
        is_echo = bool(self.compacted_by) and channel not in self.compacted_by
        self.compacted_by = [*self.compacted_by, channel] if is_echo else [channel]
        if not is_echo:
            detail = "" if not self.turn else "auto" if self.has_asked or self.has_acted else "manual"
            context.emit(Mark(kind="compact", at=context.at, detail=detail))

    def read_title(self, payload: Payload, context: EventContext) -> None:
        if title := to_text(payload.thread_name):
            context.emit(About(title=title))

    def read_spend(self, payload: Payload, context: EventContext) -> None:
        usage = self.meter.count_spent(payload.info)
        if usage is not None:
            told = hash_spend(self.turn or self.thread, self.meter.total)
            context.emit(Spend(at=context.at, key=told, model=self.model, usage=usage, by=self.by))

    # --- what was said --------------------------------------------------------------------------

    def read_user_message(self, payload: Payload, context: EventContext) -> None:
        images = len(to_list(payload.images)) + len(to_list(payload.local_images))
        self.emit_prompt(to_text(payload.message), "event", context, images, to_text(payload.kind))

    def read_message(self, payload: Payload, context: EventContext) -> None:
        if payload.role == "assistant":
            self.note_action()
            for text in list_texts(payload.content):
                self.emit_reply(text, "response", context)
        elif payload.role == "user":
            for text in list_texts(payload.content):
                if text.lstrip().startswith("<user_shell_command>"):
                    self.emit_prompt(text, "response", context)

    def read_agent_message(self, payload: Payload, context: EventContext) -> None:
        self.note_action()
        self.emit_reply(to_text(payload.message), "event", context)

    def emit_reply(self, text: str, channel: str, context: EventContext) -> None:
        if text.strip() and self.echoes.is_new(hash_parts("reply", text.strip()), channel):
            context.emit(Reply(at=context.at, text=text))

    def emit_prompt(self, text: str, channel: str, context: EventContext, images: int = 0, injected: str = "") -> None:
        """Emit a person's words, unless another agent started this thread."""
        command = find_shell_command(text)
        words = command if command is not None else find_person_words(text, injected)
        if words is None or not (words or images):
            return
        turn = self.turn or self.thread
        if not self.echoes.is_new(hash_parts("prompt", turn, words), channel):
            return
        said = hash_parts(words)
        repeat = self.repeats[said] = self.repeats.get(said, -1) + 1
        self.of = hash_turn(turn, words, repeat)
        self.has_asked = True
        self.compacted_by.clear()
        kind: PromptKind = "queued" if self.is_running and self.has_acted else "typed"
        if not self.by:
            spoken_as: PromptKind = "shell" if command is not None else kind
            context.emit(Prompt(at=context.at, text=words, key=self.of, kind=spoken_as, images=images))

    def note_action(self) -> None:
        """Remember that the model has done something."""
        self.has_acted = True
        self.compacted_by.clear()

    def read_reasoning(self, _payload: Payload, _scene: EventContext) -> None:
        self.note_action()

    # --- what was done --------------------------------------------------------------------------

    def read_function_call(self, payload: Payload, context: EventContext) -> None:
        self.note_action()
        space, name = to_text(payload.namespace), to_text(payload.name)
        if space.startswith("mcp__") and not name.startswith("mcp__"):
            name = f"{space.removesuffix('__')}__{name}"
        given = payload.input if payload.type == "custom_tool_call" else parse_arguments(payload.arguments)
        call_id = to_text(payload.call_id)
        if call_id and name == "exec" and isinstance(given, str):
            self.ledger.open_call(context, call_id, draft_script_calls(given, self.folder), given)
        elif call_id:
            self.ledger.open_call(context, call_id, [draft_call(name, given, self.folder)])

    def read_local_shell_call(self, payload: Payload, context: EventContext) -> None:
        self.note_action()
        call_id = to_text(payload.call_id) or to_text(payload.id)
        if call_id:
            self.ledger.open_call(context, call_id, [draft_call("local_shell", to_table(payload.action))])

    def read_call_output(self, payload: Payload, context: EventContext) -> None:
        self.ledger.read_output(context, to_text(payload.call_id), payload.output)

    def read_command_end(self, payload: Payload, context: EventContext) -> None:
        fields = ("command", "exit_code", "aggregated_output", "stdout", "stderr", "status", "source")
        self.ledger.end_shell(context, to_text(payload.call_id), {name: getattr(payload, name) for name in fields})

    def read_patch_end(self, payload: Payload, context: EventContext) -> None:
        status = parse_status(payload.status, "error" if payload.success is False else "ok")
        text = to_text(payload.stdout) + to_text(payload.stderr)
        self.ledger.end_patch(context, to_text(payload.call_id), payload.changes, status, text)

    def read_mcp_end(self, payload: Payload, context: EventContext) -> None:
        self.ledger.end_mcp(context, to_text(payload.call_id), to_table(payload.invocation), payload.result)

    def read_spawn_end(self, payload: Payload, context: EventContext) -> None:
        self.ledger.end_spawn(context, to_text(payload.call_id), to_text(payload.new_thread_id))

    def read_activity(self, payload: Payload, context: EventContext) -> None:
        if payload.kind == "started":
            self.ledger.end_spawn(context, to_text(payload.event_id), to_text(payload.agent_thread_id))

    def read_web_search(self, payload: Payload, context: EventContext) -> None:
        """A web search: a `response_item`, often without an id, and an end event; inside a script only the latter."""
        action = to_table(payload.action)
        target = to_text(payload.query) or to_text(action.get("query")) or to_text(action.get("url"))
        call_id = to_text(payload.call_id) or to_text(payload.id)
        self.note_action()
        if call_id in self.ledger.pending or not self.echoes.is_new(hash_parts("web", target), payload.type):
            return
        self.searches += 1
        call_id = call_id or f"web_{self.turn or self.thread}_{self.searches}"
        self.ledger.open_call(context, call_id, [CallDraft("web_search", "web", target=target)])
        self.ledger.read_output(context, call_id, "")

    def read_item(self, payload: Payload, context: EventContext) -> None:
        """`item_completed`, from 0.166 on: one record tells all of a thing when it ends."""
        item = to_table(payload.item)
        kind, call_id, content = to_text(item.get("type")), to_text(item.get("id")), item.get("content")
        if kind == "UserMessage":
            images = sum("image" in to_text(to_table(block).get("type")).lower() for block in to_list(content))
            self.emit_prompt("\n".join(list_texts(content)), "item", context, images)
        elif kind == "AgentMessage":
            self.note_action()
            for text in list_texts(content):
                self.emit_reply(text, "item", context)
        elif kind == "CommandExecution":
            self.ledger.end_shell(context, call_id, item)
        elif kind == "FileChange":
            text = to_text(item.get("stdout")) + to_text(item.get("stderr"))
            self.ledger.end_patch(context, call_id, item.get("changes"), parse_status(item.get("status")), text)
        elif kind == "ContextCompaction":
            self.mark_compaction(Payload(type="item"), context)
        elif kind not in _IGNORED_ITEMS:
            name = f"item_completed/{kind}"
            self.unknown[name] = self.unknown.get(name, 0) + 1


Reaction = Callable[[Reader, Payload, EventContext], None]
_REACTIONS: dict[str, dict[str, Reaction]] = {
    "session_meta": {"*": Reader.read_meta},
    "turn_context": {"*": Reader.read_context},
    "compacted": {"*": Reader.mark_compaction},
    "response_item": {
        "message": Reader.read_message,
        "reasoning": Reader.read_reasoning,
        "function_call": Reader.read_function_call,
        "custom_tool_call": Reader.read_function_call,
        "local_shell_call": Reader.read_local_shell_call,
        "web_search_call": Reader.read_web_search,
        "function_call_output": Reader.read_call_output,
        "custom_tool_call_output": Reader.read_call_output,
        "mcp_tool_call_output": Reader.read_call_output,
    },
    "event_msg": {
        "task_started": Reader.begin_turn,
        "turn_started": Reader.begin_turn,
        "task_complete": Reader.finish_turn,
        "turn_complete": Reader.finish_turn,
        "turn_aborted": Reader.abort_turn,
        "error": Reader.read_error,
        "stream_error": Reader.mark_retry,
        "thread_rolled_back": Reader.mark_rollback,
        "context_compacted": Reader.mark_compaction,
        "thread_name_updated": Reader.read_title,
        "token_count": Reader.read_spend,
        "user_message": Reader.read_user_message,
        "agent_message": Reader.read_agent_message,
        "exec_command_end": Reader.read_command_end,
        "patch_apply_end": Reader.read_patch_end,
        "mcp_tool_call_end": Reader.read_mcp_end,
        "collab_agent_spawn_end": Reader.read_spawn_end,
        "sub_agent_activity": Reader.read_activity,
        "web_search_end": Reader.read_web_search,
        "item_completed": Reader.read_item,
    },
}
_IGNORED_ITEMS = ("Plan", "Reasoning", "WebSearch", "McpToolCall", "ImageView", "HookPrompt")
_IGNORED = frozenset(
    {
        "world_state",
        "token_usage_record",  # the same numbers as token_count, before it
        "inter_agent_communication_metadata",
        "response_item/ghost_snapshot",
        "response_item/compaction",
        "response_item/agent_message",
        "event_msg/agent_reasoning",
        "event_msg/agent_reasoning_raw_content",
        "event_msg/thread_settings_applied",
        "event_msg/warning",
        "event_msg/collab_agent_interaction_end",
        "event_msg/collab_waiting_end",
        "event_msg/collab_close_end",
        "event_msg/view_image_tool_call",
        "event_msg/entered_review_mode",
        "event_msg/exited_review_mode",
    }
)


# --- a person's words ------------------------------------------------------------------------


def find_person_words(text: str, kind: str = "") -> str | None:
    """The person's own words in a message; `None` where the client wrote it."""
    if kind in _INJECTED_KINDS or text.startswith(_INJECTED):
        return None
    if text.startswith(_WRAPPERS):
        request = text.partition(_REQUEST)[2]
        text = request if request.strip() else text
    return text.strip()


def find_shell_command(text: str) -> str | None:
    """The command that a person ran with `!`, if a message is one."""
    found = _SHELL.match(text)
    return found[1].strip() if found else None
