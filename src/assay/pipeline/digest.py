"""One file to turns: what was read before is kept, only new bytes are read.

`Digest` is all that is known of a file. Give it back and reading goes on where it stopped: in
another process, on another day, with the same result as reading the file from its start.
"""

import hashlib
import os
from functools import cache
from io import FileIO
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay.pipeline.decode import Fast, Malformed, patient
from assay.pipeline.lines import Lines
from assay.sessions.turns import Builder, Tally
from assay.sources import Source, SourceReader, find_source, load_sources
from assay.types import Part, Place, Skipped, Turn

HEAD = 64 << 10
NOT_PLAIN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError)
"""What the fast decoder says of a line that is not simply one record; `TypeError` of one that is too long."""
ANCHOR_HEAD, ANCHOR_TAIL = 1 << 10, 4 << 10
MOST_SKIPS = 1_000
"""Skips that are listed one by one; the rest is only counted."""


class Counts(Struct, frozen=True, kw_only=True):
    """Lines of a file: `read + skipped` are all there are."""

    read: int = 0
    skipped: int = 0
    bytes_read: int = 0
    """Bytes that this very reading took from the file."""


class Digest(Struct, frozen=True, kw_only=True):
    """What one file holds."""

    source: str
    """Name of the source that reads it; empty for a file that is no transcript."""
    version: int = 0
    place: Place = Place()
    counts: Counts = Counts()
    skips: tuple[Skipped, ...] = ()
    tail: Skipped | None = None
    """A last line that is still being written; it is looked at again next time."""
    part: Part | None = None
    turns: tuple[Turn, ...] = ()
    changed: frozenset[int] = frozenset()
    """Numbers of the turns that are new or other than before."""
    unknown: dict[str, int] = {}
    state: bytes = b""
    """What the reader and the builder remember."""
    is_continued: bool = False


class Memory(Struct):
    """The remembered state, as stored."""

    reader: msgspec.Raw
    tally: Tally


def digest(path: Path, before: Digest | None = None) -> Digest:
    """Read a file, or what is new in it."""
    with path.open("rb", buffering=0) as file:
        stat = os.fstat(file.fileno())
        place = Place(inode=stat.st_ino, size=stat.st_size, mtime_ns=stat.st_mtime_ns)
        if before is not None and before.source and can_continue(file, before, place):
            return Reading(file, find_source(before.source), before).run(place)
        file.seek(0)
        head = file.read(HEAD)
        file.seek(0)
        name = claimed(head)
        if not name:
            return not_a_transcript(file, head, place)
        return Reading(file, find_source(name), Digest(source=name)).run(place)


def can_continue(file: FileIO, before: Digest, now: Place) -> bool:
    """Whether the file only grew since, and is read in the same way; a rewrite may well keep the size."""
    old = before.place
    return (
        before.version == find_source(before.source).VERSION
        and now.inode == old.inode
        and (now.size > old.size or (now.size, now.mtime_ns) == (old.size, old.mtime_ns))
        and anchor(file, old.offset) == old.anchor
    )


def anchor(file: FileIO, offset: int) -> bytes:
    """Hash of the file's first bytes and of those before an offset."""
    found = hashlib.blake2b(digest_size=16)
    file.seek(0)
    found.update(file.read(min(ANCHOR_HEAD, offset)))
    file.seek(max(0, offset - ANCHOR_TAIL))
    found.update(file.read(min(ANCHOR_TAIL, offset)))
    return found.digest()


def claimed(head: bytes) -> str:
    """Name of the source whose format a file that begins so has."""
    return next((name for name, one in load_sources().items() if one.claims(head)), "")


def not_a_transcript(file: FileIO, head: bytes, place: Place) -> Digest:
    """A file nobody reads: all its lines are skipped, for one reason."""
    total = read = last = 0
    block = bytearray(1 << 20)
    while got := file.readinto(block):
        total += block.count(b"\n", 0, got)
        read, last = read + got, block[got - 1]
    total += bool(read) and last != 10
    why = kind_of(head) if read else "an empty file"
    return Digest(
        source="",
        place=place,
        counts=Counts(skipped=total, bytes_read=read),
        skips=(Skipped(line=0, why=why),),
    )


