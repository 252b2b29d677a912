"""All that a store holds, read out and taken in table by table; whether it is sound; how much of what it has."""

import sqlite3
from collections.abc import Iterable, Iterator

from sqlalchemy import BigInteger, Connection, Integer, Table, and_, func, select, text

from assay.errors import StoreError
from assay.stores.contract import TableRows
from assay.stores.sql.database import Database, add_many, explain_errors
from assay.stores.sql.engine import load_version
from assay.stores.sql.schema import (
    TABLES,
    answers,
    conversations,
    corrections,
    files,
    generation,
    printed,
    segments,
    streams,
    telemetry,
    turns,
    verdicts,
)
from assay.types import StoreFigures

HANDED_ON = [table for table in TABLES.sorted_tables if table is not printed]
PORTION = 2_000
"""Rows that are in memory at once."""


class Transfer:
    """All tables of a store."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def dump(self) -> Iterator[TableRows]:
        return dump_tables(self.database)

    def load(self, found: Iterable[TableRows]) -> int:
        return load_tables(self.database, found)

    def check(self) -> list[str]:
        return check_tables(self.database)

    def measure(self) -> StoreFigures:
        return measure_tables(self.database)

    def shrink(self) -> None:
        shrink_file(self.database)


def dump_tables(database: Database) -> Iterator[TableRows]:
    """Every table as it is in one moment, those first that others refer to."""
    with database.reading() as connection:
        for table in HANDED_ON:
            names = tuple(column.name for column in table.columns)
            yield TableRows(name=table.name, columns=names, portions=read_portions(connection, table))


def read_portions(connection: Connection, table: Table) -> Iterator[list[tuple[object, ...]]]:
    """The rows of a table by its key, some at a time."""
    query = select(table).order_by(*table.primary_key.columns)
    with connection.execution_options(yield_per=PORTION).execute(query) as rows:
        for some in rows.partitions():
            yield [tuple(row) for row in some]


def load_tables(database: Database, found: Iterable[TableRows]) -> int:
    """Take in what another store holds, all of it or nothing; gives how many rows that were."""
    known = {table.name: table for table in HANDED_ON}
    total = 0
    with database.writing() as connection:
        refuse_full(connection, database.where)
        connection.execute(generation.delete())
        for one in found:
            table = known[one.name]
            if one.columns != tuple(column.name for column in table.columns):
                raise StoreError(f"the table {one.name} of the other store has other columns; update Assay")
            for rows in one.portions:
                add_many(connection, table, rows)
                total += len(rows)
            go_on_counting(connection, table)
    database.tidy()
    return total


def refuse_full(connection: Connection, where: str) -> None:
    """Take nothing into a store that holds something."""
    for table in HANDED_ON:
        if table is not generation and connection.execute(select(1).select_from(table).limit(1)).first():
            raise StoreError(f"the store {where} is not empty; give one that is not there yet")


def go_on_counting(connection: Connection, table: Table) -> None:
    """Have the next row's number come after those that were taken in; SQLite does so by itself."""
    key = list(table.primary_key.columns)
    if connection.dialect.name != "postgresql" or len(key) != 1 or not isinstance(key[0].type, Integer | BigInteger):
        return
    highest = connection.execute(select(func.max(key[0]))).scalar()
    counter = connection.execute(text(f"SELECT pg_get_serial_sequence('\"{table.name}\"', '{key[0].name}')")).scalar()
    if highest is not None and counter:
        connection.execute(text("SELECT setval(:counter, :highest)"), {"counter": counter, "highest": highest})


def check_tables(database: Database) -> list[str]:
    """What is wrong with a store; nothing where all is well."""
    with database.reading() as connection:
        found = check_file(connection) if connection.dialect.name == "sqlite" else []
        if found:
            return found
        for table in TABLES.sorted_tables:
            for key in table.foreign_key_constraints:
                pairs = [(one.parent, one.column) for one in key.elements]
                there_in = pairs[0][1].table.name
                other = TABLES.tables[there_in].alias()
                there = select(1).where(*(other.c[column.name] == parent for parent, column in pairs)).exists()
                lost = connection.execute(select(func.count()).select_from(table).where(~there)).scalar_one()
                if lost:
                    found.append(f"{lost} rows of {table.name} belong to nothing in {there_in}")
        unread = (
            select(func.count())
            .select_from(streams)
            .where(~select(turns.c.n).where(turns.c.file_id == streams.c.file_id).exists(), streams.c.turns > 0)
        )
        if lost := connection.execute(unread).scalar_one():
            found.append(f"{lost} streams have lost their turns: run `assay score` on a new store")
        mine = and_(telemetry.c.agent == conversations.c.agent, telemetry.c.conversation == conversations.c.id)
        kept = select(func.count()).select_from(telemetry).where(mine).scalar_subquery()
        uneven = select(func.count()).select_from(conversations).where(conversations.c.records != kept)
        if lost := connection.execute(uneven).scalar_one():
            found.append(f"{lost} conversations have lost telemetry: restore a backup, or go on without")
    return found


def check_file(connection: Connection) -> list[str]:
    """What SQLite says of its file."""
    said = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars().all()
    return [] if said == ["ok"] else [str(one) for one in said]


def measure_tables(database: Database) -> StoreFigures:
    """How much of what a store holds."""
    with database.reading() as connection:

        def count(table: Table) -> int:
            return int(connection.execute(select(func.count()).select_from(table)).scalar_one())

        first, last = connection.execute(select(func.min(streams.c.began_at), func.max(streams.c.ended_at))).one()
        forgotten = select(func.count()).select_from(streams).where(streams.c.is_forgotten)
        return StoreFigures(
            schema=load_version(connection),
            files=count(files),
            streams=count(streams),
            turns=count(turns),
            segments=count(segments),
            answers=count(answers),
            corrections=count(corrections),
            verdicts=count(verdicts),
            forgotten=connection.execute(forgotten).scalar_one(),
            first_at=first or "",
            last_at=last or "",
        )


def shrink_file(database: Database) -> None:
    """Give back what room an SQLite store no longer needs."""
    with explain_errors(database.where), database.engine.connect() as connection:
        driver = connection.connection.driver_connection
        if isinstance(driver, sqlite3.Connection):
            driver.execute("VACUUM")
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
