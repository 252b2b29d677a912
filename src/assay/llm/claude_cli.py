"""Claude Code in print mode (`claude -p`): for those who have a subscription or a login, and no key.

It gets no tools, no servers, nothing of a project, an empty folder, and the words through its standard input, where
no list of processes shows them. It keeps no session.

What it prints is told apart: an answer, or which kind of trouble. An error comes with `subtype` success, a run with a
schema may come without structured output and without an error, and where the program itself fails, nothing is printed.
"""

import asyncio
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.config import Model as Settings
from assay.errors import ModelBusy, ModelError, ModelRefused, ModelUnavailable
from assay.llm.contract import AbsentModel, Answer, PaidRefusal, Question
from assay.llm.wire import build_status_error, render_task, sanitize_error, strip_fence
from assay.types import Usage

MODEL = "claude-haiku-4-5"
"""In full: what the alias stands for changes with the program, and a judge must not change unseen."""
PROGRAM = "claude"
ACCESS = "run `claude` and log in, or set ANTHROPIC_API_KEY"
STATUS = re.compile(r"API Error: (\d{3})\b")
NO_LOGIN = re.compile(r"/login|Invalid API key|OAuth token", re.IGNORECASE)
USED_UP = re.compile(r"(usage|session|weekly|hit your).{0,20} limit", re.IGNORECASE)
"""A subscription's limit holds for hours: no use to try again now."""
NO_WAY = re.compile(r"ECONNREFUSED|ENOTFOUND|EAI_AGAIN|CERT_|certificate", re.IGNORECASE)
ENDINGS = {
    "error_max_turns": "it took too many turns",
    "error_max_budget_usd": "it reached its budget",
    "error_max_structured_output_retries": "no reply fitted the schema, however often it tried",
}
QUIETLY = {
    "CLAUDE_CODE_MAX_RETRIES": "1",  # by default it tries a wrong key for two minutes
    "MAX_STRUCTURED_OUTPUT_RETRIES": "2",  # by default it asks five times for a reply that fits, and all are paid
    "CLAUDE_CODE_SAFE_MODE": "1",  # no hooks, plugins, skills or CLAUDE.md of the person
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_ENABLE_TELEMETRY": "0",  # spans and logs would be one more way out
    "CLAUDE_CODE_DISABLE_THINKING": "1",  # a reply has little room, and thinking counts
    "DISABLE_AUTOUPDATER": "1",
    "MAX_THINKING_TOKENS": "0",
}
NESTED = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID")
"""Set inside a session of Claude Code, where Assay may well be run."""


def connect(settings: Settings, env: Mapping[str, str]) -> "ClaudeCli":
    """Connects to the program `claude` on the search path."""
    program = shutil.which(PROGRAM, path=env.get("PATH", ""))
    if program is None:
        raise ModelUnavailable("no program called claude is on the PATH; install Claude Code, or choose another judge")
    return ClaudeCli(program, settings, env)


def describe_model(settings: Settings, env: Mapping[str, str]) -> AbsentModel:
    """The model that would be asked, though the program may not be there."""
    where = shutil.which(PROGRAM, path=env.get("PATH", "")) or PROGRAM
    return AbsentModel(backend=ClaudeCli.backend, model=settings.name or MODEL, where=where)


class ClaudeCli:
    """A connection to Claude Code: one process for every call."""

    backend = "claude-cli"
    caches_from = None
    """Nothing to count on: what is cached is the program's own choice."""
    room = 1
    requests = 2
    """Asked once, and once more by the program itself where the reply does not fit, or is no call of its tool."""
    overhead = 1_000
    """Tokens that the program adds to every request, at most: measured 500."""

    def __init__(self, program: str, settings: Settings, env: Mapping[str, str]) -> None:
        self.where = program
        self.model = settings.name or MODEL
        self.timeout_s = settings.timeout_s
        self.env = {name: value for name, value in env.items() if name not in NESTED} | QUIETLY
        if settings.url:
            self.env["ANTHROPIC_BASE_URL"] = settings.url.rstrip("/").removesuffix("/v1")

    async def ask(self, question: Question) -> Answer:
        words = f"{question.material}\n\n{render_task(question, schema=True)}"
        with tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True) as scratch:
            try:
                out, err, code = await self.run_program(question, words, Path(scratch))
            except OSError as error:
                raise ModelUnavailable(f"{self.where} can't be run: {error.strerror}") from None
        return parse_output(out, err, code, question, self.model)

    async def run_program(self, question: Question, words: str, scratch: Path) -> tuple[bytes, bytes, int]:
        """One process, from its start to its end; however it ends, nothing of it is left running."""
        empty, temporary = scratch / "empty", scratch / "tmp"
        empty.mkdir()
        temporary.mkdir()
        env = {"TMPDIR": str(temporary), "CLAUDE_CODE_TMPDIR": str(temporary)}
        env["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = str(question.most_output)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            self.where,
            *self.build_arguments(question),
            cwd=empty,
            env=self.env | env,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self.timeout_s):
                out, err = await process.communicate(words.encode("utf-8", "replace"))
        except TimeoutError:
            raise ModelBusy(f"{PROGRAM} gave no answer within {self.timeout_s:g} s") from None
        finally:
            await kill_process_group(process)
        return out, err, process.returncode or 0

    def build_arguments(self, question: Question) -> list[str]:
        return [
            *("-p", "--output-format", "json", "--no-session-persistence", "--strict-mcp-config", "--tools", ""),
            *("--model", self.model, "--system-prompt", question.system),
            *("--json-schema", question.schema.decode("utf-8")),
        ]

    async def close(self) -> None:
        """Nothing is kept open."""


