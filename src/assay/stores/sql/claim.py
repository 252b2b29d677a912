"""Whose file a store would be: one that Assay makes now, one that is proven to be ours, or somebody else's.

Only the first two are made private and opened; all others are left as they are, down to mode and time. SQLite is not
let near a file before it is proven, for merely opening one can write to it and to what lies beside it.
"""

import os
import shutil
import sqlite3
import stat
import tempfile
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from assay.errors import StoreError

OURS = frozenset({"alembic_version", "files", "generation", "skips", "turns", "keys", "streams"})
"""Tables that every version of a store has."""
BEGINS = {
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-shm": (b"\x18\xe2\x2d\x00", b"\x00\x2d\xe2\x18"),
    "-journal": (b"\xd9\xd5\x05\xf9",),
}
"""How what SQLite keeps beside a store begins."""
NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a journal ends that names another file, which SQLite would delete; ours never name one."""
KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}
SAFELY = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
"""As far as the system has such ways to open a file."""


def claim(path: Path) -> bool:
    """Make the file, or prove it ours and private; whether it is empty still, and has to be claimed again."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for end in BEGINS:
        refuse_beside(Path(f"{path}{end}"), BEGINS[end])
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | SAFELY, 0o600))
        return False
    except FileExistsError:
        refuse_kind(path)
    file = os.open(path, os.O_RDWR | SAFELY)
    try:
        is_empty = not os.fstat(file).st_size or not is_ours(path)
        if not is_empty and os.fstat(file).st_mode & 0o077 and hasattr(os, "fchmod"):
            os.fchmod(file, 0o600)
        return is_empty
    finally:
        os.close(file)


def refuse_kind(path: Path) -> os.stat_result:
    """Refuse anything but a plain file; gives what is known of it."""
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "no file")
        raise StoreError(f"{path} is {kind}; a store is a plain file: give another path with --store")
    return found


def refuse_beside(path: Path, begins: tuple[bytes, ...]) -> None:
    """Refuse a file beside a store that SQLite did not make: it would write to it, or remove it."""
    if not os.path.lexists(path):
        return
    is_linked = refuse_kind(path).st_nlink > 1
    file = os.open(path, os.O_RDONLY | SAFELY)
    try:
        head = os.read(file, 4)
        os.lseek(file, max(0, os.fstat(file).st_size - len(NAMES_ANOTHER)), os.SEEK_SET)
        tail = os.read(file, len(NAMES_ANOTHER))
    finally:
        os.close(file)
    if is_linked or tail == NAMES_ANOTHER or (any(head) and not any(one.startswith(head) for one in begins)):
        raise StoreError(f"{path} is not SQLite's; move it away, or give another path with --store")


def is_ours(path: Path) -> bool:
    """Whether a database holds our tables, else that it holds none; an error for somebody else's."""
    wal = Path(f"{path}-wal")
    has_log = wal.exists() and wal.stat().st_size > 0
    try:
        found = list_tables(path)
    except sqlite3.DatabaseError:  # a disk was full in the middle of it: with its log it may be whole
        if not has_log:
            raise
        found = set()
    if not found and has_log:  # all of it stands in the log; that is read in a copy
        with tempfile.TemporaryDirectory(prefix="assay-store-") as folder:
            shutil.copyfile(path, copy := Path(folder) / "copy")
            shutil.copyfile(wal, f"{copy}-wal")
            found = list_tables(copy, "mode=rw")
    if found and not found >= OURS:
        raise StoreError("it holds tables of another program; give another path with --store")
    return bool(found)


def list_tables(path: Path, how: str = "immutable=1") -> set[str]:
    """Names of all that a database holds; the file and its neighbours are left as they are."""
    with closing(sqlite3.connect(f"file:{quote(os.fsencode(path))}?{how}", uri=True)) as found:
        return {name for (name,) in found.execute("SELECT name FROM sqlite_master")}
