"""A database as the parts of the store use it: transactions, errors that people can act on, many rows at once."""

import os
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Dialect, Engine, Select, Table, insert, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

from assay.errors import StoreError
from assay.stores.sql.printed import drop_printed, save_printed
from assay.stores.sql.texts import escape_text

AT_ONCE = 400
"""Values that one statement takes."""

ID_BYTES = 6

T = TypeVar("T")


SERVER_TROUBLES = {
    "password authentication failed|no password supplied|no pg_hba.conf entry|Peer authentication failed": (
        "refuses this user ({said}); check user and password, in PGPASSWORD or ~/.pgpass"
    ),
    "could not translate host name|Name or service not known|nodename nor servname|failed to resolve host": (
        "has a host that nobody knows ({said}); check the address"
    ),
    'database ".*" does not exist': "is in no database that is there ({said}); make it with createdb",
    "permission denied": (
        "may not be used by this user ({said}); GRANT CREATE ON DATABASE … lets a user make a store of its own"
    ),
    "server closed the connection|connection is lost|terminating connection|server was lost|EOF detected": (
        "lost its connection ({said}); what was stored is kept, run again"
    ),
    "connection (?:failed|timeout)|Connection refused|could not connect|is starting up|is shutting down": (
        "can't be reached ({said}); see that the server runs, and try again"
    ),
    "lock timeout|deadlock detected|could not serialize": (
        "is in use by another program ({said}); wait for it and run again"
    ),
    "No space left|could not extend file": (
        "can't be written: the server has no space left ({said}); what was stored is kept, run again when there is some"
    ),
    "too many clients|remaining connection slots": (
        "has too many connections ({said}); try again, or raise max_connections"
    ),
}
"""What PostgreSQL says, and what to do about it."""


class Database:
    """An engine, and the place it leads to."""

    def __init__(self, engine: Engine, where: str) -> None:
        self.engine = engine
        self.where = where
        self.held = threading.local()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads, and waits for nobody."""
        held: Connection | None = getattr(self.held, "connection", None)
        if held is not None:
            yield held
            return
        with explain_errors(self.where), self.connect_reader() as connection:
            yield connection

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Have all that this thread reads meanwhile read in one transaction: a server may be far away."""
        with self.reading() as connection:
            before = getattr(self.held, "connection", None)
            self.held.connection = connection
            try:
                yield
            finally:
                self.held.connection = before

    def connect_reader(self) -> Connection:
        """A connection whose transactions only read."""
        return self.engine.connect().execution_options(reads=True)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is kept whole, or dropped whole where anything goes wrong."""
        with explain_errors(self.where), self.engine.begin() as connection, drop_printed(connection):
            yield connection

    def count_bytes(self) -> int:
        """How much room it takes."""
        paths = (Path(self.where), Path(f"{self.where}-wal"))
        return sum(path.stat().st_size for path in paths if path.exists())

    def save_printed(self, id: str, body: bytes) -> str:
        """Keep what was printed of the store as it is, until anybody changes it; gives the file it is in, if it is."""
        with explain_errors(self.where), self.engine.connect() as connection:
            return self.where if save_printed(connection, id, body) else ""

    def tidy(self) -> None:
        """Have the database look at rows of which many came in at once: SQLite finds its way without."""

    def flush(self) -> None:
        """Have the log of an SQLite database on the disk: a transaction alone outlasts a killed process, no more."""
        with explain_errors(self.where):
            for path in (f"{self.where}-wal", self.where):
                if os.path.exists(path):
                    sync_file(path)

    @contextmanager
    def scrubbing(self) -> Iterator[Connection]:
        """A transaction after which nothing of what it replaced is left in the files of an SQLite database."""
        with explain_errors(self.where), self.engine.connect() as connection:
            with connection.begin(), drop_printed(connection):
                yield connection
            driver = connection.connection.driver_connection
            if isinstance(driver, sqlite3.Connection):
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def sync_file(path: str) -> None:
    """Return once a file is on the disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


