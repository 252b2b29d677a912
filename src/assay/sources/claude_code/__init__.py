"""Claude Code transcripts: `~/.claude/projects/<folder>/<session id>.jsonl`, sub-agents beside them.

- `records`: what is read of a line;
- `reader`: records to events;
- `prompts`: which records a person wrote, and what they said;
- `tools`: tool calls and their results;
- `telemetry`: what its OpenTelemetry tells;
- `hooks`: what it tells its hooks.

Takes records, gives the events of `assay.types`; imports nothing else of ours.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from assay.sources.claude_code.reader import Reader
from assay.sources.claude_code.records import Record
from assay.sources.claude_code.telemetry import read_telemetry

__all__ = ["AGENT", "VERSION", "Reader", "Record", "claims", "read_telemetry", "roots"]

AGENT = "claude-code"
VERSION = 5

ENVELOPE = re.compile(rb'"(?:sessionId|leafUuid|snapshot|isSidechain|parentUuid)"\s*:')
TYPE = re.compile(
    rb'"type"\s*:\s*"(?:user|assistant|system|summary|progress|attachment|queue-operation|mode|'
    rb"file-history-snapshot|file-history-delta|permission-mode|last-prompt|ai-title|custom-title|"
    rb'agent-name|pr-link|bridge-session|atis-latch|tools-used|cost-state|api-request[a-z-]*)"'
)

OTHERS = re.compile(rb'"message"\s*:\s*\{\s*"role"\s*:\s*"(?:user|model)"\s*,\s*"parts"|"systemPayload"\s*:\s*\{')
"""Qwen Code has nearly the same envelope."""


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """`projects` in each of `CLAUDE_CONFIG_DIR` (a comma may part several), else in the usual two places."""
    configured = [
        Path(part.strip()).expanduser() for part in env.get("CLAUDE_CONFIG_DIR", "").split(",") if part.strip()
    ]
    folders = configured or [home / ".claude", home / ".config" / "claude"]
    return [folder / "projects" for folder in folders]


def claims(head: bytes) -> bool:
    """Whether the first line that has a record type has Claude Code's envelope too."""
    for line in head.split(b"\n")[:20]:
        if line.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" and TYPE.search(line) and ENVELOPE.search(line):
            return (b'"payload"' not in line[:200] or b'"sessionId"' in line) and not OTHERS.search(line)
    return False