def kind_of(head: bytes) -> str:
    """What a file is that is no transcript, as far as its first bytes tell."""
    if head.startswith(b"\x1f\x8b"):
        return "gzip data, not a transcript; unpack it first"
    if head.startswith((b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")):
        return "an archive, not a transcript; unpack it first"
    if b"\x00" in head:
        return "binary data, not a transcript"
    return "not a transcript of any agent that is known here"


@cache
def decoder(name: str) -> msgspec.json.Decoder[object]:
    """The fast decoder of a source's records."""
    return msgspec.json.Decoder(find_source(name).Record)


class Reading:
    """Reads one file from where `before` stopped."""

    def __init__(self, file: FileIO, source_: Source, before: Digest) -> None:
        self.file = file
        self.source = source_
        self.before = before
        self.reader: SourceReader = source_.Reader()
        tally = None
        if before.state:
            memory = msgspec.msgpack.decode(before.state, type=Memory)
            self.reader = msgspec.msgpack.decode(memory.reader, type=source_.Reader)
            tally = memory.tally
        self.builder = Builder(tally, before.turns)
        half = before.tail is not None and before.place.is_mid_line
        self.read = before.counts.read + half
        self.skipped = before.counts.skipped - (before.tail is not None)
        self.taken = 0
        self.skips = list(before.skips)
        self.offset = before.place.offset
        self.is_mid_line = before.place.is_mid_line
        self.tail: Skipped | None = None

    def run(self, now: Place) -> Digest:
        """Read to the end of the file as it is now."""
        self.file.seek(self.offset)
        fast = decoder(self.before.source)
        take, emit, decode = self.reader.take, self.builder.take, fast.decode
        taken = Lines(self.file)
        lines = iter(taken)
        if self.is_mid_line:
            for line in islice(lines, 1):
                self.hard(line, fast, is_whole=True)
        fine = 0
        for line in lines:
            try:
                record = decode(line)  # type: ignore[arg-type]  # None is refused like any other oddity
            except NOT_PLAIN:
                self.read += fine
                fine = 0
                self.hard(line, fast, is_whole=True)
            else:
                take(record, emit)
                fine += 1
        self.read += fine
        return self.finish(taken, fast, now)

    def finish(self, taken: Lines, fast: Fast, now: Place) -> Digest:
        """See to what follows the last newline."""
        start = self.offset
        self.offset += taken.consumed
        rest = None if taken.is_too_long else taken.rest
        if taken.rest_length and self.hard(rest, fast, is_whole=False):
            self.offset += taken.rest_length
        self.taken = taken.consumed + taken.rest_length
        return self.result(replace(now, offset=self.offset, is_mid_line=self.is_mid_line), start)

    def hard(self, line: memoryview | None, fast: Fast, *, is_whole: bool) -> bool:
        """A line that is not simply one record and a newline; whether it is done with."""
        goes_on = self.is_mid_line
        number = self.read + self.skipped + (not goes_on)
        why = ""
        records: list[object] = []
        if line is None:
            why = "longer than 64 MB"
        else:
            try:
                records = patient(line, fast)
            except Malformed as error:
                why, records = str(error), error.records
        if why and not is_whole:
            self.tail = Skipped(line=number, why=f"unfinished last line ({why})")
            return False
        for record in records:
            self.reader.take(record, self.builder.take)
        self.count(number, why, goes_on)
        self.is_mid_line = not is_whole
        return True

    def count(self, number: int, why: str, goes_on: bool) -> None:
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
            self.skips.append(Skipped(line=number, why=why))

    def result(self, place: Place, start: int) -> Digest:
        """All that is known now."""
        part = self.builder.part(self.source.AGENT)  # counts events, which the memory holds
        memory = msgspec.msgpack.encode(
            {"reader": msgspec.Raw(msgspec.msgpack.encode(self.reader)), "tally": self.builder.tally}
        )
        return Digest(
            source=self.before.source,
            version=self.source.VERSION,
            place=replace(place, anchor=anchor(self.file, place.offset)),
            counts=Counts(
                read=self.read - (self.tail is not None and self.is_mid_line),
                skipped=self.skipped + (self.tail is not None),
                bytes_read=self.taken,
            ),
            skips=tuple(self.skips),
            tail=self.tail,
            part=part,
            turns=self.builder.turns(),
            changed=frozenset(self.builder.changed),
            unknown=dict(self.reader.unknown),
            state=memory,
            is_continued=start > 0,
        )
