"""Files, turns, keys and streams."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    files()
    generation()
    skips()
    turns()
    keys()
    streams()


def files() -> None:
    op.create_table(
        "files",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("path", sa.Text, nullable=False, unique=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("inode", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("mtime_ns", sa.BigInteger, nullable=False),
        sa.Column("offset", sa.BigInteger, nullable=False),
        sa.Column("anchor", sa.LargeBinary, nullable=False),
        sa.Column("is_mid_line", sa.Boolean, nullable=False),
        sa.Column("lines_read", sa.BigInteger, nullable=False),
        sa.Column("lines_skipped", sa.BigInteger, nullable=False),
        sa.Column("tail_line", sa.BigInteger),
        sa.Column("tail_why", sa.Text),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("stream", sa.Text, nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("is_settled", sa.Boolean, nullable=False),
        sa.Column("gone_at", sa.Text),
        sa.Column("scanned_at", sa.Text, nullable=False),
        sa.Column("part", sa.LargeBinary),
        sa.Column("unknown", sa.LargeBinary, nullable=False),
        sa.Column("prompts_at", sa.LargeBinary, nullable=False),
        sa.Column("facts", sa.LargeBinary, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.Column("packed_keys", sa.LargeBinary, nullable=False),
        sa.Index("files_stream", "agent", "stream"),
        sa.Index("files_by", "by"),
        sa.Index("files_settled", "is_settled"),
    )


def skips() -> None:
    op.create_table(
        "skips",
        sa.Column("file_id", sa.Integer, sa.ForeignKey("files.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("line", sa.BigInteger, primary_key=True),
        sa.Column("why", sa.Text, nullable=False),
    )


def turns() -> None:
    op.create_table(
        "turns",
        sa.Column("file_id", sa.Integer, sa.ForeignKey("files.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("n", sa.Integer, primary_key=True),
        sa.Column("at", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )


def keys() -> None:
    op.create_table(
        "keys",
        sa.Column("key", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("file_id", sa.Integer, sa.ForeignKey("files.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("weight", sa.BigInteger, nullable=False),
        sa.Index("keys_file", "file_id"),
        sqlite_with_rowid=False,
    )


def streams() -> None:
    op.create_table(
        "streams",
        sa.Column("agent", sa.Text, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("file_id", sa.Integer, sa.ForeignKey("files.id", ondelete="CASCADE"), nullable=False),
        sa.Column("files", sa.Integer, nullable=False),
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("branch", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("began_at", sa.Text, nullable=False),
        sa.Column("ended_at", sa.Text, nullable=False),
        sa.Column("prompts_at", sa.LargeBinary, nullable=False),
        sa.Column("turns", sa.Integer, nullable=False),
        sa.Column("facts", sa.LargeBinary, nullable=False),
        sa.Index("streams_began", "began_at"),
    )


def generation() -> None:
    table = op.create_table(
        "generation",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("n", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(table, [{"id": 1, "n": 0}])
