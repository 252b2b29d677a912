"""Alembic's entry: runs the migrations on the connection it is given."""

from alembic import context

from assay.stores.sql.schema import TABLES

context.configure(connection=context.config.attributes["connection"], target_metadata=TABLES)
context.run_migrations()
