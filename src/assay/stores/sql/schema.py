"""The tables. Only types that SQLite and PostgreSQL share; times are ISO 8601 text as the vendor wrote them.

`files` are scan states, `turns` and `keys` what was read, `streams` the rollup that is listed:
it is brought up to date with every change, so that nobody reads turns to show a list.
`cuts`, `segments` and `joined` are what was made of the turns and can be made again; `corrections` and `verdicts`
can not.
`rework` is what became of sessions' lines, and what was last told of it.
`answers`, `calls` and `batches` are what models said, what that cost, and what is still being answered.
`printed` is what commands said of the store as it is; nothing of it is handed on to another store.
`promotions` are configurations that went in, and whose effect is looked at later.
`written` are the scores that were seen at somebody else's, so that they are not sent there again.
`access_keys` open a server to others; `deeds` is the audit log, which the database itself lets nobody change.
`telemetry` is what agents sent while they worked, `conversations` what it is about: files are made of these as of any
transcript. `waits` and `seals` are the workers'.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    event,
    false,
    text,
)

from assay.stores.sql.append_only import forbid_changes
from assay.stores.sql.texts import Text

TABLES = MetaData()
SKIPPING, BROKEN_OFF, AGED = text("lines_skipped > 0"), text("tail_why IS NOT NULL"), text("length(ages) > 0")
"""What few rows are: indexes of these alone, which a query uses that says it in the same words."""

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
    Index("files_skipping", "id", sqlite_where=SKIPPING, postgresql_where=SKIPPING),
    Index("files_broken_off", "id", sqlite_where=BROKEN_OFF, postgresql_where=BROKEN_OFF),
)

listed_folders = Table(
    "listed_folders",
    TABLES,
    Column("folder", Text, primary_key=True),
    Column("hash", LargeBinary, nullable=False),
)
"""Every folder of which a file was read, and a hash of how it was listed when all of it was; none since it changed."""

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
    Index("streams_ended", "ended_at"),
    Index("streams_id", "id"),  # who else tells of a conversation
)

cuts = Table(
    "cuts",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("version", Text, nullable=False),
    Column("branch", Text, nullable=False),
    ForeignKeyConstraint(["agent", "stream"], ["streams.agent", "streams.id"], ondelete="CASCADE"),
    Index("cuts_version", "version"),
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
    Index("calls_at", "at"),
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
    "remembered", TABLES, Column("name", Text, primary_key=True), Column("value", LargeBinary, nullable=False)
)
"""How the last report was made, so that what is shown of a session is what that report said; how audits draw."""

printed = Table("printed", TABLES, Column("id", Text, primary_key=True), Column("body", LargeBinary, nullable=False))
"""What commands printed, for as long as nobody changes anything: a change of whatever row empties it. SQLite alone."""

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

access_keys = Table(
    "access_keys",
    TABLES,
    Column("hash", Text, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("made_at", Text, nullable=False),
    Column("used_at", Text),
    Column("revoked_at", Text),
)
"""Keys of a server, each by its sha256; the keys themselves are nowhere."""

deeds = Table(
    "deeds",
    TABLES,
    Column("n", Integer, primary_key=True),
    Column("at", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("about", Text, nullable=False),
    Column("count", BigInteger, nullable=False),
)
"""The audit log."""

event.listen(deeds, "after_create", lambda table, connection, **_: forbid_changes(connection, table.name))

telemetry = Table(
    "telemetry",
    TABLES,
    Column("id", Text, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("conversation", Text, nullable=False),
    Column("trace", Text, nullable=False),
    Column("order", BigInteger, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("telemetry_conversation", "agent", "conversation"),
    Index("telemetry_trace", "trace"),
)
"""Records that came in, each once, however often it was sent."""

conversations = Table(
    "conversations",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("records", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),  # grows with every batch that holds something new
    Column("version", Text, nullable=False),  # of all that read it last; empty for what is new
    Index("conversations_version", "version"),
)
"""What telemetry came in about."""
changed_streams = Table(
    "changed_streams",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("agent", Text, nullable=False),
    Column("stream", Text, nullable=False),
    Index("changed_streams_name", "agent", "stream"),
    sqlite_autoincrement=True,  # a number is never given twice
)
"""Streams of whose sessions something changed since they were told; a stream may stand here several times."""

neighbourhoods = Table(
    "neighbourhoods",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("key", Text, nullable=False),
    Column("told_at", Float, nullable=False),
    Column("valid_until", Float, nullable=False),
    Column("nodes", LargeBinary, nullable=False),
    Column("folders", LargeBinary, nullable=False),
    Column("tally", LargeBinary, nullable=False),
    Column("months", LargeBinary),
)
"""Streams that are told together, and what was counted of their sessions."""

told_streams = Table(
    "told_streams",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("neighbourhood", Text, ForeignKey("neighbourhoods.name", ondelete="CASCADE"), nullable=False),
    Column("continues", Boolean, nullable=False),
    Column("place", LargeBinary, nullable=False),
    Index("told_streams_neighbourhood", "neighbourhood"),
    Index("told_streams_continues", "continues"),
)

told = Table(
    "told",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("neighbourhood", Text, ForeignKey("neighbourhoods.name", ondelete="CASCADE"), nullable=False),
    Column("folder", Text, nullable=False),
    Column("began_at", Text, nullable=False),
    Column("ended_at", Text, nullable=False),
    Column("crushed", Boolean),
    Column("obstacle", Text, nullable=False),
    Column("is_news", Boolean, nullable=False),
    Column("is_answered", Boolean, nullable=False),
    Column("digest", LargeBinary, nullable=False),  # of all that it was told from, or that is kept of it
    # Long values last: SQLite reads a row up to the last column that is asked for.
    Column("ages", LargeBinary, nullable=False),
    Column("work", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("told_neighbourhood", "neighbourhood"),
    Index("told_began", "began_at", "agent", "id"),
    Index("told_ended", "ended_at"),
    Index("told_id", "id"),
    Index("told_obstacle", "obstacle", "began_at", "id"),
    Index("told_news", "is_news"),
    Index("told_answered", "is_answered"),
    Index("told_aged", "began_at", sqlite_where=AGED, postgresql_where=AGED),
)
"""Sessions as they were told, redacted; `is_news` where the last report said otherwise of whether they crushed."""

told_ledger = Table(
    "told_ledger",
    TABLES,
    Column("at", Text, primary_key=True),
    Column("session", Text, primary_key=True),
    Column("effect", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("agent", Text, primary_key=True),
    Column("id", Text, nullable=False),
    Column("line", LargeBinary, nullable=False),
    ForeignKeyConstraint(["agent", "id"], ["told.agent", "told.id"], ondelete="CASCADE"),
    Index("told_ledger_of", "agent", "id"),
    Index("told_ledger_session", "session"),
    Index("told_ledger_stream", "stream"),
)
"""Lines of the ledger; `agent` and `id` name the session they stand in."""

commit_deeds = Table(
    "commit_deeds",
    TABLES,
    Column("commit", Text, primary_key=True),
    Column("how", Text, primary_key=True),
    Column("agent", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("began_at", Text, nullable=False),
    ForeignKeyConstraint(["agent", "id"], ["told.agent", "told.id"], ondelete="CASCADE"),
    Index("commit_deeds_of", "agent", "id"),
)
"""What sessions have to do with commits that sessions elsewhere may have to do with too."""

waits = Table(
    "waits",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("noted_at", Float, nullable=False),
    Column("due_at", Float, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("why", Text, nullable=False),
)
"""Streams that workers leave for later; one that changed since waits for nothing."""

seals = Table(
    "seals",
    TABLES,
    Column("agent", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("signal", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("ended_at", Text, nullable=False),
    Column("opened", Integer, nullable=False),
    Index("seals_opened", "opened"),
)
"""By session: what was last seen to seal it, and how often it went on after that."""

promotions = Table(
    "promotions",
    TABLES,
    Column("id", Text, primary_key=True),
    Column("at", Text, nullable=False),
    Column("note", LargeBinary, nullable=False),
)
"""Configurations that were promoted; rows are only ever added."""

reserved_costs = Table(
    "reserved_costs",
    TABLES,
    Column("id", Text, primary_key=True),
    Column("at", Text, nullable=False),
    Column("usd", Float, nullable=False),
)
"""What calls to models cost, at most, that are under way or not kept yet; of whoever was killed, for a day."""
