"""What commands printed, kept for as long as nobody changes anything in a store: they need not be run again.

Whatever transaction changes a row of an SQLite store empties the table in the same moment; nothing is kept there that
was made of rows which somebody changed meanwhile. Who reads it (`cli/asked_before.py`) does so without this room.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from sqlalchemy import Connection
from sqlalchemy.pool import ConnectionPoolEntry

SEEN = "data_version"
"""Under which name a connection knows how often others had changed the store when it was opened."""
MOST = 32
"""Of more, the oldest go."""
DROP_OLDEST = "DELETE FROM printed WHERE rowid NOT IN (SELECT rowid FROM printed ORDER BY rowid DESC LIMIT ?)"


def note_version(connection: sqlite3.Connection, entry: ConnectionPoolEntry) -> None:
    """Note on the first connection to a store in which state it found it."""
    entry.info[SEEN] = read_version(connection)


def read_version(connection: sqlite3.Connection) -> int:
    """A number that changes for a connection as soon as anybody else changed something."""
    with closing(connection.execute("PRAGMA data_version")) as found:
        return int(found.fetchone()[0])


@contextmanager
def drop_printed(connection: Connection) -> Iterator[None]:
    """Whoever changes a row meanwhile drops all that was printed."""
    driver = connection.connection.driver_connection
    before = driver.total_changes if isinstance(driver, sqlite3.Connection) else 0
    yield
    if isinstance(driver, sqlite3.Connection) and driver.total_changes != before:
        driver.execute("DELETE FROM printed")


def save_printed(connection: Connection, id: str, body: bytes) -> bool:
    """Keep what was printed, unless anybody else changed the store since it was opened, or is about to."""
    driver, seen = connection.connection.driver_connection, connection.info.get(SEEN)
    if not isinstance(driver, sqlite3.Connection) or seen is None:
        return False
    with closing(driver.execute("PRAGMA busy_timeout")) as found:
        (patience,) = found.fetchone()
    try:
        driver.execute("PRAGMA busy_timeout=0")  # nobody waits for this
        return add_printed(driver, id, body, seen)
    except sqlite3.OperationalError:  # somebody writes; a disk is full
        return False
    finally:
        driver.execute(f"PRAGMA busy_timeout={patience}")


def add_printed(driver: sqlite3.Connection, id: str, body: bytes, seen: int) -> bool:
    """Add what was printed, in the place of the oldest of many."""
    driver.execute("BEGIN IMMEDIATE")
    try:
        is_same = read_version(driver) == seen
        if is_same:
            driver.execute("INSERT INTO printed (id, body) VALUES (?, ?)", (id, body))
            driver.execute(DROP_OLDEST, (MOST,))
        driver.execute("COMMIT")
    except sqlite3.OperationalError:
        if driver.in_transaction:
            driver.execute("ROLLBACK")
        raise
    return is_same
