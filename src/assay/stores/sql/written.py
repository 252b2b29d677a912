"""Scores that were written to a server and read back from it, in SQL."""

from collections.abc import Iterable

from msgspec.structs import asdict
from sqlalchemy import ColumnElement, and_, delete, func, insert, select

from assay.stores.contract import UPLOADED, RemoteProject, WrittenRow, WrittenTally
from assay.stores.sql.database import Database, split_values
from assay.stores.sql.schema import written


class SqlWritten:
    """Keeps the ids and digests of scores."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def load_digests(self, project: RemoteProject, ids: Iterable[str]) -> dict[str, str]:
        query = select(written.c.id, written.c.digest).where(in_project(project))
        with self.database.reading() as connection:
            return {
                row.id: row.digest
                for some in split_values(sorted(set(ids)))
                for row in connection.execute(query.where(written.c.id.in_(some)))
            }

    def save_row(self, project: RemoteProject, row: WrittenRow, at: str) -> None:
        kept = {"host": project.host, "project": project.project, "at": at, **asdict(row)}
        with self.database.writing() as connection:
            connection.execute(delete(written).where(in_project(project), written.c.id == row.id))
            connection.execute(insert(written).values(kept))

    def list_rows(self, project: RemoteProject, sessions: Iterable[str] | None = None) -> list[WrittenRow]:
        columns = [written.c[name] for name in WrittenRow.__struct_fields__]
        query = select(*columns).where(in_project(project)).order_by(written.c.id)
        queries = (
            [query]
            if sessions is None
            else [query.where(written.c.session.in_(some)) for some in split_values(sorted(set(sessions)))]
        )
        with self.database.reading() as connection:
            return [WrittenRow(**row) for one in queries for row in connection.execute(one).mappings()]

    def forget_rows(self, project: RemoteProject, ids: Iterable[str]) -> None:
        with self.database.writing() as connection:
            for some in split_values(sorted(set(ids))):
                connection.execute(delete(written).where(in_project(project), written.c.id.in_(some)))

    def count_scores(self, project: RemoteProject) -> WrittenTally:
        with self.database.reading() as connection:
            is_score = written.c.family != UPLOADED
            query = select(func.count(), func.max(written.c.at)).where(in_project(project), is_score)
            row = connection.execute(query).one()
        return WrittenTally(scores=row[0], last_at=row[1] or "")


def in_project(project: RemoteProject) -> ColumnElement[bool]:
    return and_(written.c.host == project.host, written.c.project == project.project)
