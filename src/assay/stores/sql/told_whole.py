"""All that was told, in SQL, row by row and in order of time: for those who take it somewhere else."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Row, Select, and_, func, select

from assay.stores.contract.told import CountedStream, ToldLine, ToldRow
from assay.stores.sql.database import Database
from assay.stores.sql.schema import streams, told, told_ledger
from assay.stores.sql.selection import has_outside, match_streams
from assay.stores.sql.shipped_changes import OF_SESSION
from assay.stores.sql.shipped_tables import shipped, shipped_streams
from assay.types.shipping import SHIPPED_ROOT

PORTION = 1_000
IN_TIME = (told.c.began_at, told.c.agent, told.c.id)
LINE_ORDER = [column for column in told_ledger.primary_key.columns if column.name != "agent"]
LINE = [told_ledger.c[name] for name in ToldLine.__struct_fields__]
ROW = [told.c[name] for name in ToldRow.__struct_fields__ if name not in ("work", "input")]
WENT_ON = (
    select(func.count())
    .where(and_(told.c.agent == told_ledger.c.agent, told.c.id == told_ledger.c.id), told_ledger.c.effect == "went_on")
    .scalar_subquery()
    .label("went_on")
)


class ToldWhole:
    """Reads all that was told."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def list_digests(self) -> Iterator[tuple[str, str]]:
        columns = (told.c.began_at, told.c.digest, told.c.is_news, told.c.crushed)
        for row in self.stream_rows(select(*columns).order_by(*IN_TIME)):
            yield row.began_at, f"{row.digest.hex()}{'-' if row.is_news and row.crushed is False else ''}"

    def list_rows(self, first: str = "", behind: str = "") -> Iterator[tuple[ToldRow, int]]:
        query = select(*ROW, WENT_ON).where(*match_span(told.c.began_at, first, behind)).order_by(*IN_TIME)
        for row in self.stream_rows(query):
            found = row._asdict()
            went_on = found.pop("went_on")
            yield ToldRow(**found, work=b""), went_on

    def list_lines(self, first: str = "", behind: str = "") -> Iterator[ToldLine]:
        query = select(*LINE).where(*match_span(told_ledger.c.at, first, behind))
        for row in self.stream_rows(query.order_by(*LINE_ORDER, told_ledger.c.agent)):
            yield ToldLine(**row._asdict())

    def list_counted_streams(self, roots: Sequence[str] | None) -> Iterator[CountedStream]:
        with self.database.reading() as connection:
            some = None if roots is not None and not has_outside(connection, roots) else roots
        columns = (streams.c.agent, streams.c.id, streams.c.project, streams.c.began_at, streams.c.ended_at)
        query = select(*columns).where(*match_streams(some)).order_by(streams.c.began_at, streams.c.agent, streams.c.id)
        yield from (build_stream(row, is_shipped=False) for row in self.stream_rows(query))
        if roots is not None and SHIPPED_ROOT not in roots:
            return
        own = (shipped.c.project, shipped.c.began_at, shipped.c.ended_at)
        named = (shipped_streams.c.agent, shipped_streams.c.stream.label("id"))
        several = select(*named, *own).join(shipped, OF_SESSION).distinct()
        ordered = several.order_by(shipped.c.began_at, *named, shipped.c.ended_at, shipped.c.project)
        yield from (build_stream(row, is_shipped=True) for row in self.stream_rows(ordered))

    def stream_rows(self, query: Select[Any]) -> Iterator[Row[Any]]:
        """Rows, some at a time: what nobody holds takes no memory."""
        with (
            self.database.reading() as connection,
            connection.execution_options(yield_per=PORTION).execute(query) as rows,
        ):
            for some in rows.partitions():
                yield from some


def match_span(column: Column[Any], first: str, behind: str) -> list[ColumnElement[bool]]:
    """That a time lies between two others; an empty one is no limit."""
    return [*([column >= first] if first else []), *([column < behind] if behind else [])]


def build_stream(row: Row[Any], *, is_shipped: bool) -> CountedStream:
    return CountedStream(
        agent=row.agent,
        id=row.id,
        folder=row.project,
        began_at=row.began_at,
        ended_at=row.ended_at,
        is_shipped=is_shipped,
    )
