"""Sessions: how streams are cut, what was judged, what people corrected."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("streams", sa.Column("shares", sa.Boolean, nullable=False, server_default=sa.true()))
    op.add_column("streams", sa.Column("generation", sa.BigInteger, nullable=False, server_default="0"))
    cuts()
    segments()
    create_joined()
    corrections()


def cuts() -> None:
    op.create_table(
        "cuts",
        sa.Column("agent", sa.Text, primary_key=True),
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("branch", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["agent", "stream"], ["streams.agent", "streams.id"], ondelete="CASCADE"),
    )


def segments() -> None:
    op.create_table(
        "segments",
        sa.Column("agent", sa.Text, primary_key=True),
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("n", sa.Integer, primary_key=True),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("input", sa.Text, nullable=False),
        sa.Column("segment", sa.LargeBinary, nullable=False),
        sa.Column("turns", sa.LargeBinary, nullable=False),
        sa.Column("judged", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["agent", "stream"], ["streams.agent", "streams.id"], ondelete="CASCADE"),
        sa.Index("segments_id", "id"),
    )


def create_joined() -> None:
    op.create_table(
        "joined",
        sa.Column("agent", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("input", sa.Text, nullable=False),
        sa.Column("judged", sa.LargeBinary, nullable=False),
    )


def corrections() -> None:
    op.create_table(
        "corrections",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("turn", sa.Text, nullable=False),
        sa.Column("into", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("at", sa.Text, nullable=False),
    )
