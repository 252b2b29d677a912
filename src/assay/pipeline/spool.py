"""What Claude Code told our hooks, as the plugin kept it: one file per event, read once and then gone.

The transcript is the truth. Of a conversation whose transcript is read, only its end is noted: a session that was left
is not going on any more. One whose transcript is nowhere is told by its events, like any telemetry.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.clock import parse_time
from assay.files import find_state_folder, write_atomically
from assay.pipeline.inputs import FoundFiles, spell_path
from assay.stores import Store
from assay.telemetry.values import to_time
from assay.types import TelemetryRecord
from assay.types.telemetry import CLAUDE_CODE, CODEX, HOOK
from assay.types.value import to_text

SPOOL, FULL, ENDED, SERVER = "spool", "full", ".ended", "server.json"
LARGEST = 1 << 20
"""Bytes of one event; the hook itself keeps far less."""
MOST_AT_ONCE = 500
LONGEST_ID = 100
REMEMBERED = timedelta(hours=1)
"""For how long the end of a conversation is remembered: much longer than one may be silent and still go on."""
PART_AGE_S = 3600
UUID_END = 36 + len(".jsonl")
SESSION_END, CODEX_TURN = "SessionEnd", "CodexTurn"
ENDS = msgspec.json.Decoder(dict[str, str])


class SpooledEvent(Struct, frozen=True):
    """What a hook was told, and when."""

    path: Path
    order: int
    payload: dict[str, Any]

    @property
    def name(self) -> str:
        return to_text(self.payload.get("hook_event_name")) or self.path.suffix[1:]

    @property
    def conversation(self) -> str:
        return to_text(self.payload.get("session_id")) or to_text(self.payload.get("thread-id"))

    @property
    def agent(self) -> str:
        return CODEX if self.name == CODEX_TURN else CLAUDE_CODE

    @property
    def at(self) -> str:
        return to_time(self.order)


class TakenSpool(Struct, frozen=True, kw_only=True):
    """What became of the events of a spool."""

    kept: int = 0
    """Of conversations that nothing else tells of."""
    told: int = 0
    """Of conversations whose transcript tells it."""
    unreadable: int = 0


def find_spool(env: Mapping[str, str]) -> Path:
    """Where the plugin's hooks keep what they are told."""
    return find_state_folder(env) / SPOOL


def take_spool(store: Store, found: FoundFiles, env: Mapping[str, str]) -> TakenSpool:
    """Take what hooks kept into a store, and note which conversations ended; events for a server are left to it."""
    spool = find_spool(env)
    events = list(read_spool(spool))
    note_ends(spool, [one for one in events if one.name == SESSION_END])
    if not events or has_server(env):
        return TakenSpool()
    kept = told = unreadable = 0
    there = {one.name for one in found.files}
    for start in range(0, len(events), MOST_AT_ONCE):
        some = events[start : start + MOST_AT_ONCE]
        usable = [one for one in some if 0 < len(one.conversation) <= LONGEST_ID]
        alone = find_untold(store, there, usable)
        store.telemetry.save_records([build_record(one) for one in alone])
        drop_events(one.path for one in some)
        kept += len(alone)
        told += len(usable) - len(alone)
        unreadable += len(some) - len(usable)
    reopen_spool(spool)
    return TakenSpool(kept=kept, told=told, unreadable=unreadable)


def read_spool(spool: Path) -> Iterator[SpooledEvent]:
    """The events in a spool, by time; one that can't be read has nothing in it."""
    found = []
    with suppress(OSError):  # no spool, or not ours to read
        for entry in os.scandir(spool):
            if not entry.name.startswith(".") and entry.name != FULL and entry.is_file(follow_symlinks=False):
                with suppress(OSError):  # somebody else took it
                    found.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    for order, path in sorted(found):
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                content = file.read(LARGEST)
        except FileNotFoundError:
            continue
        except OSError:
            content = b""
        yield SpooledEvent(Path(path), order, parse_payload(content))


def parse_payload(content: bytes) -> dict[str, Any]:
    """What an event says; of one that was cut off, all fields that are whole."""
    for text in (content, content[: find_last_whole(content)] + b"}"):
        with suppress(msgspec.DecodeError, UnicodeError, RecursionError):
            found = msgspec.json.decode(text)
            return found if isinstance(found, dict) else {}
    return {}


