"""Scores that were written to a server and read back from it, in SQL."""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, and_, delete, func, insert, select

from assay.stores.contract import RemoteProject, WrittenTally
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

    def save_digest(self, project: RemoteProject, id: str, digest: str, at: str) -> None:
        with self.database.writing() as connection:
            connection.execute(delete(written).where(in_project(project), written.c.id == id))
            connection.execute(
                insert(written).values(host=project.host, project=project.project, id=id, digest=digest, at=at)
            )

    def count_scores(self, project: RemoteProject) -> WrittenTally:
        with self.database.reading() as connection:
            row = connection.execute(select(func.count(), func.max(written.c.at)).where(in_project(project))).one()
        return WrittenTally(scores=row[0], last_at=row[1] or "")


def in_project(project: RemoteProject) -> ColumnElement[bool]:
    return and_(written.c.host == project.host, written.c.project == project.project)
