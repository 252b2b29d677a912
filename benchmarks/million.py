"""A million sessions: `python -m benchmarks.million [--base 100000] [--times 10] [--postgres] [--http]`.

So many are not made of files: what a store holds of 100,000 is copied under other ids, in other folders and in the
years before. Then what commands ask of a store is timed, by the functions that they call: all but starting Python,
looking for files that changed, and drawing. What a stream said is not copied, since none of that is asked for. With
`--http` a server is asked, too, over HTTP.
"""

import argparse
import os
import re
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx
from sqlalchemy import update

from assay.cli.settings import load_config
from assay.config import Config, pick_zone
from assay.pipeline.inputs import find_transcripts
from assay.pipeline.kept_report import open_kept
from assay.pipeline.lookup import find_sessions
from assay.pipeline.score import open_run, score_run
from assay.reports.score import render_score
from assay.scores.report import Report
from assay.stores import FILE_URL, Store, TableRows, open_store
from assay.stores.sql import SqlStore
from assay.stores.sql.schema import neighbourhoods
from benchmarks.growth import ROOT, Place, find_code
from benchmarks.scan import machine
from benchmarks.served import serve
from tests.postgres import USER, start_server

LEFT_OUT = frozenset({"turns", "keys", "skips"})
"""What files said."""
COPIED = frozenset(
    "files streams cuts segments joined rework neighbourhoods told_streams told told_ledger commit_deeds".split()
)
EMPTIED = frozenset({("files", "state"), ("files", "packed_keys"), ("segments", "segment"), ("segments", "judged")})
"""What is read only once something changes, and takes half of the room."""
NUMBERS = ("id", "file_id")
STRIDE = 10_000_000
ID = re.compile(rb"(?<![0-9a-f])[0-9a-f]{12}(?![0-9a-f])")
SHIFT, ALL_BITS = 0x5F3A_91C0_77D1, (1 << 48) - 1
YEAR, YEARS = 2026, 10
"""Copies lie in this year and those before; of more copies several in each."""
LISTING = "the files are what they were"
FOLDER = b"/home/dev/"
Cell = object
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Original:
    """A value that differs from copy to copy in ids, folders and years, never in length."""

    value: Cell
    text: bytes
    ids: frozenset[bytes]

    def copy(self, number: int) -> Cell:
        if isinstance(self.value, int):
            return self.value + number * STRIDE
        found = self.text.replace(FOLDER, b"/home/d%02d/" % number).replace(
            b"%d-" % YEAR, b"%d-" % (YEAR - number % YEARS)
        )
        for one in self.ids:
            found = found.replace(one, b"%012x" % ((int(one, 16) + number * SHIFT) & ALL_BITS))
        return found.decode("utf-8", "surrogatepass") if isinstance(self.value, str) else found


def read_original(column: str, value: Cell) -> Original | None:
    """What is to be changed of a value; nothing of most."""
    if isinstance(value, int):
        is_number = column in NUMBERS and not isinstance(value, bool)
        return Original(value, b"", frozenset()) if is_number else None
    if not isinstance(value, str | bytes):
        return None
    text = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    ids = frozenset(ID.findall(text))
    return Original(value, text, ids) if ids or FOLDER in text or b"%d-" % YEAR in text else None


def multiply_tables(tables: Iterator[TableRows], times: int) -> Iterator[TableRows]:
    """All tables, those of sessions so many times over."""
    for one in tables:
        portions: Iterator[Sequence[Row]] = iter(()) if one.name in LEFT_OUT else iter(one.portions)
        if one.name in COPIED:
            portions = repeat_rows(one.name, one.columns, portions, times)
        yield TableRows(name=one.name, columns=one.columns, portions=portions)


def repeat_rows(
    table: str, columns: Sequence[str], portions: Iterator[Sequence[Row]], times: int
) -> Iterator[Sequence[Row]]:
    """The rows, and copies of them."""
    for rows in portions:
        yield rows
        kept = [empty_cells(table, columns, row) for row in rows]
        differing = [
            [(at, found) for at, cell in enumerate(row) if (found := read_original(columns[at], cell))] for row in kept
        ]
        for number in range(1, times):
            copies = [list(row) for row in kept]
            for copy, changes in zip(copies, differing, strict=True):
                for at, one in changes:
                    copy[at] = one.copy(number)
            yield list(map(tuple, copies))


