"""Many rows at once."""

from collections.abc import Sequence
from functools import cache

from sqlalchemy import Connection, Dialect, Table, insert
from sqlalchemy.sql.compiler import SQLCompiler


def add_many(connection: Connection, table: Table, rows: Sequence[tuple[object, ...]]) -> None:
    """Insert whole rows straight through the driver: there are tens of thousands in a first scan."""
    adding = insertion(table, connection.dialect)
    if adding.positional:
        connection.exec_driver_sql(str(adding), list(rows))
    else:
        names = [column.name for column in table.columns]
        connection.execute(insert(table), [dict(zip(names, row, strict=True)) for row in rows])


@cache
def insertion(table: Table, dialect: Dialect) -> SQLCompiler:
    """The statement that inserts a row with all its columns, in their order."""
    return insert(table).compile(dialect=dialect)
