"""Files that hold others: compressed ones, tar archives, Parquet tables with a column of transcripts.

Everything is read as a stream, from its start to its end, and nothing is unpacked to disk. What is unpacked has a
limit, whatever a file says of itself, and damage is told as `MalformedFile`.
"""

import gzip
import importlib
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO

from msgspec import Struct

from assay.pipeline.packed_files import MOST_BYTES, MOST_WINDOW
from assay.types.packed import MalformedFile

GZIP, ZSTD, PARQUET, TAR = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"ustar"
TAR_AT = slice(257, 262)
HEAD = 64 << 10
MOST_UNPACKED = 4 << 30
"""Of a compressed file, and of a compressed archive with all that is in it."""
MOST_AT_ONCE, MOST_MEMBERS = 256 << 20, 10_000
"""How much of an archive one task reads; the next one goes on."""
ROWS = 16
DEEPEST = 3
"""An archive may be compressed, and so may be what is in it."""
PATTERNS = (
    "*.jsonl.gz",
    "*.jsonl.zst",
    "*.json.gz",
    "*.json.zst",
    "*.tar",
    "*.tgz",
    "*.tar.gz",
    "*.tar.zst",
    "*.parquet",
)

IsLike = Callable[[str], object]
"""Whether a name is like that of a transcript, or of something that may hold some."""


class PlainStream:
    """Bytes that come one after the other: they can be looked at before they are read, once, up to a limit."""

    def __init__(self, take: Callable[[int], bytes], most: int = sys.maxsize) -> None:
        self.take = take
        self.most = most
        self.waiting = b""
        self.taken = 0

    @property
    def head(self) -> bytes:
        """The first bytes of what is still to be read."""
        while len(self.waiting) < HEAD and (more := self.fetch(HEAD - len(self.waiting))):
            self.waiting += more
        return self.waiting

    def fetch(self, size: int) -> bytes:
        found = self.take(size)
        self.taken += len(found)
        if self.taken > self.most:
            raise MalformedFile(f"data that unpacks to more than {self.most >> 20} MB")
        return found

    def read(self, size: int = -1) -> bytes:
        """As many bytes as are wanted, fewer only at the end."""
        wanted = self.most + 1 if size < 0 else size
        found, self.waiting = [self.waiting[:wanted]], self.waiting[wanted:]
        left = wanted - len(found[0])
        while left > 0 and (more := self.fetch(min(left, 1 << 20))):
            found.append(more)
            left -= len(more)
        return b"".join(found)

    def readinto(self, block: Any) -> int:
        """Fill a block as far as one piece reaches."""
        size = len(block)
        found = self.waiting[:size] if self.waiting else self.fetch(size)
        self.waiting = self.waiting[size:]
        block[: len(found)] = found
        return len(found)

    def skip(self, size: int) -> None:
        """Go on behind some bytes."""
        while size > 0 and (found := self.read(min(size, 1 << 20))):
            size -= len(found)


class HeldMember(Struct, frozen=True):
    """Something that a file holds, or the file itself."""

    name: str
    """Empty for the file itself."""
    stream: PlainStream


class HeldTrouble(Struct, frozen=True):
    """A member that can't be unpacked, and why."""

    name: str
    why: str


class HeldRest(Struct, frozen=True):
    """That there is more, from a place on."""

    start: int


Held = HeldMember | HeldTrouble | HeldRest


def holds_others(head: bytes) -> bool:
    """Whether a file that begins so has to be unpacked."""
    return head.startswith((GZIP, ZSTD, PARQUET)) or head[TAR_AT] == TAR


def list_held(file: BinaryIO, is_like: IsLike, start: int = 0) -> Iterator[Held]:
    """What a file holds from a place on, each to be read before the next is asked for: perhaps nothing but itself."""
    stream = PlainStream(file.read)
    if stream.head.startswith(PARQUET):
        file.seek(0)
        yield from list_rows(file, start)
        return
    yield from list_in_stream(stream, is_like, start, "", DEEPEST)


def list_in_stream(stream: PlainStream, is_like: IsLike, start: int, name: str, deepest: int) -> Iterator[Held]:
    """What a stream holds, however it is packed."""
    head = stream.head
    if not deepest and (head.startswith((GZIP, ZSTD)) or head[TAR_AT] == TAR):
        raise MalformedFile("an archive in an archive in an archive")
    if head.startswith(GZIP):
        yield from list_in_stream(unpack_gzip(stream), is_like, start, name, deepest - 1)
    elif head.startswith(ZSTD):
        yield from list_in_stream(unpack_zstandard(stream), is_like, start, name, deepest - 1)
    elif head[TAR_AT] == TAR:
        yield from list_tar(stream, is_like, start, name, deepest)
    else:
        yield HeldMember(name, stream)


