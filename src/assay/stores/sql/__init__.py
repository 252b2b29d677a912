"""The SQL store: SQLite on a laptop, PostgreSQL for a team.

- `schema`: the tables; `migrations/` leads older stores to them
- `claim`: whose file it is, before anything touches it
- `engine`: opening it, the right journal, the right version; `postgres`: the same in PostgreSQL
- `database`: transactions, errors, many rows at once
- `transfer`: all tables out and in, checked and counted
- `selection`: which files and streams a query means
- `transcripts` with `stream_settling`, `sessions` (corrections and rework too) with `set_aside`, `answers`, `written`:
  the parts
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from assay.stores.contract import TableRows
from assay.stores.sql import transfer
from assay.stores.sql.answers import SqlAnswers
from assay.stores.sql.database import Database
from assay.stores.sql.engine import open_database
from assay.stores.sql.postgres import has_postgres, open_postgres
from assay.stores.sql.sessions import SqlCorrections, SqlRework, SqlSessions
from assay.stores.sql.transcripts import SqlTranscripts
from assay.stores.sql.written import SqlWritten
from assay.types import StoreFigures

SCHEMES = ("sqlite", "postgresql")


class SqlStore:
    """A store in a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.where = database.where
        self.transcripts = SqlTranscripts(database)
        self.sessions = SqlSessions(database)
        self.corrections = SqlCorrections(database)
        self.rework = SqlRework(database)
        self.answers = SqlAnswers(database)
        self.written = SqlWritten(database)

    def count_bytes(self) -> int:
        return self.database.count_bytes()

    def measure(self) -> StoreFigures:
        return transfer.measure_tables(self.database)

    def check(self) -> list[str]:
        return transfer.check_tables(self.database)

    def dump_tables(self) -> Iterator[TableRows]:
        return transfer.dump_tables(self.database)

    def load_tables(self, tables: Iterable[TableRows]) -> int:
        return transfer.load_tables(self.database, tables)

    def shrink(self) -> None:
        transfer.shrink_file(self.database)

    def close(self) -> None:
        self.database.engine.dispose()


def to_path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def is_postgres(url: str) -> bool:
    return url.startswith("postgresql://")


def open_store(url: str) -> SqlStore:
    """Open the store at a `sqlite:///` or `postgresql://` URL, made or brought up to date where needed."""
    return SqlStore(open_postgres(url) if is_postgres(url) else open_database(to_path(url)))


def has_store(url: str) -> bool:
    """Whether there is a file at a `sqlite:///` URL, or tables of ours at a `postgresql://` one."""
    return has_postgres(url) if is_postgres(url) else to_path(url).exists()
