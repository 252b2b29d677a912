"""One file to turns: what was read before is kept, only new bytes are read.

`FileState` is all that is known of a file. Give it back and reading goes on where it stopped: in
another process, on another day, with the same result as reading the file from its start. A file that is one
document (`packed_files`) is unpacked into records, and these are read like lines, all of them each time.
"""

import hashlib
import os
import zlib
from functools import cache
from io import BytesIO
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay import facts, sessions
from assay.pipeline.bundles import PlainStream
from assay.pipeline.packed_files import SQLITE, ZIP, OpenedFile, PackedFiles
from assay.pipeline.records import (
    LineFile,
    LineReader,
    LineSource,
    MalformedLine,
    RecordDecoder,
    decode_patiently,
    encode_cleanly,
)
from assay.sessions.turns import StreamTally, TurnBuilder
from assay.sources import Source, SourceReader, find_source, find_unpacker, list_in_document, load_sources
from assay.types import FileState, ReadPosition, SkippedLine, Turn
from assay.types.packed import MalformedFile

HEAD = 64 << 10
NOT_PLAIN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError)
"""What the fast decoder says of a line that is not simply one record; `TypeError` of one that is too long."""
ANCHOR_HEAD, ANCHOR_TAIL = 1 << 10, 4 << 10
MOST_UNPACKED = 1 << 30
MOST_SKIPS = 1_000
"""Skips that are listed one by one; the rest is only counted."""


class FileContent(Struct, frozen=True, kw_only=True):
    """What is known of a file, with its turns."""

    state: FileState
    turns: tuple[Turn, ...] = ()
    changed: frozenset[int] = frozenset()
    """Numbers of the turns that are new or other than before."""


class ReaderMemory(Struct):
    """The remembered state, as stored."""

    reader: msgspec.Raw
    tally: StreamTally


class PackedPart(Struct, frozen=True):
    """One of several that a file holds, and how the file lists it."""

    id: str = ""
    place: ReadPosition | None = None


def read_file(
    path: Path,
    before: FileContent | None = None,
    part: PackedPart = PackedPart(),  # noqa: B008
    packed: PackedFiles | None = None,
) -> FileContent:
    """Read a file, or what is new in it since `before`; of a file that holds several conversations, one."""
    with path.open("rb", buffering=0) as file:
        stat = os.fstat(file.fileno())
        place = part.place or ReadPosition(inode=stat.st_ino, size=stat.st_size, mtime_ns=stat.st_mtime_ns)
        if before is not None and can_continue(file, before.state, place):
            return FileReader(file, before).run(place)
        file.seek(0)
        head = file.read(HEAD)
        file.seek(0)
        state = FileState(path=str(path), source=find_source_name(head))
        if not state.source:
            return FileContent(state=skip_file(file, head, replace(state, place=place)))
        if not is_packed(head, path.name, find_source(state.source)):
            return FileReader(file, FileContent(state=state)).run(place)
    if packed is not None:
        return read_packed(packed, replace(state, place=place), part.id)
    with PackedFiles() as files:
        return read_packed(files, replace(state, place=place), part.id)


def is_packed(head: bytes, name: str, source: Source) -> bool:
    """Whether a file is one document to its source: no lines of JSON, or no more than one of them."""
    if not hasattr(source, "unpack") or head.startswith((SQLITE, ZIP)):
        return hasattr(source, "unpack")
    first, _, rest = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    is_record = first.startswith(b"{") and first.rstrip().endswith(b"}")
    return not is_record or not (name.endswith(".jsonl") or rest.lstrip().startswith(b"{"))


def read_packed(packed: PackedFiles, state: FileState, conversation: str) -> FileContent:
    """Read a document whole: what can't be unpacked is skipped, and says why."""
    source, now = find_source(state.source), state.place
    try:
        lines = BytesIO(pack_lines(source, packed, Path(state.path), conversation))
    except MalformedFile as error:
        skips = (SkippedLine(line=0, why=str(error)[:200]),)
        return FileContent(
            state=replace(state, source="", version=build_version(""), lines_skipped=1, skips=skips, place=now)
        )
    found = FileReader(lines, FileContent(state=state)).run(now)
    return replace(found, state=replace(found.state, place=now, bytes_read=now.size, state=b""))


