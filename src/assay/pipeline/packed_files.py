"""Files that are one document (JSON, a SQLite database, a zip archive), opened so that nothing in them can harm.

All that sources do not read line by line comes through here: a source's `unpack` gives records, which are then read as
if they were the lines of a file. A database that is being written to is copied with its log first, so that nothing is
locked or changed where it lies.
"""

import importlib
import os
import re
import shutil
import sqlite3
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from assay.pipeline.records import PLAIN
from assay.types.packed import MalformedFile, Stamp

SQLITE, ZIP = b"SQLite format 3\x00", b"PK\x03\x04"
MOST_BYTES = 256 << 20
"""Of a JSON document; of a member of an archive; of one value of a database."""
MOST_COPIED = 8 << 30
ZSTANDARD, LOCAL_HEAD, MOST_WINDOW = 93, 30, 1 << 27
"""Of zip archives: the number of a way to compress, and the bytes before a member's name."""
MOST_MEMBERS, MOST_BESIDE = 100_000, 100_000
STEPS, MOST_STEPS = 100_000, 20_000
"""A query may take two thousand million steps, some minutes: a view that never ends is ended."""
ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION})
NAME = re.compile(r"\.\.|[\w-][\w .-]{0,200}", re.ASCII)
TRIES = 3


class OpenedFile:
    """A `PackedFile`."""

    def __init__(
        self,
        path: Path,
        *,
        database: sqlite3.Connection | None = None,
        archive: zipfile.ZipFile | None = None,
        data: bytes | None = None,
    ) -> None:
        self.path = path
        self.database = database
        self.archive = archive
        self.data = data
        """All of it, where it does not lie on this machine's disk: then nothing is beside it."""
        self.known: list[Any] = []

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def folder(self) -> str:
        """The name of the folder that it lies in."""
        return self.path.parent.name

    @property
    def repository(self) -> str:
        """The folder that it lies in, where that is the top of a repository."""
        return str(self.path.parent) if self.data is None and (self.path.parent / ".git").exists() else ""

    @property
    def value(self) -> Any:
        """What a JSON file holds."""
        if self.database or self.archive:
            return None
        if not self.known:
            self.known.append(load_json(self.path) if self.data is None else parse_json(self.data))
        return self.known[0]

    def list_lines(self) -> list[str]:
        """The lines of a text."""
        if self.database or self.archive:
            return []
        data = load_bytes(self.path) if self.data is None else self.data
        check_size(data)
        return data.decode("utf-8", "replace").removeprefix("\ufeff").splitlines()

    def query(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Rows of a database; none where it has no such table."""
        if self.database is None:
            return
        try:
            yield from self.database.execute(sql, values)
        except sqlite3.Error as error:
            if not str(error).startswith(("no such table", "no such column")):
                raise MalformedFile(f"a database that can't be read: {error}") from None

    def list_members(self) -> dict[str, Stamp]:
        """Names in an archive."""
        listed = self.archive.infolist() if self.archive else []
        if len(listed) > MOST_MEMBERS:
            raise MalformedFile(f"an archive of more than {MOST_MEMBERS} files")
        return {one.filename: Stamp(one.file_size, one.CRC) for one in listed}

    def read_member(self, name: str) -> Any:
        """The JSON of a member of an archive."""
        if self.archive is None:
            raise MalformedFile("no archive")
        try:
            if self.archive.getinfo(name).compress_type == ZSTANDARD:
                data = read_zstandard(self.archive, name)
            else:
                with self.archive.open(name) as member:
                    data = member.read(MOST_BYTES + 1)
        except (
            KeyError,
            OSError,
            RuntimeError,
            EOFError,
            zipfile.BadZipFile,
            zlib.error,
            NotImplementedError,
        ) as error:
            raise MalformedFile(f"an archive whose {name[:80]} can't be unpacked: {error}") from None
        return parse_json(data)

    def list_beside(self, *folders: str) -> list[str]:
        """Names of the JSON files in a folder that is reached from the file's own."""
        if self.data is not None:
            return []
        try:
            names = sorted(os.listdir(self.find_beside(folders)))
        except OSError:
            return []
        if len(names) > MOST_BESIDE:
            raise MalformedFile(f"a folder of more than {MOST_BESIDE} files")
        return [name for name in names if name.endswith(".json") and NAME.fullmatch(name)]

    def read_beside(self, *names: str) -> Any:
        """The JSON of a file that is reached from the folder of this one."""
        if self.data is not None:
            return None
        try:
            return load_json(self.find_beside(names))
        except (OSError, MalformedFile):
            return None

    def find_beside(self, names: tuple[str, ...]) -> Path:
        """A path below the same folders; a name that leads elsewhere is refused."""
        if not all(map(NAME.fullmatch, names)):
            raise MalformedFile("a file that names others outside its folder")
        return self.path.parent.joinpath(*names)


@contextmanager
def open_packed(path: Path) -> Iterator[OpenedFile]:
    """Open a document for reading; raises `MalformedFile` or `OSError`."""
    with path.open("rb") as file:
        head = file.read(len(SQLITE))
    with ExitStack() as stack:
        database = stack.enter_context(open_database(path)) if head.startswith(SQLITE) else None
        archive = stack.enter_context(open_archive(path)) if head.startswith(ZIP) else None
        yield OpenedFile(path, database=database, archive=archive)


@contextmanager
def open_held(name: str, data: bytes) -> Iterator[OpenedFile]:
    """Open a document that another file or an object store holds; raises `MalformedFile`."""
    check_size(data)
    with ExitStack() as stack:
        archive = stack.enter_context(open_archive(BytesIO(data))) if data.startswith(ZIP) else None
        yield OpenedFile(Path(name), archive=archive, data=data)


class PackedFiles:
    """Documents for several readings in a row: the last one stays open, for a database holds many conversations."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.stack = ExitStack()
        self.last: OpenedFile | None = None

    def __enter__(self) -> "PackedFiles":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def open_file(self, path: Path) -> OpenedFile:
        """The document at a path."""
        if self.last is None or self.path != path:
            self.stack.close()
            self.last = self.stack.enter_context(open_packed(path))
            self.path = path
        return self.last


# --- JSON -----------------------------------------------------------------------------------


def load_json(path: Path) -> Any:
    """What a JSON file holds."""
    return parse_json(load_bytes(path))


def load_bytes(path: Path) -> bytes:
    """What a regular file holds; of one that is too large, a byte too much."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise MalformedFile("no regular file")
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def parse_json(data: bytes) -> Any:
    """A JSON text; one that is damaged or half-written says so."""
    check_size(data)
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return PLAIN.decode(data.decode("utf-8", "replace").strip("\ufeff \t\r\n"))
    except RecursionError:
        raise MalformedFile("nested too deeply") from None
    except ValueError as error:
        raise MalformedFile(f"damaged or half-written JSON: {error}"[:160]) from None


def check_size(data: bytes) -> None:
    """Refuse a document that is too large to be held."""
    if len(data) > MOST_BYTES:
        raise MalformedFile(f"a document larger than {MOST_BYTES >> 20} MB")


# --- archives -------------------------------------------------------------------------------


@contextmanager
def open_archive(path: Path | BytesIO) -> Iterator[zipfile.ZipFile]:
    """An archive; nothing of it is ever unpacked to disk."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
        raise MalformedFile(f"a damaged archive: {error}") from None
    with archive:
        yield archive


def read_zstandard(archive: zipfile.ZipFile, name: str) -> bytes:
    """A member that is compressed as Inspect does it, which Python's own library knows from 3.14 on."""
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise MalformedFile("an archive compressed with Zstandard; pip install 'assay[archives]'") from None
    info, file = archive.getinfo(name), archive.fp
    if file is None:
        raise MalformedFile("an archive that was closed")
    file.seek(info.header_offset)
    head = file.read(LOCAL_HEAD)
    if len(head) < LOCAL_HEAD or not head.startswith(ZIP):
        raise MalformedFile("a damaged archive")
    file.seek(info.header_offset + LOCAL_HEAD + sum(struct.unpack("<HH", head[26:])))
    packed = file.read(min(info.compress_size, MOST_BYTES))
    try:
        with zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).stream_reader(packed) as member:
            return bytes(member.read(MOST_BYTES + 1))
    except (zstandard.ZstdError, MemoryError) as error:
        raise MalformedFile(f"an archive whose {name[:80]} can't be unpacked: {error}") from None


