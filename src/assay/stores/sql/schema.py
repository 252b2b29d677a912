"""The tables. Only types that SQLite and PostgreSQL share; times are ISO 8601 text as the vendor wrote them.

`files` are scan states, `turns` and `keys` what was read, `streams` the rollup that is listed:
it is brought up to date with every change, so that nobody reads turns to show a list.
`cuts`, `segments` and `joined` are what was made of the turns and can be made again; `corrections` and `verdicts`
can not.
`rework` is what became of sessions' lines, and what was last told of it.
`answers`, `calls` and `batches` are what models said, what that cost, and what is still being answered.
`written` are the scores that were seen at somebody else's, so that they are not sent there again.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    TypeDecorator,
    false,
)
from sqlalchemy import Text as DatabaseText
from sqlalchemy.types import TypeEngine

ESCAPE, ESCAPED = "\ue000", {"\ue000": "\ue000e", "\x00": "\ue0000"}


class Text(TypeDecorator[str]):
    """Text that comes back as it was given, and is ordered by its code points, in every database.

    PostgreSQL takes no NUL, so that it is written there by two other characters; its order would be that of a language.
    """

    impl = DatabaseText
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[str]:
        return dialect.type_descriptor(DatabaseText(collation="C" if dialect.name == "postgresql" else None))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return escape_text(value) if value and dialect.name == "postgresql" else value

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value and dialect.name == "postgresql" and ESCAPE in value:
            return value.replace(ESCAPED["\x00"], "\x00").replace(ESCAPED[ESCAPE], ESCAPE)
        return value


def escape_text(text: str) -> str:
    """A text without NUL, from which it can be had back."""
    if ESCAPE in text or "\x00" in text:
        return text.replace(ESCAPE, ESCAPED[ESCAPE]).replace("\x00", ESCAPED["\x00"])
    return text


TABLES = MetaData()

files = Table(
    "files",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("path", Text, nullable=False, unique=True),
    Column("source", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("inode", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("mtime_ns", BigInteger, nullable=False),
    Column("offset", BigInteger, nullable=False),
    Column("anchor", LargeBinary, nullable=False),
    Column("is_mid_line", Boolean, nullable=False),
    Column("lines_read", BigInteger, nullable=False),
    Column("lines_skipped", BigInteger, nullable=False),
    Column("tail_line", BigInteger),
    Column("tail_why", Text),
    Column("agent", Text, nullable=False),
    Column("stream", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("is_settled", Boolean, nullable=False),
    Column("gone_at", Text),
    Column("scanned_at", Text, nullable=False),
    # Long values last: SQLite reads a row up to the last column that is asked for.
    Column("part", LargeBinary),
    Column("unknown", LargeBinary, nullable=False),
    Column("prompts_at", LargeBinary, nullable=False),
    Column("facts", LargeBinary, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("packed_keys", LargeBinary, nullable=False),
    Index("files_stream", "agent", "stream"),
    Index("files_by", "by"),
    Index("files_settled", "is_settled"),
)

generation = Table(
    "generation",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("n", BigInteger, nullable=False),
)
"""One row, counted up whenever a file is kept: facts established before that are not written after it."""

skips = Table(
    "skips",
    TABLES,
    Column("file_id", Integer, ForeignKey("files.id", ondelete="CASCADE"), primary_key=True),
    Column("line", BigInteger, primary_key=True),
    Column("why", Text, nullable=False),
)

turns = Table(
    "turns",
    TABLES,
    Column("file_id", Integer, ForeignKey("files.id", ondelete="CASCADE"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("at", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

keys = Table(
    "keys",
    TABLES,
    Column("key", BigInteger, primary_key=True, autoincrement=False),
    Column("file_id", Integer, ForeignKey("files.id", ondelete="CASCADE"), primary_key=True),
    Column("weight", BigInteger, nullable=False),
    Index("keys_file", "file_id"),
    sqlite_with_rowid=False,
)

streams = Table(
    "streams",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("file_id", Integer, ForeignKey("files.id", ondelete="CASCADE"), nullable=False),
    Column("files", Integer, nullable=False),
    Column("project", Text, nullable=False),
    Column("branch", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("began_at", Text, nullable=False),
    Column("ended_at", Text, nullable=False),
    Column("prompts_at", LargeBinary, nullable=False),
    Column("turns", Integer, nullable=False),
    Column("facts", LargeBinary, nullable=False),
    Column("shares", Boolean, nullable=False),  # reading it takes a look at who owns what
    Column("generation", BigInteger, nullable=False),  # of the store when it was settled
    Column("is_forgotten", Boolean, nullable=False, server_default=false()),  # its words were deleted
    Index("streams_began", "began_at"),
)

cuts = Table(
    "cuts",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("branch", Text, nullable=False),
    ForeignKeyConstraint(["agent", "stream"], ["streams.agent", "streams.id"], ondelete="CASCADE"),
)
"""Streams whose segments are up to date with their turns; a stream that changes loses its row here alone."""

segments = Table(
    "segments",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("id", Text, nullable=False),
    Column("input", Text, nullable=False),
    Column("segment", LargeBinary, nullable=False),
    Column("turns", LargeBinary, nullable=False),  # their ids, packed
    Column("judged", LargeBinary, nullable=False),
    ForeignKeyConstraint(["agent", "stream"], ["streams.agent", "streams.id"], ondelete="CASCADE"),
    Index("segments_id", "id"),
)
"""`judged` holds for as long as `input`, a hash of all that was looked at, is the same."""

set_aside = Table(
    "set_aside",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("generation", BigInteger, nullable=False),  # of the stream when it was cut so
    Column("branch", Text, nullable=False),
    Column("packed", LargeBinary, nullable=False),
    ForeignKeyConstraint(["agent", "stream"], ["streams.agent", "streams.id"], ondelete="CASCADE"),
)
"""The cut of a stream that another version took the place of last, with its segments."""

joined = Table(
    "joined",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("input", Text, nullable=False),
    Column("judged", LargeBinary, nullable=False),
)
"""Sessions of several segments, judged as one, by the id of the first."""

corrections = Table(
    "corrections",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("turn", Text, nullable=False),
    Column("into", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("at", Text, nullable=False),
)
"""What people said of sessions, in order; rows are only ever added."""

verdicts = Table(
    "verdicts",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("turn", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("is_sampled", Boolean, nullable=False),
    Column("turns", Integer, nullable=False),
)
"""What people said of how sessions ended, by mark and in audits; rows are only ever added."""

rework = Table(
    "rework",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("input", Text, nullable=False),
    Column("seen", Text, nullable=False),
    Column("final_at", BigInteger),
    Column("found", LargeBinary, nullable=False),
    Column("is_told", Boolean, nullable=False),
)
"""By session; `found` holds for one `input` and for what was `seen` of the repository, from `final_at` on for good.

