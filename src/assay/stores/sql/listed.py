"""Folders whose files were all read as they are listed: what is known of these files need not be looked through.

Whoever saves a file, or notes that one is gone or back, takes the hash of its folder away in the same transaction; it
is noted only where, in that moment, every row is what the folder lists.
"""

import os
from collections.abc import Collection, Iterable, Mapping

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, insert, or_, select, text, update

from assay.files import to_folder_prefix
from assay.stores.sql.database import split_values
from assay.stores.sql.schema import files, listed_folders, remembered
from assay.stores.sql.selection import find_place

COMPLETE = "listed"
"""Is remembered once every folder stands here: a store of before knows files without their folders."""
FORGET = text(
    "INSERT INTO listed_folders (folder, hash) VALUES (:folder, :hash) "
    "ON CONFLICT (folder) DO UPDATE SET hash = excluded.hash"
)
NOTHING = b""
IS_COMPLETE = select(remembered.c.name).where(remembered.c.name == COMPLETE)
PATHS = select(files.c.path).where(files.c.id.in_(bindparam("ids", expanding=True)))
GROUP = 40
"""Folders of one query."""


def load_listed(connection: Connection) -> dict[str, bytes] | None:
    """Every folder of which a file was read, with its hash; nothing where not all of them are known."""
    if connection.execute(IS_COMPLETE).first() is None:
        return None
    return {row.folder: row.hash for row in connection.execute(select(listed_folders))}


def forget_folder(connection: Connection, path: str) -> None:
    """Note that a file of a folder changed."""
    connection.execute(FORGET, {"folder": os.path.dirname(path), "hash": NOTHING})


def forget_folders(connection: Connection, ids: Iterable[int]) -> None:
    """The same of several files, by their numbers."""
    for some in split_values(list(ids)):
        folders = {os.path.dirname(path) for path in connection.execute(PATHS, {"ids": some}).scalars()}
        connection.execute(FORGET, [{"folder": one, "hash": NOTHING} for one in sorted(folders)])


def match_folders(folders: Iterable[str]) -> list[ColumnElement[bool]]:
    """Conditions for files that lie in folders, not below them; some folders in each."""
    path, ordered = files.c.path, sorted(folders)
    return [
        or_(
            *(
                and_(path > one, path < one[:-1] + "0", find_place(func.substr(path, len(one) + 1), "/") == 0)
                for one in map(to_folder_prefix, ordered[start : start + GROUP])
            )
        )
        for start in range(0, len(ordered), GROUP)
    ]


def complete_folders(connection: Connection) -> None:
    """Have all folders here of which files were read by a version that did not note them."""
    if connection.execute(IS_COMPLETE).first() is not None:
        return
    there = {os.path.dirname(path) for path in connection.execute(select(files.c.path)).scalars()}
    known = set(connection.execute(select(listed_folders.c.folder)).scalars())
    if missing := sorted(there - known):
        connection.execute(insert(listed_folders), [{"folder": one, "hash": NOTHING} for one in missing])
    connection.execute(insert(remembered).values(name=COMPLETE, value=NOTHING))


def note_folders(connection: Connection, hashes: Mapping[str, bytes], sure: Collection[str]) -> None:
    """Note how those folders are listed that are sure to be known as they are."""
    named = listed_folders.c.folder == bindparam("its_folder")
    rows = [{"its_folder": folder, "its_hash": hashes[folder]} for folder in sorted(sure)]
    if rows:
        connection.execute(update(listed_folders).where(named).values(hash=bindparam("its_hash")), rows)
