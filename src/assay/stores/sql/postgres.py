"""Opening a store in PostgreSQL: one schema for each tenant, one writer at a time in it, readers that wait for nobody.

A tenant's tables lie in a schema of their own, which is the only one that a connection looks into; row-level security
lets nobody see a row who has not said which tenant they are. A cluster of many tenants is many stores in one database.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from assay.errors import BadInput, StoreError
from assay.stores.contract.addresses import hide_password
from assay.stores.sql.database import Database, explain_errors, take_turn
from assay.stores.sql.engine import bring_up_to_date
from assay.stores.sql.schema import TABLES
from assay.stores.sql.tenant_files import OWN, TENANT, check_tenant

NO_ADDRESS = "is no PostgreSQL address; in a password, write signs such as / and @ as %2F and %40"
WAIT_S, CONNECT_S = 30, 10
"""How long anybody waits for a writer, and for a server."""


def open_postgres(url: str) -> Database:
    """Open the store of a tenant in a database, made or brought up to date where needed."""
    address, tenant = split_tenant(url)
    where = hide_password(url)
    with explain_errors(where):
        engine = build_engine(address, tenant)
        with ExitStack() as stack:
            stack.callback(engine.dispose)
            claim_schema(engine, tenant)
            bring_up_to_date(engine, where)
            protect_rows(engine, tenant)
            stack.pop_all()
    return PostgresDatabase(engine, where)


def has_postgres(url: str) -> bool:
    """Whether the tenant has a store in the database."""
    address, tenant = split_tenant(url)
    with explain_errors(hide_password(url)):
        engine = build_engine(address, tenant)
        try:
            with engine.connect() as connection:
                found = connection.execute(text("SELECT to_regclass('alembic_version') IS NOT NULL")).scalar()
            return bool(found)
        finally:
            engine.dispose()


class PostgresDatabase(Database):
    """A database in which what somebody replaced is gone as soon as the server cleans up."""

    def connect_reader(self) -> Connection:
        """All queries of a transaction see the store as it was at the first."""
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        return self.engine.connect().execution_options(**options)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Writers of one store take turns, so that each sees what the one before it did."""
        with explain_errors(self.where), self.engine.begin() as connection:
            take_turn(connection)
            yield connection

    scrubbing = writing

    def save_printed(self, id: str, body: bytes) -> str:
        """Nowhere: many write here at all times, and it would have to be asked for all the same."""
        return ""

    def tidy(self) -> None:
        """Count rows, and note which pages all may see: until then every question reads whole tables."""
        with explain_errors(self.where), self.engine.connect() as connection:
            alone = connection.execution_options(isolation_level="AUTOCOMMIT")
            for table in TABLES.sorted_tables:
                alone.execute(text(f'VACUUM (ANALYZE) "{table.name}"'))

    def flush(self) -> None:
        """A server answers a commit when it is on the disk, unless its `synchronous_commit` says otherwise."""

    def count_bytes(self) -> int:
        """How much room the tables take on the server."""
        sizes = text(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND c.relkind = 'r'"
        )
        with self.reading() as connection:
            return int(connection.execute(sizes).scalar_one())


def build_engine(address: str, tenant: str) -> Engine:
    """An engine whose every connection sees one tenant's schema alone, and says who it is."""
    settings = {
        "search_path": name_schema(tenant),
        "assay.tenant": tenant,
        "lock_timeout": f"{WAIT_S}s",
        "idle_in_transaction_session_timeout": "600s",
        "client_encoding": "UTF8",
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    try:
        engine = create_engine(
            make_url(address).set(drivername="postgresql+psycopg"),
            connect_args={"options": options, "connect_timeout": CONNECT_S, "application_name": "assay"},
            pool_pre_ping=True,
            pool_size=2,
            max_overflow=8,
        )
    except (ArgumentError, ValueError):
        raise BadInput(f"--store {hide_password(address)}: {NO_ADDRESS}") from None
    except (ModuleNotFoundError, NoSuchModuleError):
        raise BadInput("a PostgreSQL store needs the package psycopg: pip install 'assay[postgres]'") from None
    event.listen(engine, "connect", refuse_old_server)
    return engine


def refuse_old_server(connection: Any, _: object) -> None:
    """Row-level security, and what else is used here, is there from version 13 on."""
    if connection.info.server_version < 130_000:
        version = connection.info.server_version // 10_000
        connection.close()
        raise StoreError(f"the server is PostgreSQL {version}; 13 or later is needed")


def split_tenant(url: str) -> tuple[str, str]:
    """The address of a database, and the tenant that `?tenant=NAME` names."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise BadInput(f"--store {hide_password(url)}: {NO_ADDRESS}") from None
    asked = parse_qsl(parts.query, keep_blank_values=True)
    tenant = next((value for name, value in asked if name == "tenant"), OWN)
    check_tenant(tenant, "--store …?tenant=")
    left = urlencode([(name, value) for name, value in asked if name != "tenant"])
    return urlunsplit(parts._replace(query=left)), tenant


def to_tenant_url(url: str, tenant: str) -> str:
    """The address of another tenant's store in the same database."""
    address, _ = split_tenant(url)
    parts = urlsplit(address)
    query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), ("tenant", check_tenant(tenant))])
    return urlunsplit(parts._replace(query=query))


def list_tenants(url: str) -> list[str]:
    """Names of the tenants that have a schema in the database, as far as this user may know of it."""
    address, tenant = split_tenant(url)
    named = text("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'assay!_%' ESCAPE '!' ORDER BY nspname")
    with explain_errors(hide_password(url)):
        engine = build_engine(address, tenant)
        try:
            with engine.connect() as connection:
                found = [name.removeprefix("assay_") for name in connection.execute(named).scalars()]
        finally:
            engine.dispose()
    return sorted(name for name in found if TENANT.fullmatch(name))


def name_schema(tenant: str) -> str:
    """The schema of a tenant; quotes are for the dash, and no name can hold one."""
    return f'"assay_{tenant}"' if "-" in tenant else f"assay_{tenant}"


def claim_schema(engine: Engine, tenant: str) -> None:
    """Make the tenant's schema where it is missing; one that somebody else fills is left alone."""
    with engine.begin() as connection:
        there = connection.execute(
            text("SELECT 1 FROM information_schema.schemata WHERE schema_name = :name"), {"name": f"assay_{tenant}"}
        ).scalar()
        if not there:
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended('assay schemas', 0))"))
            connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {name_schema(tenant)}"))


def protect_rows(engine: Engine, tenant: str) -> None:
    """Have row-level security on every table: who has not said that they are this tenant sees and writes nothing."""
    with engine.begin() as connection:
        take_turn(connection)
        named = text(
            "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE nspname = current_schema() AND relkind = 'r' AND NOT relforcerowsecurity"
        )
        ours = TABLES.tables.keys()
        for name in sorted(set(connection.execute(named).scalars()) & ours):
            only = f"current_setting('assay.tenant', true) = '{tenant}'"
            connection.execute(text(f'ALTER TABLE "{name}" ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY'))
            connection.execute(text(f'DROP POLICY IF EXISTS own_tenant ON "{name}"'))
            connection.execute(text(f'CREATE POLICY own_tenant ON "{name}" USING ({only}) WITH CHECK ({only})'))
