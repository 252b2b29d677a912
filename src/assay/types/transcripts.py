"""What stores keep of files and streams."""

from assay.types.events import SkippedLine
from assay.types.turns import Part
from assay.types.value import Row, Value


class ReadPosition(Value, frozen=True):
    """Where reading a file stopped, and how to tell that it still begins the same."""

    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    offset: int = 0
    """Behind the last line that was read."""
    anchor: bytes = b""
    """Hash of the first KB and of the last 4 KB before the offset, and a checksum of all between them."""
    is_mid_line: bool = False
    """The last record that was read had no newline yet."""


class FileState(Value, frozen=True):
    """All that is known of a file, as it is kept: reading goes on from it."""

    path: str
    source: str = ""
    """Name of the source that reads it; empty for a file that is no transcript."""
    version: str = ""
    """Of the source and of all facts."""
    place: ReadPosition = ReadPosition()
    lines_read: int = 0
    lines_skipped: int = 0
    bytes_read: int = 0
    """Bytes that this very reading took from the file."""
    skips: tuple[SkippedLine, ...] = ()
    tail: SkippedLine | None = None
    """A last line that is still being written; it is looked at again next time."""
    part: Part | None = None
    is_stream: bool = False
    """Anybody said or did anything in it."""
    is_continued: bool = False
    """Only new bytes were read, `bodies` holds only turns that changed."""
    bodies: tuple[tuple[int, str, bytes], ...] = ()
    """Number, time and encoded turn."""
    keys: bytes = b""
    """Its keys, each followed by how complete it is here, packed as 64-bit integers."""
    facts: bytes = b"{}"
    prompts_at: tuple[str, ...] = ()
    unknown: dict[str, int] = {}
    state: bytes = b""
    """What the reader and the turn builder remember."""


class KnownFile(Value, frozen=True):
    """A file that was read before."""

    id: int
    source: str
    version: str
    place: ReadPosition
    is_gone: bool = False


class StreamSummary(Value, frozen=True):
    """A stream as it is listed: its facts are JSON, established when it was last read."""

    id: str
    agent: str
    file: str
    files: int
    project: str
    branch: str
    title: str
    began_at: str
    ended_at: str
    prompts_at: bytes
    turns: int
    facts: bytes
    is_gone: bool
    """None of its files is there any more."""


class StoreFigures(Row, frozen=True, kw_only=True):
    """How much of what a store holds."""

    schema: str
    files: int
    streams: int
    turns: int
    segments: int
    answers: int
    corrections: int
    verdicts: int
    forgotten: int
    """Streams whose words were deleted."""
    first_at: str
    last_at: str