def empty_cells(table: str, columns: Sequence[str], row: Row) -> Row:
    return tuple(b"" if (table, column) in EMPTIED else cell for column, cell in zip(columns, row, strict=True))


def sign_copies(store: Store, config: Config, roots: Sequence[str]) -> None:
    """Note what the world says of the copied folders, as if they had been told: nothing is to be told anew."""
    with open_run(store, config, roots) as run:
        teller = open_kept(run, pick_zone(config), may_begin=False)
        assert teller is not None, "the store was told under other settings: fill a new one"
        found = teller.find_neighbours({})
        teller.name_projects(found, {})
        keys = {one.name: teller.hash_key(one) for one in found}
    assert isinstance(store, SqlStore)
    with store.database.writing() as connection:
        for name, key in keys.items():
            connection.execute(update(neighbourhoods).where(neighbourhoods.c.name == name).values(key=key))


def list_questions(store: Store, config: Config, roots: Sequence[str], shown: str) -> Mapping[str, Callable[[], int]]:
    """What is timed; each gives how many sessions it was about."""
    zone = pick_zone(config)

    def ask(listing: str = LISTING) -> Report:
        with open_run(store, config, roots) as run:
            return score_run(run, remembers=False, listing=listing).report

    def draw_weeks() -> int:
        report = ask()
        render_score(report, zone, 120, ["week"])
        return len(report.sessions)

    return {
        "`score`, unchanged": lambda: len(ask().sessions),
        "`score --by week`, unchanged": draw_weeks,
        "`sessions --limit 30`, unchanged": lambda: len(ask().sessions[-30:]),
        "`show ID`": lambda: len(find_sessions(store, config, shown)),
        "`score`, counted anew": lambda: len(ask(listing="").sessions),
    }


def keep_report(store: Store, config: Config, roots: Sequence[str]) -> None:
    """Score once as a command does, so that the next one finds a report that still stands."""
    with open_run(store, config, roots) as run:
        score_run(run, listing=LISTING)


def time_questions(store: Store, config: Config, roots: Sequence[str], shown: str, repeats: int) -> list[str]:
    """A line of the table per question: wall and CPU milliseconds, the best of all repeats."""
    lines = []
    for title, ask in list_questions(store, config, roots, shown).items():
        walls, cpus = [], []
        for _ in range(repeats):
            began, used = time.perf_counter(), time.process_time()
            about = ask()
            walls.append(time.perf_counter() - began)
            cpus.append(time.process_time() - used)
        lines.append(f"| {title} | {about:,} | {min(walls) * 1000:,.0f} | {min(cpus) * 1000:,.0f} |")
    return lines


def fill_store(source: str, url: str, times: int) -> None:
    """Multiply a store into one that is empty."""
    with closing(open_store(f"sqlite:///{source}")) as one:
        tables = multiply_tables(one.dump_tables(), times)
        if url.startswith(FILE_URL):
            fill_file(Path(url.removeprefix(FILE_URL)), tables)
        else:
            with closing(open_store(url)) as other:
                other.load_tables(tables)


