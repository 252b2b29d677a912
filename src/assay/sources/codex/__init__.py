"""Codex rollouts: `$CODEX_HOME/sessions/**/rollout-*.jsonl`, every line `{timestamp, type, payload}`.

- `records`: what a line is decoded into;
- `reader`: records to events;
- `ledger`: tool calls, and the later records that say how they ended;
- `outputs`: what a tool's output says of its end;
- `tools`: what a tool call is about, and the lines that a patch changes;
- `scripts`: tool calls inside the JavaScript of `exec`;
- `telemetry`: what its OpenTelemetry tells.

Takes records, gives the events of `assay.types`; imports nothing else of ours. Known from cli 0.40 to 0.166.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from assay.sources.codex.reader import Reader
from assay.sources.codex.records import Record
from assay.sources.codex.telemetry import read_telemetry

AGENT = "codex"
VERSION = 6

__all__ = ["AGENT", "VERSION", "Reader", "Record", "claims", "read_telemetry", "roots"]


RECORD_TYPES = frozenset(
    {
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
        "world_state",
        "token_usage_record",
        "inter_agent_communication_metadata",
    }
)
LINES_LOOKED_AT = 20
"""A damaged first line must not hide a rollout, so a few more are looked at."""

_CUT_TYPE = re.compile(rb'"type"\s*:\s*"(' + "|".join(sorted(RECORD_TYPES)).encode() + rb')"')
_CUT_PAYLOAD = re.compile(rb'"payload"\s*:\s*\{')
_CUT_META = re.compile(rb'"(?:cli_version|originator|base_instructions)"\s*:')


class _Head(msgspec.Struct):
    timestamp: str
    type: str
    payload: msgspec.Raw


_DECODER = msgspec.json.Decoder(_Head)


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """Folders in which Codex keeps its rollouts."""
    place = env.get("CODEX_HOME", "")
    top = Path(place) if place else home / ".codex"
    return [top / "sessions", top / "archived_sessions"]


def claims(head: bytes) -> bool:
    """Whether these first bytes of a file look like a rollout."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", LINES_LOOKED_AT)
    *whole, rest = lines
    return any(map(_is_record, whole)) or _is_record(rest) or (len(lines) <= LINES_LOOKED_AT and _is_cut_record(rest))


def _is_record(line: bytes) -> bool:
    """Whether a line is a whole record of a rollout."""
    try:
        record = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return record.type in RECORD_TYPES and bytes(record.payload).lstrip()[:1] == b"{"


def _is_cut_record(line: bytes) -> bool:
    """Whether a line is a record that the 64 KB ended in the middle of: instructions make the first one long."""
    payload = _CUT_PAYLOAD.search(line)
    if payload is None or line.lstrip()[:1] != b"{" or b"{" in line[: payload.start()].lstrip()[1:]:
        return False
    before = line[: payload.start()]
    # Keys may come in any order: a type that is not before the payload may lie after the cut.
    return bool(_CUT_TYPE.search(before)) or (b'"type"' not in before and bool(_CUT_META.search(line)))
