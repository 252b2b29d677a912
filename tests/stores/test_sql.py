"""The SQL store: private, whole, and exact about paths."""

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine, MetaData, create_engine, event, inspect, select

from assay.errors import StoreError
from assay.pipeline import scan as scanning
from assay.pipeline.inputs import find_files
from assay.stores import CutStream, RemoteProject, WrittenRow
from assay.stores.sql import SqlStore, open_store
from assay.stores.sql.engine import MIGRATIONS, run_migrations
from assay.stores.sql.schema import TABLES, files, telemetry
from assay.stores.sql.selection import match_files_below
from assay.testing.claude_code import build_conversation, build_prompt, write_lines
from assay.types import PersonCorrection, PersonVerdict, TelemetryRecord


def opened(path: Path) -> SqlStore:
    return open_store(f"sqlite:///{path}")


def read_into(store: SqlStore, *paths: Path) -> scanning.Changes:
    return scanning.scan(store, find_files(paths), 1, lambda done, total: None)


# --- the file ---------------------------------------------------------------------------------


def test_only_its_owner_can_read_a_store_and_what_lies_beside_it(tmp_path: Path):
    old = os.umask(0)
    try:
        store = opened(tmp_path / "deep" / "down" / "assay.db")
        read_into(store, write_lines(tmp_path / "a.jsonl", build_prompt(1)))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "deep" / "down").iterdir()}
        store.close()
    finally:
        os.umask(old)
    assert set(modes) >= {"assay.db", "assay.db-wal"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "deep" / "down").stat().st_mode) == 0o700


def test_a_store_that_others_could_read_is_made_private(tmp_path: Path):
    path = tmp_path / "assay.db"
    opened(path).close()
    path.chmod(0o644)
    opened(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(("pragma", "value"), [("journal_mode", "wal"), ("foreign_keys", 1), ("busy_timeout", 30_000)])
def test_every_connection_is_prepared(tmp_path: Path, pragma: str, value: object):
    store = opened(tmp_path / "assay.db")
    with store.database.reading() as connection:
        assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value
    store.close()


ROWS = [name for name in TABLES.tables if name != "generation"]


LISTED = {"listed_folders", "remembered"}
"""What a folder listed when it was looked at last, which says nothing of what was in its files."""


def test_what_belongs_to_a_file_goes_with_it(tmp_path: Path):
    store = opened(tmp_path / "assay.db")
    read_into(store, write_lines(tmp_path / "a.jsonl", *build_conversation("one"), b"no json"))
    with store.database.writing() as connection:
        connection.execute(files.delete())
        left = {name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar() for name in ROWS}
    store.close()
    assert {name: n for name, n in left.items() if name not in LISTED} == dict.fromkeys(set(ROWS) - LISTED, 0)


def shape(tables: MetaData, path: Path) -> dict[str, object]:
    """Tables as a database made from nothing but `tables`, or the one there is, shows them."""
    engine = create_engine(f"sqlite:///{path}")
    tables.create_all(engine)
    seen = inspect(engine)
    found = {
        name: (
            [(one["name"], str(one["type"]), one["nullable"], one["primary_key"]) for one in seen.get_columns(name)],
            sorted((one["name"], one["column_names"], one["unique"]) for one in seen.get_indexes(name)),
            sorted(str((one["constrained_columns"], one["referred_table"], one["options"]))
                   for one in seen.get_foreign_keys(name)),
            [one["column_names"] for one in seen.get_unique_constraints(name)],
        )
        for name in seen.get_table_names()
        if name != "alembic_version"
    }  # fmt: skip
    engine.dispose()
    return found


def test_every_migration_has_a_number_of_its_own():
    numbers = [path.name[:4] for path in (MIGRATIONS / "versions").glob("[0-9]*.py")]
    assert sorted(numbers) == [f"{n + 1:04}" for n in range(len(numbers))]


def test_migrations_lead_to_exactly_the_tables_of_a_new_store(tmp_path: Path):
    engine = create_engine(f"sqlite:///{tmp_path / 'migrated.db'}")
    run_migrations(engine, "migrated.db")
    engine.dispose()
    opened(tmp_path / "new.db").close()
    migrated, new = shape(MetaData(), tmp_path / "migrated.db"), shape(MetaData(), tmp_path / "new.db")
    assert migrated == new == shape(TABLES, tmp_path / "made.db")


def test_a_migrated_store_is_opened_and_counted_like_a_new_one(tmp_path: Path):
    engine = create_engine(f"sqlite:///{tmp_path / 'migrated.db'}")
    run_migrations(engine, "migrated.db")
    engine.dispose()
    with closing(opened(tmp_path / "migrated.db")) as store:
        read_into(store, write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("one", 1)))
        assert len(store.transcripts.list_streams(None)) == 1


