"""Questions to a lake, answered by DuckDB: which sessions are meant, their rows in order, and sums of their columns."""

import atexit
import gc
import heapq
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from assay.errors import BadInput
from assay.lake.parquet import DIGEST, import_extra
from assay.lake.partitions import UNDATED, Manifest, list_files, load_manifest
from assay.lake.tables import TABLES

PORTION = 1_000
PATIENCE_S, TRIES = 0.2, 5
"""How long an export may be at putting files in place before a reader takes it for dead."""
SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": "2GB",
    "temp_directory": "",
}
ALL = "true"
IN_TIME = ("began_at", "agent", "id")
LINE_ORDER = ("at", "session", "effect", "stream", "n", "agent")


class LakeChoice(Struct, frozen=True, kw_only=True):
    """Which sessions are wanted; empty is all."""

    since: str = ""
    until: str = ""
    folders: tuple[str, ...] | None = None
    obstacle: str = ""
    flag: str = ""
    """A column that must be true."""

    def match(self) -> tuple[str, list[object]]:
        """What stands behind `WHERE`, and its values."""
        found: dict[str, list[object]] = {ALL: []}
        if self.since:
            found["ended_at >= ?"] = [self.since]
        if self.until:
            found["began_at < ?"] = [self.until]
        if self.folders is not None:
            found["list_contains(?, folder)"] = [list(self.folders)]
        if self.obstacle:
            found["obstacle = ?"] = [self.obstacle]
        if self.flag:
            found[self.flag] = []
        return " AND ".join(one for one in found if one != ALL) or ALL, [
            value for values in found.values() for value in values
        ]