# --- compressed -----------------------------------------------------------------------------


def unpack_gzip(stream: PlainStream) -> PlainStream:
    unpacked = gzip.GzipFile(fileobj=stream, mode="rb")  # type: ignore[call-overload]  # it only reads

    def take(size: int) -> bytes:
        try:
            return bytes(unpacked.read1(size))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise MalformedFile(f"damaged gzip data: {error}"[:160]) from None

    return PlainStream(take, MOST_UNPACKED)


def unpack_zstandard(stream: PlainStream) -> PlainStream:
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise MalformedFile("data compressed with Zstandard; pip install 'assay[archives]'") from None
    reader = zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).stream_reader(stream, read_across_frames=True)

    def take(size: int) -> bytes:
        try:
            return bytes(reader.read(size))
        except (zstandard.ZstdError, MemoryError) as error:
            raise MalformedFile(f"damaged Zstandard data: {error}"[:160]) from None

    return PlainStream(take, MOST_UNPACKED)


# --- archives -------------------------------------------------------------------------------


def list_tar(stream: PlainStream, is_like: IsLike, start: int, name: str, deepest: int) -> Iterator[Held]:
    """Members of a tar archive that may be transcripts; some, and from where to go on."""
    stream.skip(start)
    members = taken = 0
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]  # it only reads
            for member in archive:
                if not member.isreg() or not is_like(member.name.rpartition("/")[2]):
                    continue
                if not name and members and (taken + member.size > MOST_AT_ONCE or members >= MOST_MEMBERS):
                    yield HeldRest(start + member.offset)
                    return
                opened = archive.extractfile(member)
                if opened is not None:
                    inside = f"{name}/{member.name}" if name else member.name
                    try:
                        yield from list_in_stream(PlainStream(opened.read), is_like, 0, inside, deepest - 1)
                    except MalformedFile as error:
                        yield HeldTrouble(inside, str(error)[:200])
                members, taken = members + 1, taken + member.size
    except (tarfile.TarError, EOFError, UnicodeError) as error:
        raise MalformedFile(f"a damaged tar archive: {error}"[:160]) from None


# --- tables ---------------------------------------------------------------------------------


def list_rows(file: BinaryIO, start: int) -> Iterator[Held]:
    """The transcripts of a Parquet table: one for each row of the column that holds them."""
    try:
        parquet, arrow = importlib.import_module("pyarrow.parquet"), importlib.import_module("pyarrow")
    except ImportError:
        raise MalformedFile("a Parquet table; pip install 'assay[parquet]'") from None
    try:
        table = parquet.ParquetFile(file)
        column = find_text_column(arrow, table)
        number = taken = 0
        for batch in table.iter_batches(batch_size=ROWS, columns=[column]):
            if number + batch.num_rows > start:
                for value in batch.column(0):
                    if number >= start and value.is_valid:
                        data = to_bytes(value.as_py())
                        if number > start and taken + len(data) > MOST_AT_ONCE:
                            yield HeldRest(number)
                            return
                        taken += len(data)
                        yield HeldMember(f"{number}", PlainStream(BytesIO(data).read))
                    number += 1
            else:
                number += batch.num_rows
    except arrow.ArrowException as error:
        raise MalformedFile(f"a damaged Parquet table: {error}"[:160]) from None


def to_bytes(value: str | bytes) -> bytes:
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return data if len(data) <= MOST_BYTES else b""


def find_text_column(arrow: Any, table: Any) -> str:
    """The column whose first value begins like lines of JSON."""
    kinds = (arrow.string(), arrow.large_string(), arrow.binary(), arrow.large_binary())
    names = [field.name for field in table.schema_arrow if field.type in kinds]
    batches: list[Any] = list(islice(table.iter_batches(batch_size=ROWS, columns=names), 1)) if names else []
    for name, column in zip(names, batches[0].columns if batches else (), strict=False):
        value = next((one.as_py() for one in column if one.is_valid and one.as_py()), "")
        if to_bytes(value)[:HEAD].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return str(name)
    raise MalformedFile("a Parquet table without a column of transcripts")