`is_told`: the last report said that the session crushed.
"""

answers = Table(
    "answers",
    TABLES,
    Column("key", Text, primary_key=True),
    Column("job", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("trouble", Text),
    Column("why", Text, nullable=False),
    Column("text", Text, nullable=False),
)
"""What models said, by the hash of what they were asked; paid for, so never dropped with what was made of it."""

calls = Table(
    "calls",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("key", Text, nullable=False),
    Column("job", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("input", BigInteger, nullable=False),
    Column("output", BigInteger, nullable=False),
    Column("cache_read", BigInteger, nullable=False),
    Column("cache_write", BigInteger, nullable=False),
    Column("cost_usd", Float),
    Column("detail", Text, nullable=False),
)
"""Every call to a model, with what it cost; rows are only ever added."""

batches = Table(
    "batches",
    TABLES,
    Column("id", Text, primary_key=True),
    Column("backend", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("keys", LargeBinary, nullable=False),
)
"""Batches that are still being answered."""

remembered = Table(
    "remembered",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
"""How the last report was made, so that what is shown of a session is what that report said; how audits draw."""

written = Table(
    "written",
    TABLES,
    Column("host", Text, primary_key=True),
    Column("project", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("session", Text, nullable=False, server_default=""),
    Column("subject", Text, nullable=False, server_default=""),
    Column("name", Text, nullable=False, server_default=""),
    Column("family", Text, nullable=False, server_default=""),
    Column("environment", Text, nullable=False, server_default=""),
)
"""Scores and traces that were written to a server's project and read back from it, and what they are about.

`digest` changes with what they say; what stands there since before 0008 is about nothing until it is met again.
"""
