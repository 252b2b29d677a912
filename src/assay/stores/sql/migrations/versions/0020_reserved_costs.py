"""What calls to models may cost that are under way, so that many who ask keep to one limit."""

import sqlalchemy as sa
from alembic import op

from assay.stores.sql.texts import Text

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "reserved_costs",
        sa.Column("id", Text, primary_key=True),
        sa.Column("at", Text, nullable=False),
        sa.Column("usd", sa.Float, nullable=False),
    )
