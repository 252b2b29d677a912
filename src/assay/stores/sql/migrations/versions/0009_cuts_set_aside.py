"""Cuts that another version took the place of: to look at sessions otherwise and back judges nothing anew."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "set_aside",
        sa.Column("agent", sa.Text, primary_key=True),
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("branch", sa.Text, nullable=False),
        sa.Column("packed", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["agent", "stream"], ["streams.agent", "streams.id"], ondelete="CASCADE"),
    )