def test_a_store_can_be_opened_again_and_by_several_at_once(tmp_path: Path):
    first = opened(tmp_path / "assay.db")
    read_into(first, write_lines(tmp_path / "a.jsonl", build_prompt(1)))
    second = opened(tmp_path / "assay.db")
    assert (
        [one.id for one in second.transcripts.list_streams(None)]
        == [one.id for one in first.transcripts.list_streams(None)]
        == ["s1"]
    )
    first.close()
    second.close()
    third = opened(tmp_path / "assay.db")
    assert [one.id for one in third.transcripts.list_streams(None)] == ["s1"]
    third.close()


@pytest.mark.parametrize(
    "name", ["a b.db", "100%.db", "%41.db", "what?.db", "is?x=1.db", "n#1.db", "Wölle.db", "a&b=c.db"]
)
def test_a_store_lies_at_the_very_path_given(tmp_path: Path, name: str):
    store = opened(tmp_path / "store" / name)
    read_into(store, write_lines(tmp_path / "a.jsonl", build_prompt(1)))
    store.close()
    assert [path.name for path in (tmp_path / "store").iterdir()] == [name]
    with closing(sqlite3.connect((tmp_path / "store" / name).as_posix())) as found:
        assert found.execute("SELECT count(*) FROM streams").fetchone() == (1,)


# --- stores that can't be used ----------------------------------------------------------------


def newer(path: Path) -> None:
    opened(path).close()
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("UPDATE alembic_version SET version_num = '9999'")


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("CREATE TABLE yarn (colour TEXT)")


def cut(path: Path) -> None:
    opened(path).close()
    path.write_bytes(path.read_bytes()[:5000])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (newer, ["newer Assay", "9999", "update Assay"]),
        (foreign, ["another program", "--store"]),
        (lambda path: path.write_text("Dear diary, today I wove.\n" * 99), ["not an Assay store", "--store"]),
        (cut, ["--store"]),
        (lambda path: path.mkdir(), ["--store"]),
    ],
    ids=["newer", "foreign", "text", "cut", "folder"],
)
def test_a_store_that_cannot_be_used_says_what_where_and_what_to_do(
    tmp_path: Path, spoil: Callable[[Path], None], words: list[str]
):
    path = tmp_path / "assay.db"
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    transcript = write_lines(tmp_path / "a.jsonl", build_prompt(1))
    with pytest.raises(StoreError) as raised:
        read_into(opened(path), transcript)
    assert not [word for word in [*words, str(path)] if word not in str(raised.value)], str(raised.value)
    assert "\n" not in str(raised.value)
    assert before == (path.read_bytes() if path.is_file() else b"")


# --- what goes with a file, and what older versions lack ------------------------------------------


def test_what_was_made_of_a_file_goes_with_it_and_what_people_said_stays(tmp_path: Path):
    store = opened(tmp_path / "assay.db")
    read_into(store, write_lines(tmp_path / "a.jsonl", *build_conversation("one")))
    [stream] = store.transcripts.list_stream_files([("claude-code", "one")])
    told = CutStream(
        agent="claude-code", stream="one", generation=stream.generation, version="v", branch="", segments=()
    )
    assert store.sessions.save_cuts([told])
    store.corrections.save_correction(PersonCorrection(kind="rename", turn="one0", title="Wool"))
    with store.database.writing() as connection:
        connection.execute(files.delete())
        left = {name for name in TABLES.tables if connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar()}
    noted = store.told.list_changed()[0]
    store.close()
    assert left == {"generation", "corrections", "changed_streams", *LISTED}
    assert noted == [("claude-code", "one")]  # whatever was told of it is to be dropped


def forget_what_was_told(old: sqlite3.Connection) -> None:
    old.execute("DROP INDEX cuts_version")
    for name in ("commit_deeds", "told_ledger", "told", "told_streams", "neighbourhoods", "changed_streams"):
        old.execute(f"DROP TABLE {name}")


LATER = (
    "set_aside", "access_keys", "deeds", "telemetry", "conversations", "waits", "seals", "machines", "shipped",
    "shipped_streams", "shipped_parts", "printed", "listed_folders", "promotions",
    "reserved_costs",
)  # fmt: skip
"""Tables that came with 0009 and after it."""


def drop_later_tables(old: sqlite3.Connection) -> None:
    for table in LATER:
        old.execute(f"DROP TABLE {table}")
    for index in ("streams_id", "files_skipping", "files_broken_off", "streams_ended", "calls_at"):
        old.execute(f"DROP INDEX {index}")


