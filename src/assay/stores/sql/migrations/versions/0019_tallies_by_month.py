"""Tallies of a neighbourhood by month: what is counted again is the months in which something changed."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("neighbourhoods", sa.Column("months", sa.LargeBinary, nullable=True))
