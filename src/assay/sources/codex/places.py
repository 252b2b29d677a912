"""Where rollouts lie, and how one is told from other JSON lines."""

import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

TYPES = frozenset(
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
LINES = 20
"""A damaged first line must not hide a rollout, so a few more are looked at."""

_CUT_TYPE = re.compile(rb'"type"\s*:\s*"(' + "|".join(sorted(TYPES)).encode() + rb')"')
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
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", LINES)
    *whole, rest = lines
    return any(map(_is_record, whole)) or _is_record(rest) or (len(lines) <= LINES and _is_cut_record(rest))


def _is_record(line: bytes) -> bool:
    try:
        record = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return record.type in TYPES and bytes(record.payload).lstrip()[:1] == b"{"


def _is_cut_record(line: bytes) -> bool:
    """The one long line (instructions in the first record) that the 64 KB ended in the middle of."""
    payload = _CUT_PAYLOAD.search(line)
    if payload is None or line.lstrip()[:1] != b"{" or b"{" in line[: payload.start()].lstrip()[1:]:
        return False
    before = line[: payload.start()]
    # Keys may come in any order: a type that is not before the payload may lie after the cut.
    return bool(_CUT_TYPE.search(before)) or (b'"type"' not in before and bool(_CUT_META.search(line)))
