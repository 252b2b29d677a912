"""One rollout, record by record."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from assay.sources.codex.echoes import Echoes
from assay.sources.codex.keys import key, spend_key, turn_key
from assay.sources.codex.ledger import Ledger, Scene, reported_status
from assay.sources.codex.prompts import shell_command, spoken
from assay.sources.codex.records import Payload, Record, rows, table, texts, whole, word
from assay.sources.codex.spending import Meter
from assay.sources.codex.tools import Draft, arguments_of, draft, drafts_of_script
from assay.types import About, Event, Mark, Prompt, PromptKind, Reply, Spend

Emit = Callable[[Event], None]


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
    echoes: Echoes = field(default_factory=Echoes)
    meter: Meter = field(default_factory=Meter)
    ledger: Ledger = field(default_factory=Ledger)

    def take(self, record: Record, emit: Emit) -> None:
        """Emit the events of the next record."""
        payload = record.payload
        if payload is None:
            return
        scene = Scene(record.timestamp, self.of, self.by, emit)
        reactions = _REACTIONS.get(record.type)
        if reactions is None:
            name = record.type
        else:
            reaction = reactions.get(payload.type) or reactions.get("*")
            if reaction is not None:
                reaction(self, payload, scene)
                return
            name = f"{record.type}/{payload.type}"
        if name not in _IGNORED:
            self.unknown[name] = self.unknown.get(name, 0) + 1

    # --- the thread and its turns ---------------------------------------------------------------

    def meta(self, payload: Payload, scene: Scene) -> None:
        thread = word(payload.id)
        if not thread:
            return
        self.thread = thread
        branch = word(table(payload.git).get("branch"))
        about = About(stream=thread, cwd=word(payload.cwd), branch=branch, version=word(payload.cli_version))
        if self.stream and thread == self.stream:
            self.folder = about.cwd or self.folder
            scene.emit(about)
        if self.stream:
            return
        self.stream, self.folder = thread, about.cwd
        agent = table(payload.source).get("subagent")
        spawned = table(table(agent).get("thread_spawn"))
        if agent or payload.thread_source == "subagent":
            self.by = thread
        scene.emit(
            About(
                stream=thread,
                by=self.by,
                parent=word(payload.parent_thread_id) or word(spawned.get("parent_thread_id")),
                forked_from=word(payload.forked_from_id),
                cwd=about.cwd,
                branch=branch,
                version=about.version,
                origin=word(payload.originator) or word(payload.source),
            )
        )

    def context(self, payload: Payload, scene: Scene) -> None:
        if (folder := word(payload.cwd)) and folder != self.folder:
            self.folder = folder
            scene.emit(About(cwd=folder))
        self.model = word(payload.model) or self.model
        if turn := word(payload.turn_id):
            self.enter(turn)

    def begin(self, payload: Payload, _scene: Scene) -> None:
        self.enter(word(payload.turn_id))
        self.is_running, self.has_acted, self.has_asked, self.has_failed = True, False, False, False

    def enter(self, turn: str) -> None:
        """Go into a turn; all that happens in it bears its key."""
        if turn == self.turn:
            return
        self.turn = turn
        self.of = turn_key(turn or self.thread, "")
        self.repeats.clear()
        self.compacted_by.clear()
        self.ledger.forget()

    def finish(self, payload: Payload, scene: Scene) -> None:
        self.is_running = False
        if payload.error is not None:
            self.fail(table(payload.error), scene)

    def abort(self, payload: Payload, scene: Scene) -> None:
        self.is_running = False
        reason = word(payload.reason)
        scene.emit(Mark(kind="interrupt", at=scene.at, detail="" if reason == "interrupted" else reason))

    def break_off(self, payload: Payload, scene: Scene) -> None:
        self.fail({"message": payload.message, "codex_error_info": payload.codex_error_info}, scene)

    def fail(self, error: dict[str, Any], scene: Scene) -> None:
        """A turn's failure is told by an `error` event, by its end, or by both."""
        if self.has_failed:
            return
        self.has_failed = self.is_running or bool(self.turn)
        told = error.get("codex_error_info")
        kind = word(told) or next(iter(table(told)), "")
        scene.emit(Mark(kind="api_error", at=scene.at, detail=kind or word(error.get("message"))))

    def retry(self, payload: Payload, scene: Scene) -> None:
        scene.emit(Mark(kind="retry", at=scene.at, detail=word(payload.message)))

    def roll_back(self, payload: Payload, scene: Scene) -> None:
        turns = whole(payload.num_turns)
        scene.emit(Mark(kind="rollback", at=scene.at, detail="" if turns is None else str(turns)))

    def compact(self, payload: Payload, scene: Scene) -> None:
        channel = payload.type or "compacted"
        is_echo = bool(self.compacted_by) and channel not in self.compacted_by
        self.compacted_by = [*self.compacted_by, channel] if is_echo else [channel]
        if not is_echo:
            detail = "" if not self.turn else "auto" if self.has_asked or self.has_acted else "manual"
            scene.emit(Mark(kind="compact", at=scene.at, detail=detail))

    def name(self, payload: Payload, scene: Scene) -> None:
        if title := word(payload.thread_name):
            scene.emit(About(title=title))

    def spend(self, payload: Payload, scene: Scene) -> None:
        usage = self.meter.spent(payload.info)
        if usage is not None:
            told = spend_key(self.turn or self.thread, self.meter.total)
            scene.emit(Spend(at=scene.at, key=told, model=self.model, usage=usage, by=self.by))

    # --- what was said --------------------------------------------------------------------------

    def user_message(self, payload: Payload, scene: Scene) -> None:
        images = len(rows(payload.images)) + len(rows(payload.local_images))
        self.hear(word(payload.message), "event", scene, images, word(payload.kind))

    def message(self, payload: Payload, scene: Scene) -> None:
        if payload.role == "assistant":
            self.act()
            for text in texts(payload.content):
                self.reply(text, "response", scene)
        elif payload.role == "user":
            for text in texts(payload.content):
                if text.lstrip().startswith("<user_shell_command>"):
                    self.hear(text, "response", scene)

    def agent_message(self, payload: Payload, scene: Scene) -> None:
        self.act()
        self.reply(word(payload.message), "event", scene)

    def reply(self, text: str, channel: str, scene: Scene) -> None:
        if text.strip() and self.echoes.is_new(key("reply", text.strip()), channel):
            scene.emit(Reply(at=scene.at, text=text))

    def hear(self, text: str, channel: str, scene: Scene, images: int = 0, injected: str = "") -> None:
        """A person's words, unless this thread was started by another agent."""
        command = shell_command(text)
        words = command if command is not None else spoken(text, injected)
        if words is None or not (words or images):
            return
        turn = self.turn or self.thread
        if not self.echoes.is_new(key("prompt", turn, words), channel):
            return
        said = key(words)
        repeat = self.repeats[said] = self.repeats.get(said, -1) + 1
        self.of = turn_key(turn, words, repeat)
        self.has_asked = True
        self.compacted_by.clear()
        kind: PromptKind = "queued" if self.is_running and self.has_acted else "typed"
        if not self.by:
            spoken_as: PromptKind = "shell" if command is not None else kind
            scene.emit(Prompt(at=scene.at, text=words, key=self.of, kind=spoken_as, images=images))

    def act(self) -> None:
        """The model has done something."""
        self.has_acted = True
        self.compacted_by.clear()

    def think(self, _payload: Payload, _scene: Scene) -> None:
        self.act()

    # --- what was done --------------------------------------------------------------------------

    def function_call(self, payload: Payload, scene: Scene) -> None:
        self.act()
        space, name = word(payload.namespace), word(payload.name)
        if space.startswith("mcp__") and not name.startswith("mcp__"):
            name = f"{space.removesuffix('__')}__{name}"
        given = payload.input if payload.type == "custom_tool_call" else arguments_of(payload.arguments)
        call_id = word(payload.call_id)
        if call_id and name == "exec" and isinstance(given, str):
            self.ledger.open(scene, call_id, drafts_of_script(given), given)
        elif call_id:
            self.ledger.open(scene, call_id, [draft(name, given)])

    def local_shell_call(self, payload: Payload, scene: Scene) -> None:
        self.act()
        call_id = word(payload.call_id) or word(payload.id)
        if call_id:
            self.ledger.open(scene, call_id, [draft("local_shell", table(payload.action))])

    def call_output(self, payload: Payload, scene: Scene) -> None:
        self.ledger.output(scene, word(payload.call_id), payload.output)

    def command_end(self, payload: Payload, scene: Scene) -> None:
        fields = ("command", "exit_code", "aggregated_output", "stdout", "stderr", "status", "source")
        self.ledger.end_shell(scene, word(payload.call_id), {name: getattr(payload, name) for name in fields})

    def patch_end(self, payload: Payload, scene: Scene) -> None:
        status = reported_status(payload.status, "error" if payload.success is False else "ok")
        text = word(payload.stdout) + word(payload.stderr)
        self.ledger.end_patch(scene, word(payload.call_id), payload.changes, status, text)

    def mcp_end(self, payload: Payload, scene: Scene) -> None:
        self.ledger.end_mcp(scene, word(payload.call_id), table(payload.invocation), payload.result)

    def spawn_end(self, payload: Payload, scene: Scene) -> None:
        self.ledger.end_spawn(scene, word(payload.call_id), word(payload.new_thread_id))

    def activity(self, payload: Payload, scene: Scene) -> None:
        if payload.kind == "started":
            self.ledger.end_spawn(scene, word(payload.event_id), word(payload.agent_thread_id))

    def web_search(self, payload: Payload, scene: Scene) -> None:
        """Told by a response_item, often without an id, and by an end event; inside a script only by that."""
        action = table(payload.action)
        target = word(payload.query) or word(action.get("query")) or word(action.get("url"))
        call_id = word(payload.call_id) or word(payload.id)
        self.act()
        if call_id in self.ledger.pending or not self.echoes.is_new(key("web", target), payload.type):
            return
        self.searches += 1
        call_id = call_id or f"web_{self.turn or self.thread}_{self.searches}"
        self.ledger.open(scene, call_id, [Draft("web_search", "web", target=target)])
        self.ledger.output(scene, call_id, "")

    def item(self, payload: Payload, scene: Scene) -> None:
        """From 0.166 on: things are told whole when they end."""
        item = table(payload.item)
        kind, call_id, content = word(item.get("type")), word(item.get("id")), item.get("content")
        if kind == "UserMessage":
            images = sum("image" in word(table(block).get("type")).lower() for block in rows(content))
            self.hear("\n".join(texts(content)), "item", scene, images)
        elif kind == "AgentMessage":
            self.act()
            for text in texts(content):
                self.reply(text, "item", scene)
        elif kind == "CommandExecution":
            self.ledger.end_shell(scene, call_id, item)
        elif kind == "FileChange":
            text = word(item.get("stdout")) + word(item.get("stderr"))
            self.ledger.end_patch(scene, call_id, item.get("changes"), reported_status(item.get("status")), text)
        elif kind == "ContextCompaction":
            self.compact(Payload(type="item"), scene)
        elif kind not in _IGNORED_ITEMS:
            name = f"item_completed/{kind}"
            self.unknown[name] = self.unknown.get(name, 0) + 1


