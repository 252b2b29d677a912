"""A database as the parts of the store use it: transactions, errors that people can act on, many rows at once."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from sqlalchemy import Connection, Dialect, Engine, Table, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler

from assay.errors import StoreError

AT_ONCE = 400
"""Values that one statement takes."""

T = TypeVar("T")


class Database:
    """An engine, and the place it leads to."""

    def __init__(self, engine: Engine, where: str) -> None:
        self.engine = engine
        self.where = where

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that only reads, and waits for nobody."""
        with explain_errors(self.where), self.engine.connect().execution_options(reads=True) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is kept whole, or dropped whole where anything goes wrong."""
        with explain_errors(self.where), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def scrubbing(self) -> Iterator[Connection]:
        """A transaction after which nothing of what it replaced is left in the files of an SQLite database."""
        with explain_errors(self.where), self.engine.connect() as connection:
            is_sqlite = connection.dialect.name == "sqlite"
            driver = connection.connection.driver_connection
            if is_sqlite and isinstance(driver, sqlite3.Connection):
                driver.execute("PRAGMA secure_delete=ON")
            with connection.begin():
                yield connection
            if is_sqlite and isinstance(driver, sqlite3.Connection):
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                driver.execute("PRAGMA secure_delete=OFF")


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


def explain_error(where: str, said: str) -> str:
    """What to do about what the database said."""
    if re.search(r"disk is full|disk I/O error|No space", said):
        return f"the store {where} can't be written: {said}; free some space and run again, what was stored is kept"
    if re.search(r"locked|busy", said):
        return f"the store {where} is in use by another program ({said}); wait for it, or give another with --store"
    if re.search(r"not a database|malformed", said):
        return f"{where} is not an Assay store ({said}); move it away, or give another with --store"
    if re.search(r"readonly|unable to open", said):
        return f"the store {where} can't be written ({said}); check its permissions, or give another with --store"
    return f"the store {where} failed: {said}"


def add_many(connection: Connection, table: Table, rows: Sequence[tuple[object, ...]]) -> None:
    """Insert whole rows straight through the driver: there are tens of thousands in a first scan."""
    statement = compile_insert(table, connection.dialect)
    if statement.positional:
        connection.exec_driver_sql(str(statement), list(rows))
    else:
        names = [column.name for column in table.columns]
        connection.execute(insert(table), [dict(zip(names, row, strict=True)) for row in rows])


@cache
def compile_insert(table: Table, dialect: Dialect) -> SQLCompiler:
    """The statement that inserts a row with all its columns, in their order."""
    return insert(table).compile(dialect=dialect)


def split_values(values: Sequence[T]) -> list[Sequence[T]]:
    """Values in lists that a statement can take."""
    return [values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE)]
