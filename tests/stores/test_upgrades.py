"""A store of any earlier version is brought up to date with all it holds, also where that was broken off."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest
from sqlalchemy import Engine, event, inspect, text

from assay.errors import StoreError
from assay.stores import FILE_URL, Store, list_schemes, open_store
from assay.stores.sql.engine import NEWEST
from tests.stores.conftest import FRESH
from tests.stores.old_stores import (
    REVISIONS,
    Rows,
    build_old_store,
    build_same_store,
    fill_store,
    load_rows,
    open_engine,
    tell,
)

FIRST_TABLES = ("files", "generation", "skips", "turns", "keys", "streams")
"""Tables of the first version."""
CASES = [
    pytest.param(scheme, revision, marks=[pytest.mark.long] if scheme in FRESH else [])
    for scheme in list_schemes()
    for revision in REVISIONS
]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """Rows for every table there is."""
    folder = tmp_path_factory.mktemp("full")
    found = fill_store(f"sqlite:///{folder / 'full.db'}", folder / "in")
    assert all(found.values())
    return found


@pytest.fixture
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str, str], str]:
    """Gives the URL of a store of a kind that is not there yet."""

    def name_url(scheme: str, name: str) -> str:
        return FRESH[scheme](tmp_path, name) if scheme in FRESH else f"{scheme}:///{tmp_path / name}.db"

    return name_url


def ask_everything(store: Store) -> list[object]:
    """What every command may ask of a store."""
    names = [(one.agent, one.id) for one in store.transcripts.list_streams(None)]
    files = store.transcripts.list_stream_files(names)
    ids = [one.segment.id for one in store.sessions.list_segments(None)]
    return [
        names,
        len(store.transcripts.find_files(["/"])),
        store.transcripts.list_tallies(["/"]),
        store.transcripts.list_skips(["/"]),
        store.transcripts.list_unsettled(),
        store.transcripts.load_pieces(files),
        [part for _, parts in store.transcripts.list_ended("2100") for part in parts],
        store.transcripts.list_without_facts(None),
        store.sessions.find_segments(ids),
        store.sessions.load_inputs(names),
        store.sessions.load_joined([("codex", "a")]),
        store.sessions.load_last_report(),
        store.corrections.load_corrections(),
        store.corrections.load_verdicts(),
        store.corrections.load_draw(),
        store.rework.load_fates([("claude-code", one) for one in ids]),
        store.answers.load_answers(["k"]),
        store.answers.list_calls(),
        store.answers.list_batches("anthropic"),
        store.promotions.list_promotions(),
        store.check(),
    ]


def check_upgraded(url: str, rows: Rows, held: Rows, same: str) -> None:
    """The store is of this version, has every row it had, and answers like one that was never of another."""
    with closing(open_store(url)) as store:
        assert store.measure().schema == NEWEST
        now = load_rows(url, held)
        for name, before in held.items():
            assert [{key: row[key] for key in old} for row, old in zip(now[name], before, strict=True)] == before, name
        build_same_store(same, rows, held)
        with closing(open_store(same)) as other:
            assert tell(store) == tell(other)
            assert ask_everything(store) == ask_everything(other)


@pytest.mark.parametrize(("scheme", "revision"), CASES)
def test_a_store_of_every_version_is_brought_up_to_date_with_all_it_holds(
    new_url: Callable[[str, str], str], rows: Rows, scheme: str, revision: str
):
    url = new_url(scheme, f"old-{revision}")
    held = build_old_store(url, revision, rows)
    assert all(held.values())
    check_upgraded(url, rows, held, new_url(scheme, f"same-{revision}"))


def name_type(found: object) -> str:
    """A type by its name; text has two in PostgreSQL, and an order."""
    return str(found).replace("VARCHAR COLLATE", "TEXT COLLATE")


def list_shapes(url: str) -> dict[str, object]:
    """Columns, keys and rules of every table."""
    with open_engine(url) as engine, engine.connect() as connection:
        seen = inspect(connection)
        return {
            name: (
                [(one["name"], name_type(one["type"]), one["nullable"]) for one in seen.get_columns(name)],
                seen.get_pk_constraint(name)["constrained_columns"],
                sorted((str(one["name"]), one["column_names"], one["unique"]) for one in seen.get_indexes(name)),
                sorted(str((one["constrained_columns"], one["referred_table"])) for one in seen.get_foreign_keys(name)),
            )
            for name in seen.get_table_names()
        }


@pytest.mark.parametrize("scheme", list_schemes())
def test_an_old_store_gets_the_tables_of_a_new_one(new_url: Callable[[str, str], str], scheme: str):
    old, new = new_url(scheme, "old"), new_url(scheme, "new")
    build_old_store(old, REVISIONS[0], dict.fromkeys(FIRST_TABLES, ()))
    open_store(old).close()
    open_store(new).close()
    assert list_shapes(old) == list_shapes(new)


# --- broken off -----------------------------------------------------------------------------------


@contextmanager
def stop_at(n: int, stop: Callable[[], None]) -> Iterator[list[str]]:
    """Have something happen before the n-th statement that any database is given; all that were begun."""
    seen: list[str] = []

    def count(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)
        if len(seen) == n:
            stop()

    event.listen(Engine, "before_cursor_execute", count)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", count)


class OutOfOrder(Exception):
    """Something went wrong in the middle."""


def fail() -> None:
    raise OutOfOrder


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def count_statements(url: str) -> int:
    """How many statements the upgrade of a store takes."""
    with stop_at(0, fail) as seen:
        open_store(url).close()
    return len(seen)


@pytest.fixture
def first(new_url: Callable[[str, str], str], rows: Rows) -> tuple[str, Rows]:
    """A store of the first version, and what it holds."""
    url = new_url("sqlite", "first")
    return url, build_old_store(url, REVISIONS[0], rows)


def check_untouched_or_done(url: str, held: Rows) -> None:
    """Between two versions nobody finds a store."""
    with open_engine(url) as engine, engine.connect() as connection:
        version = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    assert version in (REVISIONS[0], NEWEST)
    assert {name: len(some) for name, some in load_rows(url, held).items()} == {
        name: len(some) for name, some in held.items()
    }


def interrupt_in_child(url: str, n: int) -> None:
    with stop_at(n, kill):
        open_store(url).close()


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.long), 13])
def test_an_upgrade_that_fails_at_any_statement_is_made_good_by_the_next(
    first: tuple[str, Rows], rows: Rows, tmp_path: Path, every: int
):
    url, held = first
    path = Path(url.removeprefix(FILE_URL))
    shutil.copy(path, tmp_path / "last.db")
    for n in range(1, count_statements(f"{FILE_URL}{tmp_path / 'last.db'}") + 1, every):
        copy = f"{FILE_URL}{shutil.copy(path, tmp_path / f'{n}.db')}"
        with stop_at(n, fail), pytest.raises((OutOfOrder, StoreError)):
            open_store(copy)
        check_untouched_or_done(copy, held)
        open_store(copy).close()
    check_upgraded(copy, rows, held, f"{FILE_URL}{tmp_path / 'same.db'}")


@pytest.mark.long
@pytest.mark.parametrize("scheme", list_schemes())
@pytest.mark.parametrize("share", [0.1, 0.35, 0.6, 0.85, 0.99])
def test_an_upgrade_whose_process_is_killed_is_made_good_by_the_next(
    new_url: Callable[[str, str], str], rows: Rows, scheme: str, share: float
):
    other, url = new_url(scheme, "other"), new_url(scheme, "killed")
    build_old_store(other, REVISIONS[0], rows)
    held = build_old_store(url, REVISIONS[0], rows)
    n = max(1, int(count_statements(other) * share))
    process = get_context("fork").Process(target=interrupt_in_child, args=(url, n))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    check_untouched_or_done(url, held)
    check_upgraded(url, rows, held, new_url(scheme, "same"))
