"""Files that are one document: databases, archives and JSON from anywhere, opened without harm."""

import hashlib
import json
import os
import sqlite3
import tempfile
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from assay.pipeline import packed_files
from assay.pipeline.inputs import find_files
from assay.pipeline.packed_files import open_packed, parse_json
from assay.pipeline.pool import ignore_progress
from assay.pipeline.read_file import read_file
from assay.pipeline.scan import scan
from assay.stores import open_store
from assay.types.packed import MalformedFile
from tests.sources.captures import HERE, write_capture
from tests.tables import each_row

REPAIR = HERE / "opencode" / "repair.sql"
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"


def make_database(folder: Path, *more: str) -> Path:
    """The captured database as OpenCode calls it, with something done to it."""
    made = write_capture(REPAIR, folder).rename(folder / "opencode.db")
    with closing(sqlite3.connect(made)) as database:
        for sql in more:
            database.execute(sql)
        database.commit()
    return made


def copy_session(name: str) -> list[str]:
    """SQL that gives the captured session a sister."""
    columns = "project_id, slug, directory, title, version, time_created, time_updated, cost"
    times = "time_created, time_updated, data"
    return [
        f"INSERT INTO session (id, {columns}) SELECT '{name}', {columns} FROM session LIMIT 1",
        f"INSERT INTO message SELECT id || '{name}', '{name}', {times} FROM message",
        f"INSERT INTO part SELECT id || '{name}', message_id || '{name}', '{name}', {times} FROM part",
    ]


def hash_files(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_each_conversation_of_a_database_is_a_file_of_its_own(tmp_path: Path) -> None:
    made = make_database(tmp_path, *copy_session("ses_b"))
    names = [file.name.removeprefix(f"{made}/") for file in find_files([tmp_path]).files]
    assert len(names) == 2
    assert "ses_b" in names
    assert all(one.startswith("ses_") for one in names)


def test_only_conversations_that_changed_are_read_again(tmp_path: Path) -> None:
    made = make_database(tmp_path, *copy_session("ses_b"))
    with closing(open_store(f"sqlite:///{tmp_path}/store.db")) as store:
        first = scan(store, find_files([made]), 1, ignore_progress)
        again = scan(store, find_files([made]), 1, ignore_progress)
        with closing(sqlite3.connect(made)) as database:
            database.execute("UPDATE session SET time_updated = time_updated + 1 WHERE id = 'ses_b'")
            database.commit()
        later = scan(store, find_files([made]), 1, ignore_progress)
        with closing(sqlite3.connect(made)) as database:
            database.execute("DELETE FROM session WHERE id = 'ses_b'")
            database.commit()
        last = scan(store, find_files([made]), 1, ignore_progress)
    assert (first.new, again.new, again.changed, later.changed, last.gone) == (2, 0, 0, 1, 1)


def test_what_only_the_log_of_a_database_holds_is_read_and_nothing_there_is_touched(tmp_path: Path) -> None:
    made = make_database(tmp_path, "PRAGMA journal_mode=WAL")
    with closing(sqlite3.connect(made)) as writer:
        for sql in copy_session("ses_b"):
            writer.execute(sql)
        writer.commit()
        before = hash_files(tmp_path)
        assert (tmp_path / "opencode.db-wal").stat().st_size
        found = [file.conversation for file in find_files([made]).files]
        assert "ses_b" in found
        assert hash_files(tmp_path) == before


@each_row(
    "sql",
    [
        ENDLESS,
        "SELECT load_extension('evil')",
        "ATTACH DATABASE '/tmp/x.db' AS x",
        "PRAGMA journal_mode",
        "DELETE FROM part",
        "SELECT writefile('/tmp/x', 'y')",
    ],
)
def test_a_database_is_only_ever_read(sql: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = make_database(Path(folder))
        before = hash_files(Path(folder))
        with open_packed(made) as opened, pytest.raises(MalformedFile, match="can't be read"):
            list(opened.query(sql))
        assert hash_files(Path(folder)) == before


def test_a_view_in_the_place_of_a_table_does_not_run_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_files, "MOST_STEPS", 20)
    many = "SELECT a.id FROM part a, part b, part c, part d, part e"
    view = f"CREATE VIEW session AS SELECT id, 0 AS time_updated FROM ({many})"
    made = make_database(tmp_path, "ALTER TABLE session RENAME TO old", view)
    [file] = find_files([made]).files
    assert read_file(Path(file.path)).state.lines_read == 0


@each_row("cut", [100, 3_000, 5_000, 20_000])
def test_half_a_database_is_skipped_with_its_reason(cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = make_database(Path(folder))
        made.write_bytes(made.read_bytes()[:cut])
        [file] = find_files([made]).files
        state = read_file(Path(file.path)).state
        assert (state.source, state.lines_read) == ("", 0)
        assert state.skips[0].why


@each_row("data, why", [(b'{"a": ', "half-written"), (b"[" * 100_000, "deeply"), (b"", "half-written")])
def test_json_that_is_none_says_why(data: bytes, why: str) -> None:
    with pytest.raises(MalformedFile, match=why):
        parse_json(data)


def test_json_that_is_too_large_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_files, "MOST_BYTES", 100)
    with pytest.raises(MalformedFile, match="larger than"):
        parse_json(b"[" + b"1," * 100 + b"1]")


def test_an_archive_that_would_unpack_to_too_much_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_files, "MOST_BYTES", 1_000)
    path = tmp_path / "x.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b"[" + b" " * 1_000_000 + b"]")
    with open_packed(path) as opened, pytest.raises(MalformedFile, match="larger than"):
        opened.read_member("header.json")
    with open_packed(path) as opened, pytest.raises(MalformedFile, match="can't be unpacked"):
        opened.read_member("no such thing")


@each_row("names", [("/etc", "passwd"), ("..", "x/../../y"), ("a\x00b",), (".", "x"), ("",)])
def test_a_file_leads_only_to_files_with_plain_names(names: tuple[str, ...]) -> None:
    with open_packed(HERE / "opencode" / "exported.json") as opened:
        with pytest.raises(MalformedFile, match="outside its folder"):
            opened.list_beside(*names)
        assert opened.read_beside(*names) is None


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "a.json").write_text("{}")
    with open_packed(tmp_path / "a.json") as opened:
        assert opened.read_beside("pipe.json") is None


def test_a_file_that_is_called_like_a_transcript_and_is_none_is_left_alone(tmp_path: Path) -> None:
    for name in ("session-1.json", "opencode.db", "ses_1.json"):
        (tmp_path / name).write_text(json.dumps({"name": "a package"}))
    assert find_files([tmp_path]).files == ()


def test_the_ids_of_conversations_can_be_anything(tmp_path: Path) -> None:
    made = make_database(tmp_path, *copy_session("../../" + "x" * 300))
    names = [file.name for file in find_files([made]).files]
    assert all(Path(name).parent == made and len(name) < len(str(made)) + 300 for name in names)
    assert len(names) == 2
