"""Verdicts: what people said of how sessions ended."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "verdicts",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("turn", sa.Text, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("is_sampled", sa.Boolean, nullable=False),
        sa.Column("turns", sa.Integer, nullable=False),
    )
