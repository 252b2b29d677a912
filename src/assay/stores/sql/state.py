"""Whether a store changed: a few numbers that grow with all that a report is made of."""

from hashlib import blake2b

from sqlalchemy import func, select

from assay.stores.sql.database import Database
from assay.stores.sql.schema import calls, conversations, corrections, generation, neighbourhoods, remembered, verdicts
from assay.stores.sql.shipped_tables import shipped_parts

GROWING = (
    select(func.max(generation.c.n)),
    select(func.max(corrections.c.id)),
    select(func.max(verdicts.c.id)),
    select(func.max(calls.c.id)),
    select(func.sum(conversations.c.revision)),
    select(func.sum(neighbourhoods.c.told_at * 1000)),
    select(func.sum(shipped_parts.c.revision)),
)

DRAWN = select(remembered.c.value).where(remembered.c.name == "audit")
STATE = select(*(one.scalar_subquery() for one in (*GROWING, DRAWN)))
"""All at once: a server may be far away."""


def read_state(database: Database) -> str:
    """Another text as soon as anything was saved by which a report could say something else."""
    with database.reading() as connection:
        *numbers, drawn = connection.execute(STATE).one()
    drawn_as = blake2b(drawn or b"", digest_size=4).hexdigest()
    return "-".join([*(str(int(one or 0)) for one in numbers), drawn_as])
