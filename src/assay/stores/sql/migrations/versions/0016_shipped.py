"""Sessions that other machines ship."""

import sqlalchemy as sa
from alembic import op

from assay.stores.sql.texts import Text

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "machines",
        sa.Column("name", Text, primary_key=True),
        sa.Column("person", Text, nullable=False),
        sa.Column("key", Text, nullable=False),
        sa.Column("shipped_at", Text, nullable=False),
    )
    op.create_table(
        "shipped",
        sa.Column("machine", Text, sa.ForeignKey("machines.name", ondelete="CASCADE"), primary_key=True),
        sa.Column("agent", Text, primary_key=True),
        sa.Column("id", Text, primary_key=True),
        sa.Column("month", Text, nullable=False),
        sa.Column("began_at", Text, nullable=False),
        sa.Column("ended_at", Text, nullable=False),
        sa.Column("project", Text, nullable=False),
        sa.Column("digest", Text, nullable=False),
        sa.Column("has_words", sa.Boolean, nullable=False),
        sa.Column("is_forgotten", sa.Boolean, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("words", sa.LargeBinary, nullable=False),
    )
    op.create_index("shipped_part", "shipped", ["machine", "month"])
    op.create_index("shipped_id", "shipped", ["id"])
    op.create_index("shipped_spoken", "shipped", ["has_words", "ended_at"])
    add_streams()


def add_streams() -> None:
    op.create_table(
        "shipped_streams",
        sa.Column("machine", Text, primary_key=True),
        sa.Column("agent", Text, primary_key=True),
        sa.Column("stream", Text, primary_key=True),
        sa.Column("id", Text, primary_key=True),
        sa.Column("conversation", Text, nullable=False),
        sa.ForeignKeyConstraint(
            ["machine", "agent", "id"], ["shipped.machine", "shipped.agent", "shipped.id"], ondelete="CASCADE"
        ),
    )
    op.create_index("shipped_streams_of", "shipped_streams", ["machine", "agent", "id"])
    op.create_index("shipped_streams_conversation", "shipped_streams", ["conversation"])
    op.create_table(
        "shipped_parts",
        sa.Column("machine", Text, primary_key=True),
        sa.Column("month", Text, primary_key=True),
        sa.Column("revision", sa.BigInteger, nullable=False),
    )
