"""Configurations that were promoted, so that what became of them can be looked at later."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "promotions",
        sa.Column("id", sa.Text, primary_key=True, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("note", sa.LargeBinary, nullable=False),
    )
