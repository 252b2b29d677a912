"""Codex in `exec` mode; in our sandbox its own one would only stand in the way, and elsewhere it is kept."""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from assay.evals import runners

PROGRAM = "codex"
HOSTS = ("api.openai.com:443", "chatgpt.com:443", "auth.openai.com:443")
ADDRESS = ("OPENAI_BASE_URL",)
TRANSCRIPTS = ("home/.codex/sessions", "rollout-*.jsonl")
SERVICE = re.compile(
    r"\b(?:40[13]|408|429|5\d\d)\b|stream disconnected|error sending request|connection (?:failed|refused|reset)|"
    r"timed? ?out|at capacity|overloaded|usage limit|rate limit|unauthorized|"
    r"not logged in|missing environment variable",
    re.IGNORECASE,
)
AGENT = re.compile(r"context window|context length|\b400\b|content policy|invalid_prompt", re.IGNORECASE)


def build_launch(given: runners.AgentTask) -> runners.Launch:
    model = ("-m", given.config.model) if given.config.model else ()
    sandbox = "danger-full-access" if given.is_sandboxed else "workspace-write"
    argv = (
        given.program,
        "exec",
        "--json",
        "--skip-git-repo-check",
        "-s",
        sandbox,
        "-c",
        "check_for_update_on_startup=false",
    )
    return runners.Launch(argv=(*argv, *model, *given.config.args, "-"), stdin=given.prompt)


def explain_trouble(left: runners.AgentOutput) -> str:
    said = list(read_events(left.stdout))
    failed = [text for kind, text in said if kind in ("turn.failed", "error")]
    is_done = any(kind == "turn.completed" for kind, _ in said)
    if left.ended.ended == "timeout":
        waits = bool(said) and said[-1][0] == "error" and SERVICE.search(said[-1][1])
        return f"its service did not answer: {said[-1][1][:200]}" if waits else ""
    if is_done or left.ended.ended != "exit" or not left.ended.code:
        return ""
    why = failed[-1] if failed else ""
    if why and SERVICE.search(why) and not AGENT.search(why):
        return f"its service could not be used: {why[:200]}"
    if not any(kind == "turn.started" for kind, _ in said):
        return f"it ended with {left.ended.code}: {left.stderr.decode('utf-8', 'replace').strip()[-300:]}"
    return ""


def read_events(out: bytes) -> Iterator[tuple[str, str]]:
    """Kind and message of each event that the agent printed."""
    for line in out.splitlines():
        try:
            found = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        if isinstance(found, dict):
            error = found.get("error")
            inner = error.get("message", "") if isinstance(error, dict) else ""
            yield str(found.get("type", "")), str(found.get("message") or inner)


def find_instructions(records: Iterable[Mapping[str, object]]) -> Iterator[runners.Instruction]:
    for record in records:
        payload = record.get("payload")
        state = payload.get("state") if record.get("type") == "world_state" and isinstance(payload, dict) else None
        if not isinstance(state, dict):
            continue
        instructions, skills = state.get("agents_md"), state.get("host_skills")
        if isinstance(instructions, dict):
            yield runners.Instruction(text=str(instructions.get("text", "")))
        if isinstance(skills, dict):
            yield runners.Instruction(text=str(skills.get("body", "")))
