"""Streams whose words were deleted when their retention had passed."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("streams", sa.Column("is_forgotten", sa.Boolean, nullable=False, server_default=sa.false()))