class LakeReader:
    """A lake that is open to be asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.duckdb = import_extra("duckdb")
        atexit.register(gc.unfreeze)  # it complains of whatever is left of it at the end
        self.connection = self.duckdb.connect(":memory:", config=SETTINGS)
        self.manifest = self.load_whole()
        if self.manifest.form != "parquet":
            raise BadInput(f"{folder}: is a lake of JSON lines; `assay export --format parquet` makes one to be asked")
        self.files = {table: list_files(folder, self.manifest, table) for table in TABLES}

    def close(self) -> None:
        self.connection.close()

    def load_whole(self) -> Manifest:
        """The manifest, once it and the files belong together: an export may just be putting them in place."""
        for n in range(TRIES):
            found = load_manifest(self.folder)
            if found.form != "parquet" or self.has_all(found):
                return found
            time.sleep(PATIENCE_S * n)
        raise BadInput(
            f"{self.folder}: an export was stopped while it put its files in place, or somebody changed them; "
            f"`assay export -o {self.folder}` puts it right"
        )

    def has_all(self, manifest: Manifest) -> bool:
        """Whether every file that reports are made of is there, as the manifest says."""
        wanted = {
            str(path): manifest.tables[table][name].digest
            for table in ("sessions", "ledger", "streams")
            for name, path in list_files(self.folder, manifest, table).items()
        }
        if not wanted or not all(Path(path).is_file() for path in wanted):
            return not wanted
        said = self.ask(
            "SELECT file_name, value FROM parquet_kv_metadata(?) WHERE key = ?::BLOB", [list(wanted), DIGEST.decode()]
        )
        return {path: bytes(digest).decode("ascii", "replace") for path, digest in said} == wanted

    def ask(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of an answer."""
        return list(self.stream(query, values))

    def stream(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of an answer, some at a time."""
        try:
            cursor = self.connection.cursor().execute(query, list(values))
            while rows := cursor.fetchmany(PORTION):
                yield from rows
        except self.duckdb.Error as error:
            why = str(error).splitlines()[0][:200]
            raise BadInput(f"{self.folder}: can't be read: {why}; `assay export` into another folder") from None

    def name_source(self, table: str) -> str:
        """What stands behind `FROM` for all rows of a table."""
        return self.name_files([*self.files[table].values()])

    def name_files(self, paths: Sequence[Path]) -> str:
        listed = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
        return f"read_parquet([{listed}], hive_partitioning = false)"

    # --- rows -------------------------------------------------------------------------------------

    def count_rows(self, table: str) -> int:
        return sum(part.rows for part in self.manifest.tables.get(table, {}).values())

    def list_bodies(self, choice: LakeChoice, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """Sessions as JSON, in order of time."""
        where, values = choice.match()
        rows = self.list_in_order("sessions", "body", IN_TIME, where, values)
        return limit_rows(rows, self.count_skipped("sessions", where, offset), limit)

    def match_lines(self, choice: LakeChoice) -> tuple[str, list[object]]:
        """Which lines of the ledger stand in sessions that are wanted."""
        where, values = choice.match()
        chosen = f"SELECT agent, id FROM {self.name_source('sessions')} WHERE {where}"
        return (where if where == ALL else f'(agent, "of") IN ({chosen})'), values

    def count_lines(self, choice: LakeChoice) -> int:
        """How many lines these are."""
        where, values = self.match_lines(choice)
        if where == ALL or not self.files["ledger"]:
            return self.count_rows("ledger")
        [(n,)] = self.ask(f"SELECT count(*) FROM {self.name_source('ledger')} WHERE {where}", values)
        return int(n)

    def list_ledger(self, choice: LakeChoice, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """Their lines of the ledger as JSON, in order of time."""
        where, values = self.match_lines(choice)
        rows = self.list_in_order("ledger", "line", LINE_ORDER, where, values)
        return limit_rows(rows, self.count_skipped("ledger", where, offset), limit)

    def count_skipped(self, table: str, where: str, offset: int) -> tuple[int, int]:
        """Of rows that nobody wants to see, how many files at the beginning hold nothing else, and how many more."""
        parts, files = self.manifest.tables.get(table, {}), 0
        if where != ALL or f"month={UNDATED}" in parts:
            return 0, offset
        for name in self.files[table]:
            if parts[name].rows > offset:
                break
            offset -= parts[name].rows
            files += 1
        return files, offset

    def list_in_order(
        self, table: str, column: str, order: Sequence[str], where: str, values: Sequence[object]
    ) -> "OrderedFiles":
        """The values of a column, file after file; those without a date are put where they belong."""
        wanted = [f'"{name}"' for name in (column, *order)]
        ordered = "" if where == ALL else f"ORDER BY {', '.join(wanted[1:])}"  # what is joined comes in any order
        queries = [
            f"SELECT {', '.join(wanted)} FROM {self.name_files([path])} WHERE {where} {ordered}"
            for path in self.files[table].values()
        ]
        undated = [name.endswith(UNDATED) for name in self.files[table]]
        return OrderedFiles(self, queries, values, any(undated))


class OrderedFiles:
    """Rows of files that are in order of time."""

    def __init__(self, lake: LakeReader, queries: Sequence[str], values: Sequence[object], has_undated: bool) -> None:
        self.lake = lake
        self.queries = queries
        self.values = values
        self.has_undated = has_undated

    def read_from(self, files: int) -> Iterator[bytes]:
        """All values from a file on."""
        streams = [self.read_file(query) for query in self.queries[files:]]
        if self.has_undated:
            first, rest = streams[0], chain_rows(streams[1:])
            rows: Iterator[tuple[Any, ...]] = heapq.merge(first, rest, key=lambda row: tuple(row[1:]))
        else:
            rows = chain_rows(streams)
        return (row[0].encode() for row in rows)

    def read_file(self, query: str) -> Iterator[tuple[Any, ...]]:
        return self.lake.stream(query, self.values)


def chain_rows(streams: Sequence[Iterator[tuple[Any, ...]]]) -> Iterator[tuple[Any, ...]]:
    for one in streams:
        yield from one


def limit_rows(rows: OrderedFiles, skipped: tuple[int, int], limit: int | None) -> Iterator[bytes]:
    """Some of the rows."""
    files, offset = skipped
    for n, row in enumerate(rows.read_from(files)):
        if limit is not None and n >= offset + limit:
            return
        if n >= offset:
            yield row
