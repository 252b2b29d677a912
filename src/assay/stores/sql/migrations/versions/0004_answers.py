"""Answers: what models said, what it cost, what is still being answered; and how the last report was made."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "answers",
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("trouble", sa.Text),
        sa.Column("why", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_table(
        "calls",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("backend", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("input", sa.BigInteger, nullable=False),
        sa.Column("output", sa.BigInteger, nullable=False),
        sa.Column("cache_read", sa.BigInteger, nullable=False),
        sa.Column("cache_write", sa.BigInteger, nullable=False),
        sa.Column("cost_usd", sa.Float),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_table(
        "batches",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("backend", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("keys", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "remembered",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
