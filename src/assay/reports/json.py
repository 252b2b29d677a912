"""What machines read: documents, each a JSON object with its `kind` and `schema_version`."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from assay.reports.format import format_resume
from assay.types import Document, LedgerLine, Session, Stream, StreamSummary, Turn

KEYS = ("key", "of")
STREAMED = ("sessions", "ledger")
"""Fields of a report that stand one behind the other and may be long."""
MASK = (1 << 64) - 1
OBEYED = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""What JSON may hold as it is, though a terminal or an editor would act on it."""


class ReadLines(Struct, kw_only=True):
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


class StreamsView(Document, frozen=True, kw_only=True, tag="streams"):
    """`assay streams --json`."""

    files: int
    lines: ReadLines
    skipped: list[Skip]
    scan: ScanView
    streams: list[StreamView]


class StreamDetail(Document, frozen=True, kw_only=True, tag="stream"):
    """`assay show STREAM --json`."""

    stream: StreamView
    files: tuple[str, ...]
    resume: str
    """The agent's own command that goes on with it; empty where there is none."""
    sessions: list[str]
    """Ids of the sessions that stand in it, wholly or in part."""
    turns: list[Any]


class SessionsView(Document, frozen=True, kw_only=True, tag="sessions"):
    """`assay sessions --json`."""

    sessions: Sequence[Session]
    ledger: Sequence[LedgerLine]


class TranscriptPlace(Struct, frozen=True, kw_only=True):
    """Where a stream is kept, and how to go on with it."""

    stream: str
    file: str
    is_gone: bool
    resume: str
    """The agent's own command; empty where there is none."""


class SessionDetail(Document, frozen=True, kw_only=True, tag="session"):
    """`assay show SESSION --json`."""

    session: Session
    transcripts: Sequence[TranscriptPlace]
    turns: list[Any]


def build_stream_view(one: StreamSummary) -> StreamView:
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


def build_skips(listed: Sequence[tuple[str, int, str]]) -> list[Skip]:
    """Skips with `None` for those that mean the whole file."""
    return [Skip(file=path, line=line or None, why=why) for path, line, why in listed]


def build_stream(one: StreamSummary, stream: Stream, sessions: Sequence[str] = ()) -> StreamDetail:
    """One stream with its turns."""
    return StreamDetail(
        stream=build_stream_view(one),
        files=stream.files,
        resume=build_place(one).resume,
        sessions=list(sessions),
        turns=[expand_fields(turn) for turn in stream.turns],
    )


def build_place(one: StreamSummary) -> TranscriptPlace:
    """Where a stream is kept."""
    resume = "" if one.is_gone else format_resume(one)
    return TranscriptPlace(stream=one.id, file=one.file, is_gone=one.is_gone, resume=resume)


def build_session(one: Session, turns: Sequence[Turn], places: Sequence[TranscriptPlace]) -> SessionDetail:
    """One session with its turns; citations count them from 1."""
    return SessionDetail(session=one, transcripts=places, turns=[expand_fields(turn) for turn in turns])


def expand_fields(value: Any) -> Any:
    """A value with all its fields, those left out when it is stored included; keys as text, for they exceed 2^53.

    Hashes of lines (bytes) are left out.
    """
    if isinstance(value, Struct):
        named = ((name, getattr(value, name)) for name in value.__struct_fields__)
        fields = {name: expand_fields(field) for name, field in named if not isinstance(field, bytes)}
        return fields | {name: f"{fields[name] & MASK:016x}" for name in KEYS if name in fields}
    return [expand_fields(item) for item in value] if isinstance(value, tuple) else value


class EncodedRows(Protocol):
    """Rows that are JSON already, somewhere else than in memory."""

    def list_encoded(self) -> Iterator[bytes]: ...


def encode_document(document: Document) -> Iterator[bytes]:
    """A document as JSON in parts: rows that are kept somewhere else pass through one by one."""
    rows: list[tuple[str, Any]] = [(name, getattr(document, name, ())) for name in STREAMED]
    if not any(hasattr(one, "list_encoded") for _, one in rows):
        yield encode_json(document)
        return
    rest = encode_json(replace(document, **{name: () for name, _ in rows}))
    for name, some in rows:
        before, mark, rest = rest.rpartition(f'"{name}":['.encode()) if name == STREAMED[0] else rest.partition(b"[")
        yield before + mark
        yield from join_rows(some)
    yield rest


def join_rows(rows: EncodedRows | Sequence[Struct]) -> Iterator[bytes]:
    """Rows as JSON, with commas between them."""
    encoded = rows.list_encoded() if hasattr(rows, "list_encoded") else map(encode_json, rows)
    for n, row in enumerate(encoded):
        yield b"," + row if n else row


def encode_json(value: object) -> bytes:
    """JSON whose every control and direction mark is written out (`\\u202e`): the value is the same when it is read."""
    found = msgspec.json.encode(value)
    if found.isascii() and b"\x7f" not in found:
        return found
    return OBEYED.sub(lambda one: json.dumps(one[0])[1:-1].replace("\x7f", r"\u007f"), found.decode()).encode()