# --- databases ------------------------------------------------------------------------------


@contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """A database as it is now, with what only its log holds yet; it is neither locked nor changed."""
    log = path.with_name(f"{path.name}-wal")
    if not log.exists() or not log.stat().st_size:
        with connect(path) as database:
            yield database
        return
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        copy = Path(folder) / "copy.db"
        copy_database(path, log, copy)
        with connect(copy) as database:
            yield database


def copy_database(path: Path, log: Path, copy: Path) -> None:
    """Copy a database and its log at one moment, and put them together in the copy."""
    for _ in range(TRIES):
        before = list_stats(path, log)
        if before[0][0] > MOST_COPIED:
            raise MalformedFile(
                f"a database larger than {MOST_COPIED >> 30} GB that is in use; close its program first"
            )
        shutil.copyfile(path, copy)
        if log.exists():
            shutil.copyfile(log, copy.with_name("copy.db-wal"))
        if list_stats(path, log) == before:
            break
    else:
        raise MalformedFile("a database that changed while it was copied; try again when its program rests")
    try:
        database = sqlite3.connect(copy)
        try:
            database.execute("PRAGMA journal_mode=DELETE").fetchall()
        finally:
            database.close()
    except sqlite3.Error as error:
        raise MalformedFile(f"a database that can't be read: {error}") from None


def list_stats(*paths: Path) -> list[tuple[int, int]]:
    """Sizes and times of files; of one that is not there, nothing."""
    found = [path.stat() for path in paths if path.exists()]
    return [(one.st_size, one.st_mtime_ns) for one in found]


@contextmanager
def connect(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads, and does nothing else, however the database was made."""
    database = sqlite3.connect(f"file:{quote(str(path))}?mode=ro&immutable=1", uri=True)
    try:
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "mmap_size=0"):
            database.execute(f"PRAGMA {pragma}").fetchall()
        database.text_factory = decode_text
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
        database.set_authorizer(allow_reading)
        taken = [0]

        def count_steps() -> bool:
            taken[0] += 1
            return taken[0] > MOST_STEPS

        database.set_progress_handler(count_steps, STEPS)
        yield database
    except sqlite3.Error as error:
        raise MalformedFile(f"a database that can't be read: {error}") from None
    finally:
        database.close()


def decode_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def allow_reading(action: int, *_: object) -> int:
    """Selecting is fine; a view that calls itself, a pragma or anything that writes is not."""
    return sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY
