"""What machines read: JSON with a `schema_version`; a field is never renamed without a new one."""

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from assay.types import Stream, Summary, Turn

SCHEMA_VERSION = 1


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
    turns: tuple[Turn, ...]


def stream_view(one: Summary) -> StreamView:
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


def detail(one: Summary, stream: Stream) -> bytes:
    """One stream with its turns."""
    return msgspec.json.encode(StreamDetail(stream=stream_view(one), files=stream.files, turns=stream.turns))