def test_a_store_of_an_earlier_version_learns_to_keep_written_scores(tmp_path: Path):
    opened(tmp_path / "s.db").close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as old, old:
        old.execute("DROP TABLE written")
        old.execute("DROP TABLE verdicts")
        drop_later_tables(old)
        forget_what_was_told(old)
        old.execute("ALTER TABLE streams DROP COLUMN is_forgotten")
        old.execute("UPDATE alembic_version SET version_num = '0004'")
    here = RemoteProject(host="langfuse.example", project="loom")
    with closing(opened(tmp_path / "s.db")) as store:
        store.written.save_row(here, WrittenRow(id="one", digest="d-1"), "2026-11-09T09:00:00+00:00")
        assert store.written.count_scores(here).scores == 1


def forget_what_scores_are_about(old: sqlite3.Connection) -> None:
    for name in ("session", "subject", "name", "family", "environment"):
        old.execute(f"ALTER TABLE written DROP COLUMN {name}")


def test_scores_that_an_earlier_version_wrote_are_known_and_about_nothing(tmp_path: Path):
    opened(tmp_path / "s.db").close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as old, old:
        forget_what_scores_are_about(old)
        drop_later_tables(old)
        forget_what_was_told(old)
        old.execute("INSERT INTO written VALUES ('langfuse.example', 'loom', 'one', 'd-1', '2026-11-09')")
        old.execute("UPDATE alembic_version SET version_num = '0007'")
    here = RemoteProject(host="langfuse.example", project="loom")
    with closing(opened(tmp_path / "s.db")) as store:
        assert store.written.load_digests(here, ["one"]) == {"one": "d-1"}
        assert store.written.list_rows(here) == [WrittenRow(id="one", digest="d-1")]


def test_many_verdicts_are_kept_by_one_statement(tmp_path: Path):
    said = [PersonVerdict(turn=f"{n:012x}", verdict="not", at="2026-11-09T09:00:00+00:00") for n in range(500)]
    sent: list[str] = []

    def note(_: object, __: object, statement: str, *more: object) -> None:
        sent.append(statement)

    with closing(opened(tmp_path / "s.db")) as store:
        event.listen(Engine, "before_cursor_execute", note)
        try:
            store.corrections.save_verdicts([])
            store.corrections.save_verdicts(said)
        finally:
            event.remove(Engine, "before_cursor_execute", note)
        assert store.corrections.load_verdicts() == said
    assert len([one for one in sent if one.startswith("INSERT INTO verdicts")]) == 1


def test_a_store_of_an_earlier_version_learns_to_keep_verdicts(tmp_path: Path):
    opened(tmp_path / "s.db").close()
    with closing(sqlite3.connect(tmp_path / "s.db")) as old, old:
        old.execute("DROP TABLE verdicts")
        drop_later_tables(old)
        forget_what_was_told(old)
        old.execute("ALTER TABLE streams DROP COLUMN is_forgotten")
        forget_what_scores_are_about(old)
        old.execute("UPDATE alembic_version SET version_num = '0005'")
    with closing(opened(tmp_path / "s.db")) as store:
        store.corrections.save_verdicts([PersonVerdict(turn="a", verdict="not", at="2026-11-09T09:00:00+00:00")])
        assert [one.verdict for one in store.corrections.load_verdicts()] == ["not"]


@pytest.mark.parametrize("others", [0, 2000])
def test_files_are_found_at_and_below_any_number_of_paths(tmp_path: Path, others: int):
    paths = ["/a/one.jsonl", "/a/b/two.jsonl", "/ab/three.jsonl", "/c.jsonl"]
    roots = ["/a/b", "/c.jsonl", "/a/one.jsonl", *(f"/nowhere/{n}" for n in range(others))]
    with closing(opened(tmp_path / "s.db")) as store, store.database.writing() as connection:
        for path in paths:
            connection.execute(files.insert().values(build_file_row(path)))
        found = connection.execute(select(files.c.path).where(match_files_below(roots)).order_by(files.c.path))
        assert list(found.scalars()) == ["/a/b/two.jsonl", "/a/one.jsonl", "/c.jsonl"]


def build_file_row(path: str) -> dict[str, object]:
    """A row for a file of which nothing matters but its path."""
    texts = dict.fromkeys(("source", "version", "agent", "stream", "by", "scanned_at"), "")
    counts = dict.fromkeys(("inode", "size", "mtime_ns", "offset", "lines_read", "lines_skipped"), 0)
    long = dict.fromkeys(("anchor", "unknown", "prompts_at", "facts", "state", "packed_keys"), b"")
    return {"path": path, "is_mid_line": False, "is_settled": True, **texts, **counts, **long}


def test_a_store_that_lost_telemetry_is_not_sound(tmp_path: Path):
    with closing(opened(tmp_path / "s.db")) as store:
        store.telemetry.save_records([TelemetryRecord(id=f"t{n}", agent="loom", conversation="c") for n in range(2)])
        assert store.check() == []
        with store.database.writing() as connection:
            connection.execute(telemetry.delete().where(telemetry.c.id == "t1"))
        assert store.check() == ["1 conversations have lost telemetry: restore a backup, or go on without"]
