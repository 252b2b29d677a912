"""What workers leave for later, and what they saw sealed, in SQL."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from msgspec.structs import asdict
from sqlalchemy import delete, func, insert, or_, select, text, update

from assay.stores.contract.told import StreamName
from assay.stores.contract.work import KeptSeal, Wait
from assay.stores.sql.database import Database, explain_errors, split_values
from assay.stores.sql.schema import calls, conversations, files, reserved_costs, seals, streams, waits
from assay.stores.sql.selection import match_names, match_streams, select_stream_files
from assay.stores.sql.transcripts import build_summary
from assay.types import StreamSummary

LOCK = "hashtextextended(current_schema() || '/work/' || :part, 0)"
TRY_LOCK, UNLOCK = text(f"SELECT pg_try_advisory_lock({LOCK})"), text(f"SELECT pg_advisory_unlock({LOCK})")
OF_STREAM = (waits.c.agent, waits.c.stream)
OF_SESSION = (seals.c.agent, seals.c.id)


class SqlWork:
    """Keeps waits and seals."""

    def __init__(self, database: Database) -> None:
        self.database = database

    @contextmanager
    def hold(self, part: str) -> Iterator[bool]:
        if self.database.engine.dialect.name != "postgresql":
            with lock_file(f"{self.database.where}.{part}.lock") as is_held:
                yield is_held
            return
        with explain_errors(self.database.where), self.database.engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            is_held = bool(alone.execute(TRY_LOCK, {"part": part}).scalar())
            try:
                yield is_held
            finally:
                if is_held:
                    alone.execute(UNLOCK, {"part": part})

    def load_waits(self) -> dict[StreamName, Wait]:
        with self.database.reading() as connection:
            rows = connection.execute(select(waits)).mappings().all()
        return {(row["agent"], row["stream"]): Wait(**row) for row in rows}

    def save_waits(self, found: Sequence[Wait]) -> None:
        if not found:
            return
        with self.database.writing() as connection:
            for some in split_values([one.name for one in found]):
                connection.execute(delete(waits).where(match_names(some, *OF_STREAM)))
            connection.execute(insert(waits), [asdict(one) for one in found])

    def drop_waits(self, names: Iterable[StreamName]) -> None:
        if found := sorted(set(names)):
            with self.database.writing() as connection:
                for some in split_values(found):
                    connection.execute(delete(waits).where(match_names(some, *OF_STREAM)))

    def load_seals(self, names: Iterable[StreamName]) -> dict[StreamName, KeptSeal]:
        with self.database.reading() as connection:
            return {
                (row["agent"], row["id"]): KeptSeal(**row)
                for some in split_values(sorted(set(names)))
                for row in connection.execute(select(seals).where(match_names(some, *OF_SESSION))).mappings()
            }

    def save_seals(self, found: Sequence[KeptSeal]) -> None:
        if not found:
            return
        with self.database.writing() as connection:
            for some in split_values([one.name for one in found]):
                connection.execute(delete(seals).where(match_names(some, *OF_SESSION)))
            connection.execute(insert(seals), [asdict(one) for one in found])

    def count_opened(self) -> int:
        with self.database.reading() as connection:
            return connection.execute(select(func.count()).select_from(seals).where(seals.c.opened > 0)).scalar_one()

    def list_recent(self, since: str, most: int) -> list[StreamSummary]:
        some_file = files.alias()
        there = select_stream_files(some_file.c.gone_at.is_(None), some_file).exists()
        query = (
            select(streams, files.c.path, there.label("is_there"))
            .join(files, files.c.id == streams.c.file_id)
            .where(*match_streams(None, since))
            .order_by(streams.c.ended_at.desc(), streams.c.agent, streams.c.id)
            .limit(most)
        )
        with self.database.reading() as connection:
            return [build_summary(row) for row in connection.execute(query)]

    def count_unread(self, version: str) -> int:
        other = or_(conversations.c.version < version, conversations.c.version > version)  # unlike !=, by the index
        with self.database.reading() as connection:
            return connection.execute(select(func.count()).select_from(conversations).where(other)).scalar_one()

    def sum_costs(self, since: str) -> float:
        with self.database.reading() as connection:
            found = connection.execute(select(func.sum(calls.c.cost_usd)).where(calls.c.at >= since)).scalar()
        return float(found or 0)

    def reserve_cost(self, id: str, usd: float, limit: float, since: str, at: str) -> bool:
        spent = select(func.coalesce(func.sum(calls.c.cost_usd), 0.0)).where(calls.c.at >= since)
        others = select(func.coalesce(func.sum(reserved_costs.c.usd), 0.0)).where(reserved_costs.c.id != id)
        mine = reserved_costs.c.id == id
        with self.database.writing() as connection:
            connection.execute(delete(reserved_costs).where(reserved_costs.c.at < since))
            if connection.execute(spent).scalar_one() + connection.execute(others).scalar_one() + usd > limit:
                return False
            connection.execute(delete(reserved_costs).where(mine))
            connection.execute(insert(reserved_costs), [{"id": id, "at": at, "usd": usd}])
        return True

    def settle_cost(self, id: str, usd: float) -> None:
        with self.database.writing() as connection:
            connection.execute(update(reserved_costs).where(reserved_costs.c.id == id).values(usd=usd))

    def release_costs(self, ids: Iterable[str]) -> None:
        if found := sorted(set(ids)):
            with self.database.writing() as connection:
                for some in split_values(found):
                    connection.execute(delete(reserved_costs).where(reserved_costs.c.id.in_(some)))


@contextmanager
def lock_file(path: str) -> Iterator[bool]:
    """Be the only one who holds a file beside a store; it stays there, empty."""
    fcntl = import_module("fcntl")  # not there on every system on which a store is
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(file)
