"""The tables of what other machines ship: machines, their sessions, the conversations these stand in, and parts.

A *part* is what one machine has of one month: when any session of it changes, the part is told anew.
"""

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, ForeignKeyConstraint, Index, LargeBinary, Table

from assay.stores.sql.schema import TABLES
from assay.stores.sql.texts import Text

machines = Table(
    "machines",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("person", Text, nullable=False),
    Column("key", Text, nullable=False),  # id of the key that ships it; empty where none is needed
    Column("shipped_at", Text, nullable=False),
)

shipped = Table(
    "shipped",
    TABLES,
    Column("machine", Text, ForeignKey("machines.name", ondelete="CASCADE"), primary_key=True),
    Column("agent", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("month", Text, nullable=False),
    Column("began_at", Text, nullable=False),
    Column("ended_at", Text, nullable=False),
    Column("project", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("has_words", Boolean, nullable=False),
    Column("is_forgotten", Boolean, nullable=False),  # its words were deleted here
    Column("body", LargeBinary, nullable=False),  # the session as JSON, without its turns
    Column("words", LargeBinary, nullable=False),  # its turns; empty for none
    Index("shipped_part", "machine", "month"),
    Index("shipped_id", "id"),
    Index("shipped_spoken", "has_words", "ended_at"),
)
"""Sessions as they came, each once."""

shipped_streams = Table(
    "shipped_streams",
    TABLES,
    Column("machine", Text, primary_key=True),
    Column("agent", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("conversation", Text, nullable=False),  # the vendor's own id of the stream
    ForeignKeyConstraint(
        ["machine", "agent", "id"], ["shipped.machine", "shipped.agent", "shipped.id"], ondelete="CASCADE"
    ),
    Index("shipped_streams_of", "machine", "agent", "id"),
    Index("shipped_streams_conversation", "conversation"),
)
"""In which conversations sessions stand: none is scored twice."""

shipped_parts = Table(
    "shipped_parts",
    TABLES,
    Column("machine", Text, primary_key=True),
    Column("month", Text, primary_key=True),
    Column("revision", BigInteger, nullable=False),  # grows with every change; rows stay, so that their sum grows
)