def find_last_whole(content: bytes) -> int:
    """Where the last whole field of a JSON object ends, of which the end is missing."""
    depth, end = 0, 0
    is_text = is_escaped = False
    for at, byte in enumerate(content):
        if is_text:
            is_text = is_escaped or byte != ord('"')
            is_escaped = not is_escaped and byte == ord("\\")
        elif byte == ord('"'):
            is_text = True
        elif byte in b"{[":
            depth += 1
        elif byte in b"}]":
            depth -= 1
        elif byte == ord(",") and depth == 1:
            end = at
    return end


def find_untold(store: Store, there: set[str], events: Sequence[SpooledEvent]) -> list[SpooledEvent]:
    """Events of conversations whose transcript is neither there nor was read before.

    Codex names its conversation in the name of its rollout, and writes that before it tells of a turn.
    """
    rollouts = {name[-UUID_END : -len(".jsonl")] for name in there if "rollout-" in name}
    events = [one for one in events if one.agent != CODEX or one.conversation not in rollouts]
    paths = {
        path: spell_path(os.path.realpath(path))
        for one in events
        if (path := to_text(one.payload.get("transcript_path")))
    }
    missing = sorted(set(paths.values()) - there)
    known = store.transcripts.find_files(missing) if missing else {}
    told = {path for path, name in paths.items() if name in there or name in known}
    return [one for one in events if to_text(one.payload.get("transcript_path")) not in told]


def build_record(event: SpooledEvent) -> TelemetryRecord:
    """An event as telemetry has it: the file it was kept in is its identity, so that it counts once."""
    identity = f"{event.path.name}\n{event.order}\n{event.conversation}".encode("utf-8", "surrogatepass")
    return TelemetryRecord(
        id=blake2b(identity, digest_size=16).hexdigest(),
        agent=event.agent,
        conversation=event.conversation,
        name=f"{HOOK}{event.name}"[:100],
        at=event.at,
        order=event.order,
        attributes=flatten_payload(event.payload),
        resource={"service.name": event.agent},
    )


def flatten_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as attributes: what is no plain value becomes JSON."""
    return {
        name: value if isinstance(value, str | bool | int | float) else msgspec.json.encode(value).decode()
        for name, value in payload.items()
        if value is not None
    }


def drop_events(paths: Iterable[Path]) -> None:
    for path in paths:
        with suppress(OSError):
            path.unlink()


def reopen_spool(spool: Path) -> None:
    """Let hooks keep events again, and clear away what those left that were killed while they wrote."""
    with suppress(OSError):
        (spool / FULL).unlink(missing_ok=True)
        old = datetime.now(UTC).timestamp() - PART_AGE_S
        for entry in os.scandir(spool):
            is_part = entry.name.startswith(".") and entry.name != ENDED
            if is_part and entry.is_file(follow_symlinks=False) and entry.stat().st_mtime < old:
                Path(entry.path).unlink(missing_ok=True)


def has_server(env: Mapping[str, str]) -> bool:
    """Whether events are delivered to a server."""
    return (find_state_folder(env) / SERVER).exists()


# --- which conversations ended ------------------------------------------------------------------


def note_ends(spool: Path, ended: Sequence[SpooledEvent]) -> None:
    """Remember for a while when conversations ended."""
    if not ended:
        return
    known = read_ends(spool) | {one.conversation: one.at for one in ended if len(one.conversation) <= LONGEST_ID}
    since = datetime.now(UTC) - REMEMBERED
    fresh = {name: at for name, at in known.items() if (when := parse_time(at)) and when >= since}
    with suppress(OSError):  # a full disk: they are noted next time, or their silence tells
        write_atomically(spool / ENDED, msgspec.json.encode(fresh))


def read_ends(spool: Path) -> dict[str, str]:
    try:
        return ENDS.decode((spool / ENDED).read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeError):
        return {}


def load_ends(env: Mapping[str, str], now: datetime) -> dict[str, str]:
    """Conversations that ended a short while before a time, and when."""
    found = read_ends(find_spool(env))
    return {name: at for name, at in found.items() if (when := parse_time(at)) and now - REMEMBERED <= when <= now}
