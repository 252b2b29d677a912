"""What workers leave for later, and what they saw sealed."""

import sqlalchemy as sa
from alembic import op

from assay.stores.sql.texts import Text

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "waits",
        sa.Column("agent", Text, primary_key=True),
        sa.Column("stream", Text, primary_key=True),
        sa.Column("state", Text, nullable=False),
        sa.Column("noted_at", sa.Float, nullable=False),
        sa.Column("due_at", sa.Float, nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("why", Text, nullable=False),
    )
    op.create_table(
        "seals",
        sa.Column("agent", Text, primary_key=True),
        sa.Column("id", Text, primary_key=True),
        sa.Column("signal", Text, nullable=False),
        sa.Column("at", Text, nullable=False),
        sa.Column("ended_at", Text, nullable=False),
        sa.Column("opened", sa.Integer, nullable=False),
    )
    op.create_index("seals_opened", "seals", ["opened"])
    op.create_index("streams_ended", "streams", ["ended_at"])
    op.create_index("calls_at", "calls", ["at"])
