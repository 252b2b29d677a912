"""Streams by their ids: which sources tell of the same conversation is looked up for each of them."""

from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_index("streams_id", "streams", ["id"])
