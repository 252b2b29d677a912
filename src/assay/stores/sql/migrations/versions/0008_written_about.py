"""What a written score is about: its session there and here, and its name, so that it can be taken back."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for name in ("session", "subject", "name", "family", "environment"):
        op.add_column("written", sa.Column(name, sa.Text, nullable=False, server_default=""))
