"""Which files become a store, and that all others stay as they are."""

import os
import socket
import sqlite3
import stat
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import pytest

from assay.errors import StoreError
from assay.stores import open_store
from assay.stores.sql import claim
from tests.conftest import is_one_line, run, warm

NOBODY = 65534


@pytest.fixture(params=["whoever runs the tests", "nobody"])
def place(request: pytest.FixtureRequest) -> Iterator[Path]:
    if request.param == "nobody" and os.geteuid():
        pytest.skip("is run as an ordinary user already")
    with tempfile.TemporaryDirectory(prefix="claimed-") as made:
        if request.param == "nobody":
            os.chown(made, NOBODY, NOBODY)
        yield Path(made)


def program(path: Path) -> None:
    path.write_text("#!/bin/sh\necho woven\n")
    path.chmod(0o755)


def database(path: Path, journal: str = "delete", table: str = "yarn") -> None:
    with closing(sqlite3.connect(path)) as made:
        made.execute(f"PRAGMA journal_mode={journal}")
        made.execute(f"CREATE TABLE {table} (colour TEXT)")
        made.commit()


def unchecked(path: Path) -> None:
    """A foreign database whose log was never written back."""
    with closing(sqlite3.connect(path.with_name("other"))) as made:
        made.execute("PRAGMA journal_mode=wal")
        made.execute("CREATE TABLE yarn (colour TEXT)")
        made.commit()
        for end in ("", "-wal"):
            Path(f"{path}{end}").write_bytes(Path(f"{path.with_name('other')}{end}").read_bytes())


def device(path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can make a device")
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    path.chmod(0o666)


def linked(path: Path) -> None:
    open_store(f"sqlite:///{path.with_name('real.db')}").close()
    path.with_name("real.db").chmod(0o644)
    path.symlink_to("real.db")


def listening(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as made:
        made.bind(str(path))


FOREIGN: dict[str, tuple[Callable[[Path], None], str]] = {
    "program": (program, "not an Assay store"),
    "database": (database, "another program"),
    "database with a log": (lambda path: database(path, "wal"), "another program"),
    "database in its log": (unchecked, "another program"),
    "database of other migrations": (lambda path: database(path, table="alembic_version"), "another program"),
    "pipe": (os.mkfifo, "is a pipe"),
    "socket": (listening, "is a socket"),
    "device": (device, "is a device"),
    "link to a store": (linked, "is a link"),
    "link to nothing": (lambda path: path.symlink_to("nowhere"), "is a link"),
    "other file beside it": (lambda path: path.with_name("tool-wal").write_text("my notes") and None, "not SQLite's"),
    "linked file beside it": (lambda path: path.with_name("tool-journal").symlink_to("x"), "is a link"),
}


def looks(folder: Path) -> dict[str, object]:
    """All that others can see of what lies in a folder."""
    found: dict[str, object] = {}
    for file in sorted(folder.iterdir()):
        one = file.lstat()
        content = file.read_bytes() if stat.S_ISREG(one.st_mode) else b""
        found[file.name] = (one.st_mode, one.st_uid, one.st_size, one.st_mtime_ns, content)
    return found


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_store_of_ours_is_refused_untouched(place: Path, kind: str) -> None:
    make, word = FOREIGN[kind]
    (place / "in").mkdir()
    (place / "there").mkdir()
    make(place / "there" / "tool")
    for file in (place, place / "in", place / "there", *(place / "there").iterdir()):
        os.chown(file, place.stat().st_uid, -1, follow_symlinks=False)
    before = looks(place / "there")
    words = ["streams", str(place / "in"), "--store", str(place / "there" / "tool")]
    warm()
    process = get_context("fork").Process(target=refused, args=(place, words, word))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert looks(place / "there") == before


def refused(folder: Path, words: list[str], word: str) -> None:
    owner = folder.stat().st_uid
    if owner != os.geteuid():
        os.setgroups([])
        os.setgid(owner)
        os.setuid(owner)
    ran = run(*words, cwd=folder)
    assert (ran.code, is_one_line(ran.err)) == (2, True), ran
    assert word in ran.err, ran.err
    assert "free some space" not in ran.err, ran.err


def test_a_projects_file_makes_no_program_private(tmp_path: Path) -> None:
    program(tmp_path / "tool")
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "assay.toml").write_text('store = "../tool"\n')
    ran = run("streams", tmp_path / "clone", cwd=tmp_path / "clone")
    assert (ran.code, is_one_line(ran.err), "store = " in ran.err) == (2, True, True)
    assert stat.S_IMODE((tmp_path / "tool").stat().st_mode) == 0o755


def test_an_empty_file_becomes_a_private_store(tmp_path: Path) -> None:
    (tmp_path / "s.db").touch(0o644)
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as store:
        store.transcripts.list_streams(None)
        modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {0o600}


def test_a_store_whose_tables_stand_in_its_log_is_known(tmp_path: Path) -> None:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")):
        (tmp_path / "left").mkdir()
        for end in ("", "-wal"):
            (tmp_path / "left" / f"s.db{end}").write_bytes((tmp_path / f"s.db{end}").read_bytes())
    with closing(open_store(f"sqlite:///{tmp_path / 'left' / 's.db'}")) as found:
        assert list(found.transcripts.list_streams(None)) == []
    with pytest.raises(StoreError, match="is a folder"):
        open_store(f"sqlite:///{tmp_path / 'left'}")


def test_a_store_whose_disk_was_full_is_still_ours_by_its_log(tmp_path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'whole.db'}")
    with sqlite3.connect(tmp_path / "whole.db") as held:  # keeps the log from being taken in
        held.execute("UPDATE generation SET n = n + 1")
        held.commit()
        (tmp_path / "cut.db-wal").write_bytes((tmp_path / "whole.db-wal").read_bytes())
        pages = (tmp_path / "whole.db").read_bytes()
    store.close()
    held.close()
    (tmp_path / "cut.db").write_bytes(pages[:100] + bytes(3996))
    with pytest.raises(sqlite3.DatabaseError):
        claim.list_tables(tmp_path / "cut.db")
    assert claim.is_ours(tmp_path / "cut.db")


def test_a_journal_that_names_another_file_is_refused_and_that_file_stays(tmp_path) -> None:
    """SQLite deletes the file that a journal names at its end; a clone can bring store and journal along."""
    open_store(f"sqlite:///{tmp_path / 's.db'}").close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as plain:
        plain.execute("PRAGMA journal_mode=delete")
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(precious).encode()
    head = (magic + struct.pack(">IIIII", 0, 1, (tmp_path / "s.db").stat().st_size // 4096, 512, 4096)).ljust(
        512, b"\0"
    )
    tail = struct.pack(">I", (1 << 30) // 4096 + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    (tmp_path / "s.db-journal").write_bytes(head + tail)
    with pytest.raises(StoreError, match="is not SQLite's"):
        open_store(f"sqlite:///{tmp_path / 's.db'}")
    assert precious.read_text() == "mine"
