"""Keys of a server and the audit log, in SQL."""

import secrets
from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from assay.errors import StoreError
from assay.stores.sql.database import Database
from assay.stores.sql.schema import access_keys, deeds
from assay.stores.sql.sessions import load_remembered, replace_remembered
from assay.types import AccessKey, Deed

SHOWN = [access_keys.c[name] for name in AccessKey.__struct_fields__]

SEALING = "sealing"
"""The name under which the store's secret is remembered."""


class SqlKeys:
    """Keeps keys and deeds."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.secret = b""

    def save_key(self, key: AccessKey, hashed: str, deed: Deed) -> None:
        with self.database.writing() as connection:
            try:
                connection.execute(insert(access_keys).values(hash=hashed, **msgspec.structs.asdict(key)))
            except IntegrityError:
                raise StoreError(f"there is a key {key.id} already; make another one") from None
            connection.execute(insert(deeds).values(msgspec.structs.asdict(deed)))

    def find_key(self, hashed: str) -> AccessKey | None:
        with self.database.reading() as connection:
            row = connection.execute(select(*SHOWN).where(access_keys.c.hash == hashed)).first()
        return build_key(row) if row else None

    def list_keys(self) -> list[AccessKey]:
        query = select(*SHOWN).order_by(access_keys.c.made_at, access_keys.c.id)
        with self.database.reading() as connection:
            return [build_key(row) for row in connection.execute(query)]

    def revoke_key(self, id: str, deed: Deed) -> bool:
        is_open = (access_keys.c.id == id) & access_keys.c.revoked_at.is_(None)
        with self.database.writing() as connection:
            if not connection.execute(update(access_keys).where(is_open).values(revoked_at=deed.at)).rowcount:
                return False
            connection.execute(insert(deeds).values(msgspec.structs.asdict(deed)))
        return True

    def save_uses(self, used: Mapping[str, str]) -> None:
        if not used:
            return
        with self.database.writing() as connection:
            for key, at in sorted(used.items()):
                connection.execute(update(access_keys).where(access_keys.c.id == key).values(used_at=at))

    def load_secret(self) -> bytes:
        if not self.secret:  # made once in the life of a store, and asked for with every answer of a server
            self.secret = self.find_secret()
        return self.secret

    def find_secret(self) -> bytes:
        """The store's secret, made where there is none."""
        with self.database.reading() as connection:
            found = load_remembered(connection, SEALING)
        if found:
            return found
        with self.database.writing() as connection:
            found = load_remembered(connection, SEALING)
            if not found:
                replace_remembered(connection, SEALING, found := secrets.token_bytes(32))
        return found

    def save_deed(self, deed: Deed) -> None:
        with self.database.writing() as connection:
            connection.execute(insert(deeds).values(msgspec.structs.asdict(deed)))

    def list_deeds(self, most: int = 1_000) -> list[Deed]:
        query = select(deeds).order_by(deeds.c.n.desc()).limit(most)
        with self.database.reading() as connection:
            found = [
                Deed(**{name: row._mapping[name] for name in Deed.__struct_fields__})
                for row in connection.execute(query)
            ]
        return found[::-1]


def build_key(row: Row[Any]) -> AccessKey:
    return AccessKey(**row._mapping)
