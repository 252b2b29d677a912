"""A store in PostgreSQL: tenants apart, many at once, and what goes wrong with a server told in one line."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from assay.errors import BadInput, StoreError
from assay.stores import Store, has_store, open_existing_store, open_store
from assay.stores.contract.addresses import hide_password
from assay.stores.sql import SqlStore, postgres
from assay.stores.sql.database import copy_rows
from assay.stores.sql.schema import remembered
from assay.testing.claude_code import write_folder
from assay.types import PersonCorrection
from tests.postgres import PostgresServer, start_server

GONE = r"lost its connection|can't be reached"
ONE = PersonCorrection(kind="rename", turn="a" * 12, title="one", at="2026-11-09T09:00:00+00:00")


@pytest.fixture(scope="module")
def server() -> PostgresServer:
    return start_server()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that a test may break."""
    with closing(PostgresServer()) as found:
        yield found


def ask(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url.partition("?")[0], autocommit=True) as connection:
        return connection.execute(query).fetchall() if query.lstrip().startswith("SELECT") else run(connection, query)


def run(connection: psycopg.Connection, query: str) -> list[tuple[object, ...]]:
    connection.execute(query)
    return []


def count(store: Store) -> int:
    return len(store.corrections.load_corrections())


# --- tenants ------------------------------------------------------------------------------------


def test_tenants_of_one_database_see_nothing_of_each_other(server: PostgresServer):
    with closing(open_store(server.url("mill"))) as mill, closing(open_store(server.url("loom"))) as loom:
        mill.corrections.save_correction(ONE)
        assert (count(mill), count(loom)) == (1, 0)