@contextmanager
def explain_errors(where: str) -> Iterator[None]:
    """Turn what a database says into what, where, and what to do."""
    try:
        yield
    except StoreError as error:
        if where in str(error):
            raise
        raise StoreError(f"can't use the store {where}: {error}") from None
    except DBAPIError as error:
        raise StoreError(explain_error(where, str(error.orig))) from error
    except sqlite3.Error as error:
        raise StoreError(explain_error(where, str(error))) from error
    except OSError as error:
        raise StoreError(f"can't use the store {where}: {error.strerror}; give another with --store") from error


def shorten_message(said: str) -> str:
    """The first line of what a server said, without the addresses it tried."""
    first = next((line.strip() for line in said.splitlines() if line.strip()), "")
    return re.sub(r'^connection failed: connection to server at "[^"]*", port \d+ failed: ', "", first)[:200]


def explain_error(where: str, said: str) -> str:
    """What to do about what the database said."""
    for pattern, advice in SERVER_TROUBLES.items():
        if re.search(pattern, said):
            return f"the store {where} {advice.format(said=shorten_message(said))}"
    if re.search(r"disk is full|disk I/O error|No space", said):
        return f"the store {where} can't be written: {said}; free some space and run again, what was stored is kept"
    if re.search(r"locked|busy", said):
        return f"the store {where} is in use by another program ({said}); wait for it, or give another with --store"
    if re.search(r"not a database|malformed", said):
        return f"{where} is not an Assay store ({said}); move it away, or give another with --store"
    if re.search(r"readonly|unable to open", said):
        return f"the store {where} can't be written ({said}); check its permissions, or give another with --store"
    return f"the store {where} failed: {said}"


def take_turn(connection: Connection) -> None:
    """Wait for other writers of a store in PostgreSQL; in SQLite they wait when they begin."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 0))"))


def read_values(connection: Connection, query: Select[Any]) -> Iterator[bytes]:
    """The values of one column of bytes, many of them: PostgreSQL would write each byte as two digits."""
    if connection.dialect.name != "postgresql":
        yield from connection.execute(query).scalars()
        return
    command = str(query.compile(dialect=connection.dialect))
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor(binary=True) as cursor:
            for (value,) in cursor.execute(command):
                yield bytes(value)
    except connection.dialect.loaded_dbapi.Error as error:
        raise DBAPIError(command, None, error) from error


def add_many(connection: Connection, table: Table, rows: Sequence[tuple[object, ...]]) -> None:
    """Insert whole rows straight through the driver: there are tens of thousands in a first scan."""
    if connection.dialect.name == "postgresql":
        copy_rows(connection, table, rows)
        return
    connection.exec_driver_sql(str(compile_insert(table, connection.dialect)), list(rows))


def copy_rows(connection: Connection, table: Table, rows: Iterable[tuple[object, ...]]) -> None:
    """Bring rows into PostgreSQL by COPY, its way to load many at once."""
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    driver: Any = connection.connection.driver_connection
    command = f'COPY "{table.name}" ({names}) FROM STDIN'
    try:
        with driver.cursor() as cursor, cursor.copy(command) as copy:
            for row in rows:
                copy.write_row([escape_text(value) if isinstance(value, str) else value for value in row])
    except connection.dialect.loaded_dbapi.Error as error:  # as all other statements have it
        raise DBAPIError(command, None, error) from error


@cache
def compile_insert(table: Table, dialect: Dialect) -> SQLCompiler:
    """The statement that inserts a row with all its columns, in their order."""
    return insert(table).compile(dialect=dialect)


def split_values(values: Sequence[T]) -> list[Sequence[T]]:
    """Values in lists that a statement can take."""
    return [values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE)]


def pack_ids(ids: Iterable[str]) -> bytes:
    """Ids of turns, 12 hexadecimal digits each, in one value."""
    return b"".join(bytes.fromhex(one) for one in ids)


def unpack_ids(ids: bytes) -> tuple[str, ...]:
    return tuple(ids[n : n + ID_BYTES].hex() for n in range(0, len(ids), ID_BYTES))
