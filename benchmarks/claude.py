"""Claude Code sessions: the records of one main file and of its sub-agents, one JSON line each."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import Any

import orjson

from benchmarks.claude_tools import Call, Tally, Tools, image
from benchmarks.text import Pool

Record = dict[str, Any]
MODELS = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001")
# Progress echoes were written by 2.1.11 to 2.1.83 only, summaries up to 2.1.22, attachments from 2.1.90.
VERSIONS = (
    "2.1.17",
    "2.1.22",
    "2.1.39",
    "2.1.62",
    "2.1.76",
    "2.1.83",
    "2.1.97",
    "2.1.119",
    "2.1.158",
    "2.1.220",
)


@dataclass
class Counts:
    """What the corpus is known to hold, copies left out."""

    output_tokens: int = 0
    codex_output_tokens: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


@dataclass
class World:
    """What all sessions share: chance, text, the clock and the running counts."""

    rng: Random
    pool: Pool
    tally: Tally
    counts: Counts
    now: float = 1_767_600_000.0

    def stamp(self) -> str:
        """The next moment, ISO with milliseconds."""
        self.now += self.rng.expovariate(1 / 4)
        return stamp(self.now)

    def uuid(self) -> str:
        h = f"{self.rng.getrandbits(128):032x}"
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"

    def ident(self, prefix: str) -> str:
        return f"{prefix}01{self.rng.getrandbits(128):032x}"[: len(prefix) + 24]


def stamp(at: float) -> str:
    """ISO 8601 in UTC, without the cost of `datetime` for each of many records."""
    days, rest = divmod(int(at), 86_400)
    return f"{_date(days)}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}.{int(at % 1 * 1000):03}Z"


@cache
def _date(days: int) -> str:
    return datetime.fromtimestamp(days * 86_400, UTC).strftime("%Y-%m-%d")


class Session:
    """Writes one stream, turn by turn; `lines` is the main file, `agents` the sub-agents' files."""

    def __init__(self, world: World, cwd: str, agent: str = "", parent: "Session | None" = None) -> None:
        self.world, self.rng, self.pool = world, world.rng, world.pool
        self.tools = Tools(world.rng, world.pool, world.tally)
        self.tools.cwd = cwd
        self.cwd, self.agent = cwd, agent
        self.id: str = parent.id if parent else world.uuid()
        self.version: str = parent.version if parent else world.rng.choice(VERSIONS)
        branches = ("main", "", f"feat/{world.pool.words(2)}")
        self.branch: str = parent.branch if parent else world.rng.choice(branches)
        self.slug: str = parent.slug if parent else world.pool.words(3)
        minor = int(self.version.split(".")[2])
        self.echoes, self.attaches, self.sums_up = minor <= 83, minor >= 90, minor <= 22
        self.model = MODELS[2] if agent else world.rng.choice(MODELS[:2])
        self.last: str | None = None
        self.context = world.rng.randrange(14_000, 26_000)
        self.tracked: dict[str, Record] = {}
        self.lines: list[bytes] = []
        self.agents: dict[str, list[bytes]] = {}
        self.size = 0

    # --- writing ---------------------------------------------------------------------------------

    def put(self, record: Record) -> None:
        line = orjson.dumps(record)
        self.lines.append(line)
        self.size += len(line) + 1
        self.world.tally.add(line)
        self.world.counts.kinds[record["type"]] += 1

    def envelope(self, kind: str, /, **more: Any) -> Record:
        """A chained record: each names the one before as its parent."""
        record: Record = {
            "parentUuid": self.last, "isSidechain": bool(self.agent), "userType": "external", "cwd": self.cwd,
            "sessionId": self.id, "version": self.version, "gitBranch": self.branch, "slug": self.slug,
            "type": kind, **more,
            "uuid": self.world.uuid(), "timestamp": self.world.stamp(),
        }  # fmt: skip
        if self.agent:
            record["agentId"] = self.agent
        if self.attaches:
            record["entrypoint"] = "cli"
        self.last = record["uuid"]
        return record

    # --- turns -----------------------------------------------------------------------------------

    def open(self) -> None:
        """The head of the file; what comes first differs by version."""
        if self.sums_up:
            for _ in range(self.rng.choice((0, 0, 10, 30))):
                self.put({"type": "summary", "summary": self.pool.take("prose", 60), "leafUuid": self.world.uuid()})
        if self.attaches:
            self.put({"type": "permission-mode", "permissionMode": "default", "sessionId": self.id})

    def turn(self) -> None:
        """A prompt, then messages with tool calls until one comes without."""
        self.queue()
        if not self.agent:
            self.snapshot(update=False)
        self.put(self.envelope("user", message={"role": "user", "content": self.prompt()}))
        for _ in range(1 + int(self.rng.expovariate(1 / 7))):
            self.message(tools=1 + (self.rng.random() < 0.2) + 2 * (self.rng.random() < 0.04))
        self.message(tools=0)
        self.aftermath()

    def prompt(self) -> str | list[Record]:
        said = self.pool.talk(self.pool.size(160, 1.1, 9_000))
        if self.rng.random() < 0.015:
            shown = image(self.pool.take("base64", self.pool.size(60_000, 0.8, 500_000)))
            return [shown, {"type": "text", "text": said}]
        return [{"type": "text", "text": said}] if self.rng.random() < 0.15 else said

    def queue(self) -> None:
        if not self.agent and self.rng.random() < 0.9:
            head = {"type": "queue-operation", "timestamp": self.world.stamp(), "sessionId": self.id}
            self.put(head | {"operation": "enqueue", "content": self.pool.talk(120)})
            self.put(head | {"operation": "dequeue"})

    def snapshot(self, update: bool) -> None:
        name = self.world.uuid()
        kept = {"messageId": name, "trackedFileBackups": self.tracked, "timestamp": stamp(self.world.now)}
        self.put({"type": "file-history-snapshot", "messageId": name, "snapshot": kept, "isSnapshotUpdate": update})

    def aftermath(self) -> None:
        """What follows a turn: system notes, titles, now and then an error or a compaction."""
        if self.agent:
            return
        if self.rng.random() < 0.6:
            took = self.rng.randrange(2_000, 400_000)
            self.put(self.envelope("system", subtype="turn_duration", durationMs=took, isMeta=False))
        if self.attaches:
            self.put({"type": "last-prompt", "lastPrompt": self.pool.take("prose", 90), "sessionId": self.id})
            self.put({"type": "ai-title", "aiTitle": self.pool.take("prose", 40), "sessionId": self.id})
            for _ in range(self.rng.randrange(4)):
                note = {"type": "todo_reminder", "content": self.pool.take("prose", 200), "itemCount": 3}
                self.put(self.envelope("attachment", attachment=note))
        if self.rng.random() < 0.05:
            self.api_error()
        if self.context > 160_000:
            self.compact()

    def api_error(self) -> None:
        cause = {"status": 529, "requestID": None, "error": {"type": "overloaded_error"}}
        tries = {"retryAttempt": 1, "maxRetries": 10}
        self.put(self.envelope("system", subtype="api_error", level="error", error=cause, **tries))
        usage = {
            "input_tokens": 0,
            "output_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
        }
        message = {
            "id": self.world.uuid(), "model": "<synthetic>", "role": "assistant", "type": "message",
            "stop_reason": "stop_sequence", "usage": usage,
            "content": [{"type": "text", "text": "API Error: Repeated 529 Overloaded errors"}],
        }  # fmt: skip
        self.put(self.envelope("assistant", message=message, isApiErrorMessage=True, error="rate_limit"))

    def compact(self) -> None:
        before, self.last = self.last, None
        told = {"trigger": "auto", "preTokens": self.context}
        self.put(self.envelope("system", subtype="compact_boundary", logicalParentUuid=before, compactMetadata=told))
        text = "This session is being continued from a previous conversation. " + self.pool.take("prose", 9_000)
        said = {"role": "user", "content": text}
        self.put(self.envelope("user", isCompactSummary=True, isVisibleInTranscriptOnly=True, message=said))
        self.context = self.rng.randrange(20_000, 40_000)

    # --- messages --------------------------------------------------------------------------------

    def message(self, tools: int) -> None:
        """One API message: a record per block, usage repeated, earlier blocks at times with partial output."""
        blocks, calls = self.blocks(tools)
        final = self.pool.size(260, 1.1, 12_000)
        self.world.counts.output_tokens += final
        self.context += final + self.rng.randrange(50, 1_500)
        partial = self.rng.random() < 0.2
        shared = {"model": self.model, "id": self.world.ident("msg_"), "type": "message", "role": "assistant"}
        request, written = self.world.ident("req_"), self.rng.randrange(60, 4_000)
        for at, block in enumerate(blocks):
            is_last = at == len(blocks) - 1
            usage = self.usage(written, self.rng.randrange(1, 8) if partial and not is_last else final)
            stop = ("tool_use" if tools else "end_turn") if is_last and self.attaches else None
            message = shared | {
                "content": [block],
                "stop_reason": stop,
                "stop_sequence": None,
                "usage": usage,
            }
            self.put(self.envelope("assistant", message=message, requestId=request))
        for ident, name, call in calls:
            self.result(ident, name, call)

    def blocks(self, tools: int) -> tuple[list[Record], list[tuple[str, str, Call | None]]]:
        blocks: list[Record] = []
        calls: list[tuple[str, str, Call | None]] = []
        if self.rng.random() < 0.55:
            thought = self.pool.take("prose", self.pool.size(420, 1.0, 9_000)) if self.rng.random() > 0.12 else ""
            sealed = self.pool.take("base64", 300 + int(len(thought) * 1.2))
            blocks.append({"type": "thinking", "thinking": thought, "signature": sealed})
        if not tools or self.rng.random() < 0.42:
            blocks.append({"type": "text", "text": self.pool.talk(self.pool.size(260, 1.2, 8_000))})
        for _ in range(tools):
            name, ident = self.tools.pick(), self.world.ident("toolu_")
            if name == "Task" and self.agent:
                name = "Grep"
            call = None if name == "Task" else self.tools.call(name)
            given = call.input if call else self.task()
            blocks.append({"type": "tool_use", "id": ident, "name": name, "input": given})
            calls.append((ident, name, call))
        return blocks, calls

    def task(self) -> Record:
        said = self.pool.take("prose", self.pool.size(900, 0.7, 5_000))
        return {"description": self.pool.words(3, " "), "prompt": said, "subagent_type": "Explore"}

    def usage(self, written: int, output: int) -> Record:
        kept = {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0}
        return {
            "input_tokens": 3, "cache_creation_input_tokens": written, "cache_read_input_tokens": self.context,
            "cache_creation": kept, "output_tokens": output, "service_tier": "standard",
        }  # fmt: skip

    # --- results ---------------------------------------------------------------------------------

    def result(self, ident: str, name: str, call: Call | None) -> None:
        self.world.counts.kinds[f"tool:{name}"] += 1
        self.noise(ident, name)
        if call is None:
            call = self.delegate(ident)
        if name in ("Edit", "Write") and not self.agent and not call.failed:
            backup = {"backupFileName": f"{self.rng.getrandbits(64):016x}@v1", "version": 1}
            self.tracked[call.input["file_path"]] = backup | {"backupTime": stamp(self.world.now)}
            if len(self.tracked) > 12:
                self.tracked.pop(next(iter(self.tracked)))
            if self.rng.random() < 0.5:
                self.snapshot(update=True)
        block: Record = {"tool_use_id": ident, "type": "tool_result", "content": call.content}
        if call.failed:
            block["is_error"] = True
        record = self.envelope("user", message={"role": "user", "content": [block]})
        if call.result is not None and not (self.agent and self.rng.random() < 0.3):
            record["toolUseResult"] = call.result
        self.put(record)

    def noise(self, ident: str, name: str) -> None:
        """Progress echoes of hooks and running commands."""
        if not self.echoes:
            return
        both = {"toolUseID": ident, "parentToolUseID": ident}
        if self.rng.random() < 0.36:
            hook = {"type": "hook_progress", "hookEvent": "PostToolUse", "hookName": f"PostToolUse:{name}"}
            command = f"python3 $CLAUDE_PROJECT_DIR/.claude/hooks/{self.pool.words(2, '_')}.py"
            self.put(self.envelope("progress", data=hook | {"command": command}, **both))
        if name == "Bash":
            for second in range(min(60, int(self.rng.expovariate(1 / 3.1)))):
                out = self.pool.take("log", self.pool.size(160, 1.0, 4_000))
                running = {
                    "type": "bash_progress",
                    "output": out,
                    "fullOutput": out,
                    "elapsedTimeSeconds": second,
                }
                self.put(self.envelope("progress", data=running | {"totalLines": out.count("\n")}, **both))

    def delegate(self, ident: str) -> Call:
        """Run a sub-agent: its own file, and in older versions an echo of each message here."""
        name = f"a{self.rng.getrandbits(64):016x}"[:17]
        child = Session(self.world, self.cwd, agent=name, parent=self)
        for _ in range(1 + (self.rng.random() < 0.3)):
            child.turn()
        child.message(tools=1)
        self.agents[name] = child.lines
        for line in child.lines if self.echoes else ():
            self.echo(orjson.loads(line), ident, name)
        said = [{"type": "text", "text": self.pool.talk(self.pool.size(1_500, 0.7, 9_000))}]
        result = {
            "status": "completed",
            "prompt": "",
            "agentId": name,
            "content": said,
            "totalDurationMs": 61_000,
        }
        result |= {"totalTokens": child.context, "totalToolUseCount": 9, "usage": child.usage(100, 800)}
        return Call("Task", {}, said, result)

    def echo(self, record: Record, ident: str, agent: str) -> None:
        if record["type"] not in ("user", "assistant"):
            return
        kept = {key: record[key] for key in ("type", "timestamp", "message", "uuid", "requestId") if key in record}
        seen = {
            "message": kept,
            "normalizedMessages": [],
            "type": "agent_progress",
            "prompt": "",
            "agentId": agent,
        }
        self.put(self.envelope("progress", data=seen, toolUseID=ident, parentToolUseID=ident))