def pack_lines(source: Source, packed: PackedFiles, path: Path, conversation: str) -> bytes:
    """The records of a document as lines; without a conversation, those of all that it holds."""
    try:
        return pack_opened(source, packed.open_file(path), conversation)
    except RecursionError:
        raise MalformedFile("nested too deeply") from None


def pack_opened(source: Source, opened: OpenedFile, conversation: str) -> bytes:
    """The same of a document that is open."""
    found = bytearray()
    try:
        for one in [conversation] if conversation else list_in_document(source, opened) or [""]:
            for record in find_unpacker(source)(opened, one):
                found += encode_cleanly(record) + b"\n"
                if len(found) > MOST_UNPACKED:
                    raise MalformedFile(f"a conversation larger than {MOST_UNPACKED >> 20} MB")
    except RecursionError:
        raise MalformedFile("nested too deeply") from None
    return bytes(found)


def build_version(source: str) -> str:
    """Changes when a file would be read, its turns folded or its facts established in another way."""
    read_by = f"{source}@{find_source(source).VERSION}" if source else "none"
    return f"{read_by};sessions@{sessions.VERSION};{facts.build_version()}"


def can_continue(file: LineFile, before: FileState, now: ReadPosition) -> bool:
    """Whether the file only grew since, and is read in the same way; a rewrite may well keep the size."""
    old = before.place
    if not before.source or not old.offset:
        return False
    return (
        before.version == build_version(before.source)
        and now.inode == old.inode
        and (now.size > old.size or (now.size, now.mtime_ns) == (old.size, old.mtime_ns))
        and hash_anchor(file, old.offset) == old.anchor
    )


def hash_anchor(file: LineFile, offset: int) -> bytes:
    """Hash of the file's first bytes and of those before an offset, and a checksum of all between them."""
    found = hashlib.blake2b(digest_size=16)
    file.seek(0)
    found.update(file.read(min(ANCHOR_HEAD, offset)))
    checked = sum_bytes(file, offset)
    file.seek(max(0, offset - ANCHOR_TAIL))
    found.update(file.read(min(ANCHOR_TAIL, offset)))
    return found.digest() + checked.to_bytes(4, "big")


def note_anchor(file: LineFile, place: ReadPosition) -> ReadPosition:
    """A place from which reading can go on."""
    return replace(place, anchor=hash_anchor(file, place.offset))


def sum_bytes(file: LineFile, offset: int) -> int:
    """The CRC of what stands between the head and an offset: at 4 GB/s, reading old bytes costs next to nothing."""
    found, left = 0, max(0, offset - ANCHOR_HEAD)
    block = memoryview(bytearray(min(left, 1 << 20)))
    while left and (got := file.readinto(block[:left])):
        found = zlib.crc32(block[:got], found)
        left -= got
    return found


def find_source_name(head: bytes) -> str:
    """Name of the source whose format a file that begins so has."""
    return next((name for name, one in load_sources().items() if one.claims(head)), "")


def skip_file(file: LineSource, head: bytes, state: FileState) -> FileState:
    """Count the lines of a file that nobody reads: all are skipped, for one reason."""
    total = read = last = 0
    block = bytearray(1 << 20)
    while got := file.readinto(block):
        total += block.count(b"\n", 0, got)
        read, last = read + got, block[got - 1]
    total += bool(read) and last != 10
    why = explain_no_transcript(head) if read else "an empty file"
    skips = (SkippedLine(line=0, why=why),)
    return replace(state, version=build_version(""), lines_skipped=total, bytes_read=read, skips=skips)


