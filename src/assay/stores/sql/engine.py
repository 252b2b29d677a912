"""Opening a store: a private file, the right journal, the right schema version."""

import sqlite3
from contextlib import suppress
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, text

from assay.errors import StoreError
from assay.stores.sql.claim import claim
from assay.stores.sql.database import Database, explain_errors, take_turn
from assay.stores.sql.printed import note_version
from assay.stores.sql.schema import TABLES, generation

MIGRATIONS = Path(__file__).parent / "migrations"
NEWEST = max(path.name[:4] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
WAIT_MS = 30_000
CHECKPOINT_PAGES = 8_000
"""32 MB: a first scan would otherwise wait for the disk every few MB."""


def open_database(path: Path) -> Database:
    """Open the store in a file, made or brought up to date where needed."""
    with explain_errors(str(path)):
        is_empty = claim(path)
        engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": WAIT_MS / 1000})
        event.listen(engine, "connect", prepare_connection)
        event.listen(engine, "connect", note_version, once=True)
        event.listen(engine, "begin", begin_transaction)
        bring_up_to_date(engine, str(path))
        if is_empty:  # somebody else's empty file, which has just become ours
            engine.dispose()
            claim(path)
    return Database(engine, str(path))


def prepare_connection(connection: sqlite3.Connection, _: object) -> None:
    """Wait for others instead of failing; a store found to be ours is in WAL mode for good."""
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout={WAIT_MS}")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA secure_delete=ON")  # else words that were replaced lie in free pages
    connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")


def begin_transaction(connection: Connection) -> None:
    """Writers take the lock at once: a transaction that turns into a writer late can't wait for it."""
    reads = connection.get_execution_options().get("reads")
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def bring_up_to_date(engine: Engine, where: str) -> None:
    """Bring the schema to this version; refuse one that is newer."""
    with engine.connect().execution_options(reads=True) as connection:
        found = load_version(connection)
    if found == NEWEST:
        return
    refuse_newer(found, where)
    if not found:
        create_tables(engine, where)
        return
    run_migrations(engine, where)


def run_migrations(engine: Engine, where: str) -> None:
    """Run the migrations that the store lacks."""
    from alembic import command  # noqa: PLC0415  slow to import, and needed only by old stores
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with engine.begin() as connection:
        take_turn(connection)
        refuse_newer(load_version(connection), where)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        order_by_code_points(connection)


def order_by_code_points(connection: Connection) -> None:
    """Have what migrations added to PostgreSQL ordered as all tables are: not by the language of its database."""
    if connection.dialect.name != "postgresql":
        return
    ordered = text(
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() "
        "AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C' ORDER BY table_name, ordinal_position"
    )
    found: dict[str, list[str]] = {}
    for table, column in connection.execute(ordered):
        found.setdefault(table, []).append(f'ALTER COLUMN "{column}" TYPE text COLLATE "C"')
    for table in sorted(found.keys() & TABLES.tables.keys()):
        connection.execute(text(f'ALTER TABLE "{table}" {", ".join(found[table])}'))


def create_tables(engine: Engine, where: str) -> None:
    """A new store: all tables at once, which is what the migrations lead to (a test compares them).

    WAL: readers don't wait for the writer; a killed writer leaves a whole store.
    """
    with engine.connect().execution_options(reads=True) as connection:
        driver = connection.connection.driver_connection
        if isinstance(driver, sqlite3.Connection):
            with suppress(sqlite3.OperationalError):  # locked: another scan sets the same mode at this moment
                driver.execute("PRAGMA journal_mode=WAL")
    with engine.begin() as connection:
        take_turn(connection)
        if load_version(connection):  # somebody else was faster
            refuse_newer(load_version(connection), where)
            return
        TABLES.create_all(connection)
        connection.execute(insert(generation).values(id=1, n=0))
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
        connection.execute(text("INSERT INTO alembic_version VALUES (:newest)"), {"newest": NEWEST})


def load_version(connection: Connection) -> str:
    """Number of the last migration, or nothing for a new store."""
    if not inspect(connection).has_table("alembic_version"):
        if inspect(connection).get_table_names():
            raise StoreError("it holds tables of another program; give another path with --store")
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def refuse_newer(found: str, where: str) -> None:
    """Leave a store alone that a newer Assay wrote."""
    if found > NEWEST:
        raise StoreError(
            f"the store {where} was written by a newer Assay (schema {found}, this one knows {NEWEST}); "
            "update Assay, or give another store with --store"
        )
