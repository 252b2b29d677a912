"""Telemetry that agents send while they work, and the conversations it is about."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "telemetry",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("conversation", sa.Text, nullable=False),
        sa.Column("trace", sa.Text, nullable=False),
        sa.Column("order", sa.BigInteger, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("telemetry_conversation", "telemetry", ["agent", "conversation"])
    op.create_index("telemetry_trace", "telemetry", ["trace"])
    op.create_table(
        "conversations",
        sa.Column("agent", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("records", sa.Integer, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
    )
    op.create_index("conversations_version", "conversations", ["version"])