def explain_no_transcript(head: bytes) -> str:
    """What a file is that is no transcript, as far as its first bytes tell."""
    if head.startswith(b"\x1f\x8b"):
        return "gzip data, not a transcript; unpack it first"
    if head.startswith((b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")):
        return "an archive, not a transcript; unpack it first"
    if b"\x00" in head:
        return "binary data, not a transcript"
    return "not a transcript of any agent that is known here"


@cache
def build_decoder(name: str) -> msgspec.json.Decoder[object]:
    """The fast decoder of a source's records."""
    return msgspec.json.Decoder(find_source(name).Record)


class FileReader:
    """Reads one file from where `before` stopped."""

    def __init__(self, file: LineFile | PlainStream, content: FileContent) -> None:
        before = content.state
        self.file = file
        self.source = find_source(before.source)
        self.before = before
        self.reader: SourceReader = self.source.Reader()
        tally = None
        if before.state:
            memory = msgspec.msgpack.decode(before.state, type=ReaderMemory)
            self.reader = msgspec.msgpack.decode(memory.reader, type=self.source.Reader)
            tally = memory.tally
        self.builder = TurnBuilder(tally, content.turns)
        half = before.tail is not None and before.place.is_mid_line
        self.read = before.lines_read + half
        self.skipped = before.lines_skipped - (before.tail is not None)
        self.taken = 0
        self.skips = list(before.skips)
        self.offset = before.place.offset
        self.is_mid_line = before.place.is_mid_line
        self.tail: SkippedLine | None = None

    def run(self, now: ReadPosition) -> FileContent:
        """Read to the end of the file as it is now."""
        if not isinstance(self.file, PlainStream):
            self.file.seek(self.offset)
        fast = build_decoder(self.before.source)
        take, emit, decode = self.reader.take, self.builder.take, fast.decode
        taken = LineReader(self.file)
        lines = iter(taken)
        if self.is_mid_line:
            for line in islice(lines, 1):
                self.take_odd_line(line, fast, is_whole=True)
        fine = 0
        for line in lines:
            try:
                record = decode(line)  # type: ignore[arg-type]  # None is refused like any other oddity
            except NOT_PLAIN:
                self.read += fine
                fine = 0
                self.take_odd_line(line, fast, is_whole=True)
            else:
                take(record, emit)
                fine += 1
        self.read += fine
        return self.finish(taken, fast, now)

    def finish(self, taken: LineReader, fast: RecordDecoder, now: ReadPosition) -> FileContent:
        """See to what follows the last newline."""
        start = self.offset
        self.offset += taken.consumed
        rest = None if taken.is_too_long else taken.rest
        if taken.rest_length and self.take_odd_line(rest, fast, is_whole=False):
            self.offset += taken.rest_length
        self.taken = taken.consumed + taken.rest_length
        return self.build_content(replace(now, offset=self.offset, is_mid_line=self.is_mid_line), start)

    def take_odd_line(self, line: memoryview | None, fast: RecordDecoder, *, is_whole: bool) -> bool:
        """A line that is not simply one record and a newline; whether it is done with."""
        goes_on = self.is_mid_line
        number = self.read + self.skipped + (not goes_on)
        why = ""
        records: list[object] = []
        if line is None:
            why = "longer than 64 MB"
        else:
            try:
                records = decode_patiently(line, fast)
            except MalformedLine as error:
                why, records = str(error), error.records
        if why and not is_whole:
            self.tail = SkippedLine(line=number, why=f"unfinished last line ({why})")
            return False
        for record in records:
            self.reader.take(record, self.builder.take)
        self.count_line(number, why, goes_on)
        self.is_mid_line = not is_whole
        return True

    def count_line(self, number: int, why: str, goes_on: bool) -> None:
        """Count a line once, as read or as skipped, even when it came in two pieces."""
        if goes_on:
            was_skipped = bool(self.skips) and self.skips[-1].line == number
            if why and not was_skipped:
                self.read -= 1
            elif not why or was_skipped:
                return
        elif not why:
            self.read += 1
            return
        self.skipped += 1
        if len(self.skips) < MOST_SKIPS:
            self.skips.append(SkippedLine(line=number, why=why))

    def build_content(self, place: ReadPosition, start: int) -> FileContent:
        """The file's state and turns after this reading."""
        part = self.builder.part(self.source.AGENT)  # counts events, which the memory holds
        memory = msgspec.msgpack.encode(
            {"reader": msgspec.Raw(msgspec.msgpack.encode(self.reader)), "tally": self.builder.tally}
        )
        state = replace(
            self.before,
            version=build_version(self.before.source),
            place=place if isinstance(self.file, PlainStream) else note_anchor(self.file, place),
            lines_read=self.read - (self.tail is not None and self.is_mid_line),
            lines_skipped=self.skipped + (self.tail is not None),
            bytes_read=self.taken,
            skips=tuple(self.skips),
            tail=self.tail,
            part=part,
            unknown=dict(self.reader.unknown),
            state=memory,
            is_continued=start > 0,
        )
        return FileContent(state=state, turns=self.builder.turns(), changed=frozenset(self.builder.changed))