async def kill_process_group(process: asyncio.subprocess.Process) -> None:
    """Kills what may be left of a process and of those it started."""
    with suppress(ProcessLookupError, PermissionError):  # all gone; macOS says it the second way
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


# --- what it prints ---------------------------------------------------------------------------


class ModelSpend(Struct, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation_ephemeral_1h_input_tokens: int = msgspec.field(default=0, name="cacheCreationEphemeral1hInputTokens")


class CliTokens(Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class CliEnvelope(Struct, kw_only=True):
    """What we read of a result; versions differ in all but a few fields."""

    type: str
    is_error: bool = False
    subtype: str = ""
    result: str = ""
    structured_output: dict[str, Any] | None = None
    total_cost_usd: float | None = None
    usage: CliTokens = msgspec.field(default_factory=CliTokens)
    models: dict[str, ModelSpend] = msgspec.field(default_factory=dict, name="modelUsage")
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error: str | None = None
    api_error_status: int | None = None


def parse_output(out: bytes, err: bytes, code: int, question: Question, model: str) -> Answer:
    """The answer in what the program printed; raises the trouble that it tells of."""
    envelope = find_envelope(out)
    if envelope is None:
        said = sanitize_error((err or out).decode("utf-8", "replace"), question, "")
        if code > 0:
            raise ModelUnavailable(f"{PROGRAM} gave up (exit code {code}){f': {said}' if said else ''}")
        raise ModelBusy(f"{PROGRAM} printed no result")
    answer = build_answer(envelope, model)
    if not envelope.is_error and envelope.subtype in ("success", ""):
        return answer
    raise build_error(envelope, answer, question)


def find_envelope(out: bytes) -> CliEnvelope | None:
    """The last result among what was printed: one object, a list of messages, or one message in a line."""
    for text in (out, *reversed(out.splitlines())):
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        messages = found if isinstance(found, list) else [found]
        for message in reversed(messages):
            if isinstance(message, dict) and message.get("type") == "result":
                try:
                    return msgspec.convert(message, CliEnvelope)
                except msgspec.ValidationError:
                    return None
    return None


def build_answer(envelope: CliEnvelope, model: str) -> Answer:
    """What was said and spent; `result` repeats the structured output, or stands in for it."""
    if envelope.structured_output is not None:
        text = msgspec.json.encode(envelope.structured_output).decode()
    else:
        text = strip_fence(envelope.result)
    names = sorted(envelope.models, key=lambda name: -envelope.models[name].output_tokens)
    return Answer(
        text=text,
        usage=build_usage(envelope),
        model=names[0] if names else model,
        cost_usd=envelope.total_cost_usd,
    )


def build_usage(envelope: CliEnvelope) -> Usage:
    """Tokens of all requests; the plain usage leaves out those of attempts that came to nothing."""
    if not envelope.models:
        plain = envelope.usage
        return Usage(
            input=plain.input_tokens,
            output=plain.output_tokens,
            cache_read=plain.cache_read_input_tokens,
            cache_write=plain.cache_creation_input_tokens,
        )
    spent = envelope.models.values()
    return Usage(
        input=sum(one.input_tokens for one in spent),
        output=sum(one.output_tokens for one in spent),
        cache_read=sum(one.cache_read_input_tokens for one in spent),
        cache_write=sum(one.cache_creation_input_tokens for one in spent),
        cache_write_1h=sum(one.cache_creation_ephemeral_1h_input_tokens for one in spent),
    )


def build_error(envelope: CliEnvelope, answer: Answer, question: Question) -> ModelError:
    """Which trouble an error is."""
    if ending := ENDINGS.get(envelope.subtype):
        return PaidRefusal(f"{PROGRAM} ended without an answer: {ending}", answer)
    if envelope.stop_reason == "refusal":
        return PaidRefusal("the model declined to answer", answer)
    if envelope.api_error == "max_output_tokens":
        return PaidRefusal(f"the reply was cut off at {question.most_output} tokens", answer)
    said = sanitize_error(envelope.result, question, "")
    if envelope.terminal_reason == "prompt_too_long":
        return ModelRefused(f"too long for {PROGRAM}: {said}")
    if envelope.api_error == "connection_failed" and NO_WAY.search(envelope.result):
        return ModelUnavailable(f"{PROGRAM} can't reach its service: {said}")
    if USED_UP.search(envelope.result):
        return ModelUnavailable(f"{PROGRAM}: {said}")
    told = STATUS.search(envelope.result)
    if status := envelope.api_error_status or (int(told[1]) if told else None):
        return build_status_error(status, said, {}, PROGRAM, ACCESS)
    if NO_LOGIN.search(envelope.result):
        return ModelUnavailable(f"{PROGRAM} is not logged in; {ACCESS}")
    return ModelBusy(f"{PROGRAM} failed: {said}")
