"""What became of sessions' lines, as far as it was looked for, and what people were last told of it."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from sqlalchemy import delete, select

from assay.stores.sql.bulk import add_many, among
from assay.stores.sql.schema import rework
from assay.stores.sql.scored import Connecting, portions
from assay.stores.sql.settling import Name


class Fate(Struct, frozen=True, kw_only=True):
    """What is kept of one session."""

    agent: str
    id: str
    input: str = ""
    """Hash of its lines, of the repository and of the rules."""
    seen: str = ""
    """What of the repository was looked at, and on which day."""
    final_at: int | None = None
    """From this time on, in seconds, it can't turn any more."""
    found: bytes = b""
    is_told: bool = False
    """The last report said that it crushed."""

    @property
    def name(self) -> Name:
        return self.agent, self.id


class KeptRework:
    """Keeps the fates of sessions in SQL."""

    def __init__(self, reading: Connecting, writing: Connecting) -> None:
        self.reading = reading
        self.writing = writing

    def fates(self, names: Iterable[Name]) -> dict[Name, Fate]:
        """What is kept of these sessions."""
        with self.reading() as connection:
            return {
                (row.agent, row.id): Fate(
                    agent=row.agent,
                    id=row.id,
                    input=row.input,
                    seen=row.seen,
                    final_at=row.final_at,
                    found=row.found,
                    is_told=row.is_told,
                )
                for some in portions(sorted(names))
                for row in connection.execute(select(rework).where(among(some, rework.c.agent, rework.c.id)))
            }

    def keep(self, fates: Sequence[Fate]) -> None:
        """Keep these in place of what was kept of the same sessions, all or none."""
        if not fates:
            return
        with self.writing() as connection:
            for some in portions([one.name for one in fates]):
                connection.execute(delete(rework).where(among(some, rework.c.agent, rework.c.id)))
            rows = [(*one.name, one.input, one.seen, one.final_at, one.found, one.is_told) for one in fates]
            add_many(connection, rework, rows)
