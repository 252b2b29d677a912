"""Sessions as they were told: only what changed is told anew."""

import sqlalchemy as sa
from alembic import op

from assay.stores.sql.texts import Text

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "changed_streams",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("agent", Text, nullable=False),
        sa.Column("stream", Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("changed_streams_name", "changed_streams", ["agent", "stream"])
    op.create_table(
        "neighbourhoods",
        sa.Column("name", Text, primary_key=True),
        sa.Column("key", Text, nullable=False),
        sa.Column("told_at", sa.Float, nullable=False),
        sa.Column("valid_until", sa.Float, nullable=False),
        sa.Column("nodes", sa.LargeBinary, nullable=False),
        sa.Column("folders", sa.LargeBinary, nullable=False),
        sa.Column("tally", sa.LargeBinary, nullable=False),
    )
    op.create_index("cuts_version", "cuts", ["version"])
    add_streams()
    add_sessions()
    add_ledger()


def add_streams() -> None:
    op.create_table(
        "told_streams",
        sa.Column("agent", Text, primary_key=True),
        sa.Column("stream", Text, primary_key=True),
        sa.Column("neighbourhood", Text, sa.ForeignKey("neighbourhoods.name", ondelete="CASCADE"), nullable=False),
        sa.Column("continues", sa.Boolean, nullable=False),
        sa.Column("place", sa.LargeBinary, nullable=False),
    )
    op.create_index("told_streams_neighbourhood", "told_streams", ["neighbourhood"])
    op.create_index("told_streams_continues", "told_streams", ["continues"])


def add_sessions() -> None:
    op.create_table(
        "told",
        sa.Column("agent", Text, primary_key=True),
        sa.Column("id", Text, primary_key=True),
        sa.Column("neighbourhood", Text, sa.ForeignKey("neighbourhoods.name", ondelete="CASCADE"), nullable=False),
        sa.Column("folder", Text, nullable=False),
        sa.Column("began_at", Text, nullable=False),
        sa.Column("ended_at", Text, nullable=False),
        sa.Column("crushed", sa.Boolean),
        sa.Column("obstacle", Text, nullable=False),
        sa.Column("is_news", sa.Boolean, nullable=False),
        sa.Column("is_answered", sa.Boolean, nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("ages", sa.LargeBinary, nullable=False),
        sa.Column("work", sa.LargeBinary, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_index("told_neighbourhood", "told", ["neighbourhood"])
    op.create_index("told_began", "told", ["began_at", "agent", "id"])
    op.create_index("told_ended", "told", ["ended_at"])
    op.create_index("told_id", "told", ["id"])
    op.create_index("told_obstacle", "told", ["obstacle", "began_at", "id"])
    op.create_index("told_news", "told", ["is_news"])
    op.create_index("told_answered", "told", ["is_answered"])


def add_ledger() -> None:
    op.create_table(
        "told_ledger",
        sa.Column("at", Text, primary_key=True),
        sa.Column("session", Text, primary_key=True),
        sa.Column("effect", Text, primary_key=True),
        sa.Column("stream", Text, primary_key=True),
        sa.Column("n", sa.Integer, primary_key=True),
        sa.Column("agent", Text, primary_key=True),
        sa.Column("id", Text, nullable=False),
        sa.Column("line", sa.LargeBinary, nullable=False),
        sa.ForeignKeyConstraint(["agent", "id"], ["told.agent", "told.id"], ondelete="CASCADE"),
    )
    op.create_index("told_ledger_of", "told_ledger", ["agent", "id"])
    op.create_index("told_ledger_session", "told_ledger", ["session"])
    op.create_index("told_ledger_stream", "told_ledger", ["stream"])
    op.create_table(
        "commit_deeds",
        sa.Column("commit", Text, primary_key=True),
        sa.Column("how", Text, primary_key=True),
        sa.Column("agent", Text, primary_key=True),
        sa.Column("id", Text, primary_key=True),
        sa.Column("began_at", Text, nullable=False),
        sa.ForeignKeyConstraint(["agent", "id"], ["told.agent", "told.id"], ondelete="CASCADE"),
    )
    op.create_index("commit_deeds_of", "commit_deeds", ["agent", "id"])
