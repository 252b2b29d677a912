"""What machines read: JSON with a `schema_version`; a field is never renamed without a new one."""

from collections.abc import Sequence
from typing import Any

from msgspec import Raw, Struct

from assay.reports.safe import encoded
from assay.types import LedgerLine, Session, Stream, StreamSummary, Turn

SCHEMA_VERSION = 1
KEYS = ("key", "of")
MASK = (1 << 64) - 1


class Lines(Struct, kw_only=True):
    total: int
    read: int
    skipped: int


class Skip(Struct, kw_only=True):
    file: str
    line: int | None
    """`None`: the whole file."""
    why: str


class StreamView(Struct, kw_only=True):
    """A stream as listed."""

    id: str
    agent: str
    file: str
    files: int
    project: str
    branch: str
    title: str
    began_at: str
    ended_at: str
    prompts_at: Raw
    turns: int
    is_gone: bool
    facts: Raw


class ScanView(Struct, kw_only=True):
    """What this run had to do."""

    seconds: float
    bytes_read: int
    new: int
    changed: int
    gone: int


class StreamsView(Struct, kw_only=True):
    """`assay streams --json`."""

    schema_version: int = SCHEMA_VERSION
    files: int
    lines: Lines
    skipped: list[Skip]
    scan: ScanView
    streams: list[StreamView]


class StreamDetail(Struct, kw_only=True):
    """`assay show STREAM --json`."""

    schema_version: int = SCHEMA_VERSION
    stream: StreamView
    files: tuple[str, ...]
    sessions: list[str]
    """Ids of the sessions that stand in it, wholly or in part."""
    turns: list[Any]


class SessionsView(Struct, kw_only=True):
    """`assay sessions --json`."""

    schema_version: int = SCHEMA_VERSION
    sessions: Sequence[Session]
    ledger: Sequence[LedgerLine]


class SessionDetail(Struct, kw_only=True):
    """`assay show SESSION --json`."""

    schema_version: int = SCHEMA_VERSION
    session: Session
    turns: list[Any]


def stream_view(one: StreamSummary) -> StreamView:
    return StreamView(
        id=one.id,
        agent=one.agent,
        file=one.file,
        files=one.files,
        project=one.project,
        branch=one.branch,
        title=one.title,
        began_at=one.began_at,
        ended_at=one.ended_at,
        prompts_at=Raw(one.prompts_at),
        turns=one.turns,
        is_gone=one.is_gone,
        facts=Raw(one.facts),
    )


def skips(listed: Sequence[tuple[str, int, str]]) -> list[Skip]:
    """Skips with `None` for those that mean the whole file."""
    return [Skip(file=path, line=line or None, why=why) for path, line, why in listed]


def detail(one: StreamSummary, stream: Stream, sessions: Sequence[str] = ()) -> bytes:
    """One stream with its turns."""
    turns = [in_full(turn) for turn in stream.turns]
    found = StreamDetail(stream=stream_view(one), files=stream.files, sessions=list(sessions), turns=turns)
    return encoded(found)


def sessions(listed: Sequence[Session], ledger: Sequence[LedgerLine]) -> bytes:
    """Sessions and what the ledger says of them."""
    return encoded(SessionsView(sessions=listed, ledger=ledger))


def session_detail(one: Session, turns: Sequence[Turn]) -> bytes:
    """One session with its turns; citations count them from 1."""
    return encoded(SessionDetail(session=one, turns=[in_full(turn) for turn in turns]))


def in_full(value: Any) -> Any:
    """A value with all its fields, those left out when it is stored included; keys as text, for they exceed 2^53.

    Hashes of lines (bytes) are left out.
    """
    if isinstance(value, Struct):
        named = ((name, getattr(value, name)) for name in value.__struct_fields__)
        fields = {name: in_full(field) for name, field in named if not isinstance(field, bytes)}
        return fields | {name: f"{fields[name] & MASK:016x}" for name in KEYS if name in fields}
    return [in_full(item) for item in value] if isinstance(value, tuple) else value
