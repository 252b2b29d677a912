"""Indexes of the few files that skip something, and of the few sessions whose lines were followed."""

from alembic import op

from assay.stores.sql.schema import AGED, BROKEN_OFF, SKIPPING

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_index("files_skipping", "files", ["id"], sqlite_where=SKIPPING, postgresql_where=SKIPPING)
    op.create_index("files_broken_off", "files", ["id"], sqlite_where=BROKEN_OFF, postgresql_where=BROKEN_OFF)
    op.create_index("told_aged", "told", ["began_at"], sqlite_where=AGED, postgresql_where=AGED)
