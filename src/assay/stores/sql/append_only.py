"""A table to which rows can be added, and nothing else: the database refuses to change or delete them."""

from sqlalchemy import Connection, text

WHY = "the audit log is only added to"


def forbid_changes(connection: Connection, table: str) -> None:
    """Have the database refuse every update and deletion in a table."""
    if connection.dialect.name == "postgresql":
        connection.execute(
            text(
                "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN RAISE EXCEPTION '{WHY}'; END $$"
            )
        )
        connection.execute(
            text(
                f"CREATE TRIGGER {table}_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
                "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
            )
        )
        return
    for what in ("UPDATE", "DELETE"):
        connection.execute(
            text(
                f"CREATE TRIGGER {table}_stay_{what.lower()} BEFORE {what} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{WHY}'); END"
            )
        )
