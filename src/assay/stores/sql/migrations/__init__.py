"""Numbered migrations, run by Alembic when a store is older than this Assay."""
