"""The SQL store: SQLite on a laptop, PostgreSQL for a team.

- `schema`: the tables, `texts` their text; `migrations/` leads older stores to them; `append_only`: a table that
  nobody may change
- `claim`: whose file it is, before anything touches it
- `engine`: opening it, the right journal, the right version; `postgres`: the same in PostgreSQL
- `database`: transactions, errors, many rows at once
- `transfer`: all tables out and in, checked and counted
- `selection`: which files and streams a query means
- `transcripts` with `stream_settling` and `listed`, `sessions` (corrections and rework too) with `set_aside`,
  `answers`, `written`, `keys`, `telemetry`, `told` with `told_whole`, `work`, `promotions`, `shipped` with
  `shipped_tables` and `shipped_changes`: the parts
- `printed`: what commands said, until anybody changes anything
- `state`: whether anything changed; `changes`: of which streams, so that their sessions are told anew
- `tenant_files`: where the stores of several tenants lie beside each other
"""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

from assay.stores.contract import TableRows
from assay.stores.sql import tenant_files
from assay.stores.sql.answers import SqlAnswers
from assay.stores.sql.database import Database
from assay.stores.sql.engine import open_database
from assay.stores.sql.keys import SqlKeys
from assay.stores.sql.promotions import SqlPromotions
from assay.stores.sql.sessions import SqlCorrections, SqlRework, SqlSessions
from assay.stores.sql.shipped import SqlShipped
from assay.stores.sql.state import read_state
from assay.stores.sql.telemetry import SqlTelemetry
from assay.stores.sql.told import SqlTold
from assay.stores.sql.transcripts import SqlTranscripts
from assay.stores.sql.work import SqlWork
from assay.stores.sql.written import SqlWritten
from assay.types import StoreFigures

if TYPE_CHECKING:
    from assay.stores.sql.transfer import Transfer

SCHEMES = ("sqlite", "postgresql")


class SqlStore:
    """A store in a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.where = database.where
        self.transcripts = SqlTranscripts(database)
        self.sessions = SqlSessions(database)
        self.corrections = SqlCorrections(database)
        self.rework = SqlRework(database)
        self.answers = SqlAnswers(database)
        self.written = SqlWritten(database)
        self.keys = SqlKeys(database)
        self.telemetry = SqlTelemetry(database)
        self.told = SqlTold(database)
        self.work = SqlWork(database)
        self.shipped = SqlShipped(database)
        self.promotions = SqlPromotions(database)

    def count_bytes(self) -> int:
        return self.database.count_bytes()

    @property
    def whole(self) -> "Transfer":
        """All tables together; what looks after them is imported by the few commands that do."""
        return cast("Transfer", import_module("assay.stores.sql.transfer").Transfer(self.database))

    def measure(self) -> StoreFigures:
        return self.whole.measure()

    def check(self) -> list[str]:
        return self.whole.check()

    def dump_tables(self) -> Iterator[TableRows]:
        return self.whole.dump()

    def load_tables(self, tables: Iterable[TableRows]) -> int:
        return self.whole.load(tables)

    def holding(self) -> AbstractContextManager[None]:
        return self.database.holding()

    def read_state(self) -> str:
        return read_state(self.database)

    def save_printed(self, id: str, body: bytes) -> str:
        return self.database.save_printed(id, body)

    def flush(self) -> None:
        self.database.flush()

    def shrink(self) -> None:
        self.whole.shrink()

    def close(self) -> None:
        self.database.engine.dispose()


def to_path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def is_postgres(url: str) -> bool:
    return url.startswith("postgresql://")


def import_postgres() -> ModuleType:
    """The way to PostgreSQL; a store in a file needs none of it."""
    return import_module("assay.stores.sql.postgres")


def open_store(url: str) -> SqlStore:
    """Open the store at a `sqlite:///` or `postgresql://` URL, made or brought up to date where needed."""
    return SqlStore(import_postgres().open_postgres(url) if is_postgres(url) else open_database(to_path(url)))


def has_store(url: str) -> bool:
    """Whether there is a file at a `sqlite:///` URL, or tables of ours at a `postgresql://` one."""
    return bool(import_postgres().has_postgres(url)) if is_postgres(url) else to_path(url).exists()


def to_tenant_url(url: str, tenant: str) -> str:
    """The address of a tenant's own store beside, or in the same database as, the one at a URL."""
    if is_postgres(url):
        return str(import_postgres().to_tenant_url(url, tenant))
    return f"sqlite:///{tenant_files.place_tenant(to_path(url), tenant)}"


def find_queue_address(url: str) -> str | None:
    """The database of a `postgresql://` URL; work on a store in a file is not handed out."""
    return str(import_postgres().split_tenant(url)[0]) if is_postgres(url) else None


def list_tenants(url: str) -> list[str]:
    """Names of the tenants that have a store there."""
    found: list[str] = (
        import_postgres().list_tenants(url) if is_postgres(url) else tenant_files.list_tenants(to_path(url))
    )
    return found
