"""Streams of a store, read and cut by hand."""

from pathlib import Path

from assay.pipeline.inputs import find_files
from assay.pipeline.scan import scan
from assay.stores import CutStream, Store, StoredSegment
from assay.testing.claude_code import build_conversation, write_lines
from assay.types import Boundary, Segment

BEGAN = Boundary(signal="conversation", confidence=1.0, evidence="a new conversation")
ONE, TWO = ("claude-code", "one"), ("claude-code", "two")
TURNS = ("0123456789ab", "ffffffffffff")


def write_streams(folder: Path) -> Path:
    """A folder with the transcripts of two streams."""
    for name in ("one", "two"):
        write_lines(folder / f"{name}.jsonl", *build_conversation(name, 2))
    return folder


def read(store: Store, folder: Path) -> None:
    scan(store, find_files([folder]), 1, lambda *_: None)


def segment(stream: str, n: int = 0) -> Segment:
    return Segment(
        id=f"{stream}{n}",
        agent="claude-code",
        stream=stream,
        project="/p",
        first=n,
        last=n,
        began_at=f"2026-03-02T09:00:{n:02}Z",
        ended_at="",
        boundary=BEGAN,
    )


def cut(store: Store, stream: str, *parts: StoredSegment, version: str = "v") -> CutStream:
    [found] = store.transcripts.list_stream_files([("claude-code", stream)])
    return CutStream(
        agent="claude-code",
        stream=stream,
        generation=found.generation,
        version=version,
        branch="main",
        segments=parts,
    )


def part(stream: str, n: int = 0, judged: bytes = b"{}") -> StoredSegment:
    return StoredSegment(segment=segment(stream, n), n=n, input=f"hash {n}", turns=TURNS, judged=judged)
