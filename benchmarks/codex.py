"""Codex rollouts: the lines of one thread, in the shapes of 0.117 to 0.128."""

from typing import Any

import orjson

from benchmarks.claude import Record, World
from benchmarks.shell import Shell

MODELS = ("gpt-5.2-codex", "gpt-5.3-codex")


class Rollout:
    """Writes one thread; `lines` is its file."""

    def __init__(self, world: World, cwd: str) -> None:
        self.world, self.rng, self.pool = world, world.rng, world.pool
        self.shell = Shell(world.rng, world.pool)
        self.cwd, self.id = cwd, world.uuid()
        self.model = world.rng.choice(MODELS)
        self.started = world.stamp()
        self.total = {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}
        self.total |= {"reasoning_output_tokens": 0, "total_tokens": 0}
        self.latest = self.total
        self.context = 9_000
        self.lines: list[bytes] = []
        self.size = 0

    @property
    def path(self) -> str:
        """Where the thread lies below `sessions/`."""
        day, clock = self.started[:10], self.started[11:19].replace(":", "-")
        return f"{day.replace('-', '/')}/rollout-{day}T{clock}-{self.id}.jsonl"

    def put(self, kind: str, payload: Record) -> None:
        line = orjson.dumps({"timestamp": self.world.stamp(), "type": kind, "payload": payload})
        self.lines.append(line)
        self.size += len(line) + 1
        self.world.counts.kinds[f"codex:{kind}"] += 1

    def event(self, name: str, /, **more: Any) -> None:
        self.put("event_msg", {"type": name, **more})

    def item(self, name: str, /, **more: Any) -> None:
        self.put("response_item", {"type": name, **more})

    def open(self, forked_from: str = "") -> None:
        git = {"commit_hash": f"{self.rng.getrandbits(160):040x}", "branch": "main"}
        meta: Record = {
            "id": self.id, "timestamp": self.started, "cwd": self.cwd, "originator": "codex-tui",
            "cli_version": "0.124.0", "source": "cli", "model_provider": "openai", "git": git,
            "base_instructions": {"text": self.pool.take("prose", 14_000)},
        }  # fmt: skip
        if forked_from:
            meta["forked_from_id"] = forked_from
        self.put("session_meta", meta)
        rules = f"# AGENTS.md instructions for {self.cwd}\n\n" + self.pool.take("prose", 5_000)
        self.item("message", role="user", content=[{"type": "input_text", "text": rules}])

    def turn(self) -> None:
        turn, said = self.world.uuid(), self.pool.talk(self.pool.size(180, 1.1, 9_000))
        self.event("task_started", turn_id=turn, model_context_window=258_400)
        self.put("turn_context", {
            "turn_id": turn, "cwd": self.cwd, "approval_policy": "on-request", "model": self.model, "effort": "high",
            "sandbox_policy": {"type": "workspace-write", "network_access": False, "writable_roots": [self.cwd]},
            "summary": "auto", "current_date": self.started[:10], "timezone": "Etc/UTC", "personality": "pragmatic",
            "collaboration_mode": {"mode": "default", "settings": {"model": self.model, "reasoning_effort": "high"}},
            "truncation_policy": {"mode": "tokens", "limit": 10_000}, "user_instructions": self.pool.take("prose", 900),
        })  # fmt: skip
        self.item("message", role="user", content=[{"type": "input_text", "text": said}])
        self.event("user_message", message=said, images=[], local_images=[], text_elements=[])
        for _ in range(1 + int(self.rng.expovariate(1 / 10))):
            self.step()
        self.say("final_answer")
        self.tokens()
        self.event("task_complete", turn_id=turn, last_agent_message=None, duration_ms=int(self.rng.random() * 4e5))
        if self.context > 220_000:
            self.compact()

    def step(self) -> None:
        """One request: reasoning, at times a word to the person, a call, the bill."""
        sealed = self.pool.take("base64", self.pool.size(1_300, 0.7, 20_000))
        self.item("reasoning", summary=[], content=None, encrypted_content=sealed)
        if self.rng.random() < 0.4:
            self.say("commentary")
        if self.rng.random() < 0.11:
            self.patch()
        else:
            self.run()
        self.tokens()

    def say(self, phase: str) -> None:
        text = self.pool.talk(self.pool.size(300, 0.9, 8_000))
        self.event("agent_message", message=text, phase=phase)
        self.item("message", role="assistant", phase=phase, content=[{"type": "output_text", "text": text}])

    def run(self) -> None:
        self.world.counts.kinds["codex:exec_command"] += 1
        call = self.world.ident("call_")
        given = {
            "cmd": self.shell.command(),
            "workdir": self.cwd,
            "yield_time_ms": 1_000,
            "max_output_tokens": 6_000,
        }
        given["justification"] = self.pool.take("prose", 90)
        self.item("function_call", name="exec_command", arguments=orjson.dumps(given).decode(), call_id=call)
        kind = self.rng.choice(("log", "code"))
        out = self.pool.take(kind, self.pool.size(1_500, 1.5, 40_000))
        code = self.rng.choice((1, 1, 2, 101)) if self.rng.random() < 0.06 else 0
        head = f"Chunk ID: {self.rng.getrandbits(24):06x}\nWall time: 0.0{self.rng.randrange(10, 99)} seconds\n"
        tail = f"Process exited with code {code}\nOriginal token count: {len(out) // 4}\nOutput:\n{out}"
        self.item("function_call_output", call_id=call, output=head + tail)

    def patch(self) -> None:
        call, path = self.world.ident("call_"), self.pool.path()
        old = self.pool.take("code", self.pool.size(300, 0.9, 4_000)).split("\n")
        new = self.pool.take("code", self.pool.size(900, 1.0, 12_000)).split("\n")
        body = "\n".join([*(f"-{line}" for line in old), *(f"+{line}" for line in new)])
        text = f"*** Begin Patch\n*** Update File: {path}\n@@\n{body}\n*** End Patch"
        self.item("custom_tool_call", status="completed", call_id=call, name="apply_patch", input=text)
        diff = f"@@ -1,{len(old)} +1,{len(new)} @@\n{body}\n"
        changes = {f"{self.cwd}/{path}": {"type": "update", "unified_diff": diff, "move_path": None}}
        said = f"Success. Updated the following files:\nM {path}\n"
        self.event("patch_apply_end", call_id=call, stdout=said, stderr="", success=True, changes=changes)
        output = orjson.dumps({"output": said, "metadata": {"exit_code": 0, "duration_seconds": 0.0}}).decode()
        self.item("custom_tool_call_output", call_id=call, output=output)

    def tokens(self) -> None:
        """The running total; about one in seven repeats the last."""
        if self.rng.random() > 0.13:
            spent, thought = self.pool.size(240, 1.0, 9_000), self.rng.randrange(0, 60)
            last = {"input_tokens": self.context, "cached_input_tokens": self.context - 700}
            last |= {"output_tokens": spent + thought, "reasoning_output_tokens": thought}
            last["total_tokens"] = self.context + spent + thought
            self.total = {key: self.total[key] + last[key] for key in self.total}
            self.world.counts.codex_output_tokens += last["output_tokens"]
            self.context += spent + self.rng.randrange(200, 4_000)
            self.latest = last
        usage = {"total_token_usage": self.total, "last_token_usage": self.latest}
        until = {"used_percent": 12.0, "resets_at": int(self.world.now) + 9_000}
        limits: Record = {"limit_id": "codex", "limit_name": None, "plan_type": "pro", "credits": None}
        limits |= {
            "primary": until | {"window_minutes": 300},
            "secondary": until | {"window_minutes": 10_080},
        }
        self.event("token_count", info=usage | {"model_context_window": 258_400}, rate_limits=limits)

    def compact(self) -> None:
        said = [{"type": "input_text", "text": self.pool.take("prose", 4_000)} for _ in range(8)]
        history = [{"type": "message", "role": "user", "content": [part]} for part in said]
        self.put("compacted", {"message": "", "replacement_history": history})
        self.event("context_compacted")
        self.context = 24_000
