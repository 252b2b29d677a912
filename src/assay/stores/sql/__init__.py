"""The SQL store: SQLite on a laptop; the schema fits PostgreSQL as well."""

from assay.stores.sql.engine import open_store
from assay.stores.sql.store import Store

__all__ = ["SCHEMES", "Store", "open_store"]

SCHEMES = ("sqlite",)
