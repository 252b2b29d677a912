"""Rework: what became of sessions' lines, and what was last told of it."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "rework",
        sa.Column("agent", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("input", sa.Text, nullable=False),
        sa.Column("seen", sa.Text, nullable=False),
        sa.Column("final_at", sa.BigInteger),
        sa.Column("found", sa.LargeBinary, nullable=False),
        sa.Column("is_told", sa.Boolean, nullable=False),
    )
