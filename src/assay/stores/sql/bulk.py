"""Many rows at once."""

from collections.abc import Iterable, Sequence
from functools import cache

from sqlalchemy import Column, ColumnElement, Connection, Dialect, Table, and_, false, insert, or_
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


def among(names: Iterable[tuple[str, str]], agent: Column[str], id: Column[str]) -> ColumnElement[bool]:
    """Rows of these agents and ids; SQLite finds them by index, which it does not for pairs in a list of pairs."""
    by_agent: dict[str, set[str]] = {}
    for its_agent, its_id in names:
        by_agent.setdefault(its_agent, set()).add(its_id)
    return or_(false(), *(and_(agent == one, id.in_(sorted(ids))) for one, ids in sorted(by_agent.items())))
