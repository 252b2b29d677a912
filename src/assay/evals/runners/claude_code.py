"""Claude Code in print mode. Its permissions are those of somebody who lets it edit and run, never skipped ones."""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct

from assay.evals import runners

PROGRAM = "claude"
HOSTS = ("api.anthropic.com:443",)
ADDRESS = ("ANTHROPIC_BASE_URL",)
TRANSCRIPTS = ("home/.claude/projects", "*.jsonl")
TOOLS = "Bash,Edit,Write,NotebookEdit,Read,Glob,Grep,Skill,Task,Agent,TodoWrite,WebFetch,WebSearch"
ENV = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_ENABLE_TELEMETRY": "0",
    "CLAUDE_CODE_MAX_RETRIES": "4",  # a wrong key is otherwise tried for two minutes
    "DISABLE_AUTOUPDATER": "1",
}
OUR_FAULT = (401, 403, 404, 408, 429)
"""Statuses of its service that say nothing of the agent; so do all from 500 on."""
NOT_REACHED = (
    "connection_failed",
    "authentication_failed",
    "rate_limit",
    "overloaded",
    "server_error",
    "billing_error",
)
LOGIN = re.compile(r"not logged in|invalid api key|please run /login|credit balance", re.IGNORECASE)


class ResultEnvelope(Struct, frozen=True, kw_only=True):
    """What it prints at the end; only the first three fields are there in every version."""

    type: str = ""
    is_error: bool = False
    result: str = ""
    api_error_status: int | None = None
    api_error: str | None = None
    terminal_reason: str | None = None


def build_launch(given: runners.AgentTask) -> runners.Launch:
    model = ("--model", given.config.model) if given.config.model else ()
    argv = (given.program, "-p", "--output-format", "json", "--permission-mode", "acceptEdits", "--allowedTools", TOOLS)
    return runners.Launch(argv=(*argv, *model, *given.config.args), env=ENV, stdin=given.prompt)


def explain_trouble(left: runners.AgentOutput) -> str:
    if left.ended.ended == "timeout":
        return "its service did not answer" if is_retrying(left.records) else ""
    said = find_envelope(left.stdout)
    if said is None:
        words = left.stderr.decode("utf-8", "replace").strip()[-300:]
        is_silent = left.ended.code and not any(True for _ in left.records)
        return f"it ended with {left.ended.code} and no result: {words}" if is_silent else ""
    if not said.is_error:
        return ""
    status = said.api_error_status
    if status is not None and (status in OUR_FAULT or status >= 500):
        return f"its service answered {status}: {said.result[:200]}"
    if said.api_error in NOT_REACHED or (status is None and LOGIN.search(said.result)):
        return f"its service could not be used: {said.result[:200]}"
    return ""


def find_envelope(out: bytes) -> ResultEnvelope | None:
    """The last result that the agent printed."""
    for line in reversed(out.splitlines()):
        try:
            found = msgspec.json.decode(line, type=ResultEnvelope)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if found.type == "result":
            return found
    return None


def is_retrying(records: Iterable[Mapping[str, object]]) -> bool:
    """Whether the last thing that happened is that a request was sent again."""
    last = False
    for one in records:
        is_error = (one.get("type"), one.get("subtype")) == ("system", "api_error")
        last = is_error or (last and one.get("type") not in ("assistant", "user"))
    return last


def find_instructions(records: Iterable[Mapping[str, object]]) -> Iterator[runners.Instruction]:
    for record in records:
        attached = record.get("attachment")
        if not isinstance(attached, dict):
            continue
        if attached.get("type") == "skill_listing":
            yield runners.Instruction(text=str(attached.get("content", "")))
        several = attached.get("files") if attached.get("type") == "instructions" else None
        one = attached.get("content") if attached.get("type") == "nested_memory" else None
        for file in [*(several if isinstance(several, list) else []), *([one] if isinstance(one, dict) else [])]:
            if isinstance(file, dict):
                yield runners.Instruction(path=str(file.get("path", "")), text=str(file.get("content", "")))
