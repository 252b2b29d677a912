"""What commands printed, for as long as nobody changes anything; folders as they were when all in them was read."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "printed",
        sa.Column("id", sa.Text, primary_key=True, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "listed_folders",
        sa.Column("folder", sa.Text, primary_key=True, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    )
