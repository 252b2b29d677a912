"""Keys with which others come in to a server, and the audit log."""

import sqlalchemy as sa
from alembic import op

from assay.stores.sql.append_only import forbid_changes

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.create_table(
        "access_keys",
        sa.Column("hash", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("made_at", sa.Text, nullable=False),
        sa.Column("used_at", sa.Text),
        sa.Column("revoked_at", sa.Text),
    )
    op.create_table(
        "deeds",
        sa.Column("n", sa.Integer, primary_key=True),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("count", sa.BigInteger, nullable=False),
    )
    forbid_changes(op.get_bind(), "deeds")