def fill_file(path: Path, tables: Iterator[TableRows]) -> None:
    """Without a journal, and with indexes that are made at the end: all of it or nothing would take an hour."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for setting in ("journal_mode=OFF", "synchronous=OFF", "foreign_keys=OFF", "cache_size=-1000000"):
            connection.execute(f"PRAGMA {setting}")
        listed = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL"
        indexes = connection.execute(listed).fetchall()
        for name, _ in indexes:
            connection.execute(f'DROP INDEX "{name}"')
        connection.execute("DELETE FROM generation")
        connection.execute("BEGIN")
        for one in tables:
            places = ", ".join("?" for _ in one.columns)
            names = ", ".join(f'"{name}"' for name in one.columns)
            for rows in one.portions:
                connection.executemany(f'INSERT INTO "{one.name}" ({names}) VALUES ({places})', rows)
        connection.execute("COMMIT")
        for _, made in indexes:
            connection.execute(made)
        connection.execute("PRAGMA journal_mode=WAL")


def is_empty(url: str) -> bool:
    with closing(open_store(url)) as store:
        return not store.measure().streams


def pick_session(store: Store) -> str:
    """The id of a session to show: the one that ended last."""
    found = store.told.find_last()
    assert found is not None
    return found[1]


def measure_store(url: str, place: Place, repeats: int) -> str:
    """The table of one store, which is filled."""
    config = load_config(store=url)
    roots = find_transcripts([place.files], config).roots
    with closing(open_store(url)) as store:
        sign_copies(store, config, roots)
        keep_report(store, config, roots)
        lines = time_questions(store, config, roots, pick_session(store), repeats)
    return "\n".join(["| asked | sessions | wall ms | CPU ms |", "| --- | ---: | ---: | ---: |", *lines])


def measure_http(url: str, repeats: int) -> str:
    """The table of a server on a store: the first answer of each kind, and those after it."""
    with closing(open_store(url)) as store:
        shown = pick_session(store)
    asked: dict[str, dict[str, str | int]] = {
        "/api/v1/score": {},
        "/api/v1/trend": {},
        "/api/v1/sessions": {"limit": 50},
        f"/api/v1/sessions/{shown}": {},
        "/api/v1/sessions, a page in the middle": {"limit": 50, "until": "2024-06-01"},
        "/api/v1/score, of a year": {"since": "2025-01-01", "until": "2025-02-01"},
    }
    lines = [
        "| asked over HTTP | status | first ms | median ms of the next | bytes |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    with serve(url) as (address, _), httpx.Client(base_url=address, timeout=600) as client:
        for title, params in asked.items():
            took = []
            for _ in range(repeats + 1):
                began = time.perf_counter()
                answer = client.get(title.partition(",")[0], params=params)
                took.append(1000 * (time.perf_counter() - began))
            name = title.replace(shown, "ID")
            rest = statistics.median(took[1:])
            lines.append(
                f"| `{name}` | {answer.status_code} | {took[0]:,.0f} | {rest:,.0f} | {len(answer.content):,} |"
            )
    return "\n".join(lines)


def prepare_url(kind: str, work: Path) -> str:
    if kind == "SQLite":
        return f"sqlite:///{work / 'million.db'}"
    server = start_server()
    server.run("createdb", "-h", "127.0.0.1", "-p", str(server.port), "-U", USER, "million")
    return f"postgresql://{USER}@127.0.0.1:{server.port}/million"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.million", description=__doc__)
    parser.add_argument("--dir", type=Path, help="where `benchmarks.growth` keeps files and stores")
    parser.add_argument("--base", type=int, default=100_000, help="sessions to begin with")
    parser.add_argument("--times", type=int, default=10, help="how often they are there in the end")
    parser.add_argument("--begin", default="", help="begin with a copy of the store that this commit made")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server that is started for it, too")
    parser.add_argument("--store", help="on the store at this URL alone; it is filled if it is empty, and stays")
    parser.add_argument("--http", action="store_true", help="ask a server over HTTP, too")
    parser.add_argument("--fill", action="store_true", help="fill only")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    args = read_arguments()
    scratch = (args.dir or Path(tempfile.gettempdir()) / "assay-growth").resolve()
    work = Path(tempfile.mkdtemp(prefix="assay-million-"))
    kinds = ("SQLite", "PostgreSQL") if args.postgres else ("SQLite",)
    try:
        with closing(Place(scratch, args.base, args.seed)) as place:
            code = find_code(str(ROOT), scratch)
            home = place.folder / "home" / code.name
            os.environ |= code.env(home)
            os.chdir(home)
            for url in [args.store] if args.store else (prepare_url(kind, work) for kind in kinds):
                if is_empty(url):
                    fill_store(place.open_side(code, args.begin).store, url, args.times)
                print(f"{machine()}; {url.partition(':')[0]}, best of {args.repeats}\n", flush=True)
                if not args.fill:
                    print(measure_store(url, place, args.repeats), flush=True)
                if args.http and not args.fill:
                    print("", measure_http(url, args.repeats), sep="\n", flush=True)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