Reaction = Callable[[Reader, Payload, Scene], None]
_REACTIONS: dict[str, dict[str, Reaction]] = {
    "session_meta": {"*": Reader.meta},
    "turn_context": {"*": Reader.context},
    "compacted": {"*": Reader.compact},
    "response_item": {
        "message": Reader.message,
        "reasoning": Reader.think,
        "function_call": Reader.function_call,
        "custom_tool_call": Reader.function_call,
        "local_shell_call": Reader.local_shell_call,
        "web_search_call": Reader.web_search,
        "function_call_output": Reader.call_output,
        "custom_tool_call_output": Reader.call_output,
        "mcp_tool_call_output": Reader.call_output,
    },
    "event_msg": {
        "task_started": Reader.begin,
        "turn_started": Reader.begin,
        "task_complete": Reader.finish,
        "turn_complete": Reader.finish,
        "turn_aborted": Reader.abort,
        "error": Reader.break_off,
        "stream_error": Reader.retry,
        "thread_rolled_back": Reader.roll_back,
        "context_compacted": Reader.compact,
        "thread_name_updated": Reader.name,
        "token_count": Reader.spend,
        "user_message": Reader.user_message,
        "agent_message": Reader.agent_message,
        "exec_command_end": Reader.command_end,
        "patch_apply_end": Reader.patch_end,
        "mcp_tool_call_end": Reader.mcp_end,
        "collab_agent_spawn_end": Reader.spawn_end,
        "sub_agent_activity": Reader.activity,
        "web_search_end": Reader.web_search,
        "item_completed": Reader.item,
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
