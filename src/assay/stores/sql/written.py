"""Scores that were seen at somebody else's: kept as soon as each is read back, so that none is sent twice."""

from collections.abc import Iterable

from msgspec import Struct
from sqlalchemy import ColumnElement, and_, delete, func, insert, select

from assay.stores.sql.schema import written
from assay.stores.sql.scored import Connecting, portions


class Where(Struct, frozen=True, kw_only=True):
    """A project on a server: many projects share a host."""

    host: str
    project: str


class Tally(Struct, frozen=True, kw_only=True):
    """How much was written, and when the last of it."""

    scores: int
    last_at: str


class KeptWritten:
    """Keeps the ids and digests of scores in SQL."""

    def __init__(self, reading: Connecting, writing: Connecting) -> None:
        self.reading = reading
        self.writing = writing

    def known(self, where: Where, ids: Iterable[str]) -> dict[str, str]:
        """Digests of those scores that are known to be there, by their ids."""
        query = select(written.c.id, written.c.digest).where(at(where))
        with self.reading() as connection:
            return {
                row.id: row.digest
                for some in portions(sorted(set(ids)))
                for row in connection.execute(query.where(written.c.id.in_(some)))
            }

    def keep(self, where: Where, id: str, digest: str, when: str) -> None:
        """Note that a score is there as its digest says, in place of what was noted of it before."""
        with self.writing() as connection:
            connection.execute(delete(written).where(at(where), written.c.id == id))
            connection.execute(
                insert(written).values(host=where.host, project=where.project, id=id, digest=digest, at=when)
            )

    def tally(self, where: Where) -> Tally:
        """How many scores are known to be there."""
        with self.reading() as connection:
            row = connection.execute(select(func.count(), func.max(written.c.at)).where(at(where))).one()
        return Tally(scores=row[0], last_at=row[1] or "")


def at(where: Where) -> ColumnElement[bool]:
    return and_(written.c.host == where.host, written.c.project == where.project)