def test_who_has_not_said_whose_rows_they_want_sees_and_writes_none(server: PostgresServer):
    ask(server.url(), "DROP ROLE IF EXISTS plain")
    ask(server.url(), "CREATE ROLE plain LOGIN")
    ask(server.url(), "GRANT CREATE ON DATABASE test TO plain")
    mine = server.url("guarded", user="plain")
    with closing(open_store(mine)) as store:
        store.corrections.save_correction(ONE)
        assert count(store) == 1
    assert ask(mine, "SELECT count(*) FROM assay_guarded.corrections") == [(0,)]
    with psycopg.connect(mine.partition("?")[0]) as connection:
        connection.execute("SET assay.tenant = 'another'")
        assert connection.execute("SELECT count(*) FROM assay_guarded.corrections").fetchall() == [(0,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("INSERT INTO assay_guarded.remembered VALUES ('x', 'y')")


def test_every_table_has_row_level_security(server: PostgresServer):
    open_store(server.url("every")).close()
    bare = "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    open_tables = f"{bare} WHERE nspname = 'assay_every' AND relkind = 'r' AND NOT relforcerowsecurity"
    assert ask(server.url(), open_tables) == [("alembic_version",)]


@pytest.mark.parametrize("name", ["", "A", "a b", "a;drop schema x", "x" * 41, "-a", 'a"b', "ä"])
def test_a_name_that_is_no_tenants_is_refused(server: PostgresServer, name: str):
    with pytest.raises(BadInput, match="tenant's name"):
        open_store(f"{server.url()}?tenant={name}")


# --- as any store ---------------------------------------------------------------------------------


def test_a_store_is_there_once_it_was_opened(server: PostgresServer):
    url = server.url("born")
    assert not has_store(url)
    with pytest.raises(BadInput, match="there is no store at postgresql://assay@"):
        open_existing_store(url)
    open_store(url).close()
    assert has_store(url)


@pytest.mark.parametrize("password", ["hush", "hu/hush", "hush#hu", "hush?hu", "hu@hush", "hush:hush", "[hush"])
def test_the_password_is_never_shown(password: str):
    url = f"postgresql://ada:{password}@db.example:5432/work?tenant=mill&sslpassword=hush"
    assert hide_password(url) == "postgresql://ada@db.example:5432/work?tenant=mill"


def test_an_error_shows_no_password(server: PostgresServer):
    url = server.url("unborn").replace("assay@", "assay:hush@")
    with pytest.raises(BadInput, match="there is no store at postgresql://assay@") as told:
        open_existing_store(url)
    assert "hush" not in str(told.value)


def test_an_address_that_is_none_is_told_without_its_password():
    with pytest.raises(BadInput, match="is no PostgreSQL address") as told:
        open_store("postgresql://ada:[hush@db.example/work")
    assert "hush" not in str(told.value)


def test_rows_come_by_copy_whatever_stands_in_them(server: PostgresServer):
    odd = "tab\tline\nback\\slash \\N \x00 \ue000 \U0001f600"
    with closing(open_store(server.url("odd"))) as store:
        store.corrections.save_correction(PersonCorrection(kind="rename", turn="b", title=odd, at="2026"))
        assert [one.title for one in store.corrections.load_corrections()] == [odd]


# --- what goes wrong ------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_told_in_a_line():
    with pytest.raises(StoreError, match=r"can't be reached .* see that the server runs") as told:
        open_store("postgresql://ada:hush@127.0.0.1:1/work")
    assert "\n" not in str(told.value)
    assert "hush" not in str(told.value)


def test_a_wrong_password_a_missing_database_and_no_rights_are_told_apart(own_server: PostgresServer):
    rules = own_server.data / "pg_hba.conf"
    rules.write_text("host all locked 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
    ask(own_server.url(), "CREATE ROLE locked LOGIN PASSWORD 'right'")
    ask(own_server.url(), "CREATE ROLE poor LOGIN")
    ask(own_server.url(), "SELECT pg_reload_conf()")
    place = f"127.0.0.1:{own_server.port}"
    for url, said in {
        f"postgresql://locked:wrong@{place}/test": "refuses this user .* check user and password",
        f"postgresql://assay@{place}/nowhere": "is in no database that is there .* createdb",
        f"postgresql://poor@{place}/test": "may not be used by this user .* GRANT CREATE",
        "postgresql://assay@no-such-host.invalid/test": "a host that nobody knows",
    }.items():
        with pytest.raises(StoreError, match=said) as told:
            open_store(url)
        assert "wrong" not in str(told.value)


def test_a_newer_store_is_left_alone(server: PostgresServer):
    open_store(server.url("newer")).close()
    ask(server.url(), "UPDATE assay_newer.alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="written by a newer Assay"):
        open_store(server.url("newer"))


def test_whoever_waits_too_long_for_another_writer_is_told(server: PostgresServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(postgres, "WAIT_S", 1)
    with closing(open_store(server.url("held"))) as store:
        assert isinstance(store, SqlStore)
        with store.database.writing(), pytest.raises(StoreError, match="is in use by another program"):
            store.corrections.save_correction(ONE)
        store.corrections.save_correction(ONE)
        assert count(store) == 1


def test_readers_do_not_wait_for_a_writer_and_see_all_of_it_or_nothing(server: PostgresServer):
    with closing(open_store(server.url("reading"))) as store:
        assert isinstance(store, SqlStore)
        with store.database.writing() as connection:
            connection.execute(text("INSERT INTO remembered VALUES ('audit', '')"))
            assert store.corrections.load_draw() is None


def test_a_lost_connection_loses_only_what_was_under_way(server: PostgresServer):
    with closing(open_store(server.url("cut-off"))) as store:
        assert isinstance(store, SqlStore)
        store.corrections.save_correction(ONE)
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'assay'"

        def lose() -> None:
            with store.database.writing() as held:
                held.execute(text("DELETE FROM corrections"))
                ask(server.url(), others)
                held.execute(text("SELECT 1"))

        with pytest.raises(StoreError, match=GONE):
            lose()
        assert count(store) == 1


def test_a_connection_lost_while_rows_are_copied_is_told_and_nothing_of_them_is_kept(server: PostgresServer):
    with closing(open_store(server.url("torn"))) as store:
        assert isinstance(store, SqlStore)

        def list_rows() -> Iterator[tuple[object, ...]]:
            for n in range(50_000):
                if n == 20_000:
                    ask(server.url(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%'")
                yield f"{n}", b"row"

        def copy_all() -> None:
            with store.database.writing() as connection:
                copy_rows(connection, remembered, list_rows())

        with pytest.raises(StoreError, match=GONE) as told:
            copy_all()
        assert "\n" not in str(told.value)
        with store.database.reading() as connection:
            assert connection.execute(text("SELECT count(*) FROM remembered")).scalar() == 0


@pytest.mark.long
def test_a_server_that_is_killed_in_the_middle_has_lost_nothing_that_was_stored(own_server: PostgresServer):
    with closing(open_store(own_server.url("hit"))) as store:
        saved = []

        def save_on() -> None:
            while True:
                store.corrections.save_correction(ONE)
                saved.append(1)

        with ThreadPoolExecutor(1) as pool:
            killing = pool.submit(lambda: (time.sleep(0.5), own_server.stop("immediate")))
            with pytest.raises(StoreError, match=GONE):
                save_on()
            killing.result()
        own_server.start()
        assert len(saved) <= count(store) <= len(saved) + 1


SCAN = """
import sys
from assay.config import Config
from assay.pipeline.score import read_transcripts
from pathlib import Path
with read_transcripts([Path(sys.argv[1])], Config(store=sys.argv[2]), jobs=1) as found:
    print(found.changes.new)
"""


@pytest.mark.long
def test_six_writers_and_two_readers_end_as_if_they_had_taken_turns(server: PostgresServer, tmp_path: Path):
    url = server.url("crowd")
    open_store(url).close()
    for n in range(6):
        write_folder(tmp_path / f"in{n}", files=8, turns=3)
        for file in (tmp_path / f"in{n}").rglob("*.jsonl"):
            file.write_text(file.read_text().replace("-loom", f"-loom-{n}"))
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    writers = [
        subprocess.Popen([sys.executable, "-c", SCAN, str(tmp_path / f"in{n}"), url], env=env, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for n in range(6)
    ]  # fmt: skip

    def read() -> list[int]:
        seen = []
        with closing(open_store(url)) as store:
            while any(one.poll() is None for one in writers):
                seen.append(len(store.transcripts.list_streams(None)))
        return seen

    with ThreadPoolExecutor(2) as pool:
        seen = [one.result() for one in [pool.submit(read), pool.submit(read)]]
    told = [one.communicate(timeout=60) for one in writers]
    assert [out.strip() for out, _ in told] == ["8"] * 6, told
    assert all(one == sorted(one) for one in seen)
    with closing(open_store(url)) as store:
        assert len(store.transcripts.list_streams(None)) == 48
