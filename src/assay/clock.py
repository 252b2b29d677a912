"""Times as transcripts write them."""

from datetime import UTC, datetime


def parse_time(text: str) -> datetime | None:
    """The time that a text says, in UTC where it names no zone; `None` for what is no time."""
    try:
        at = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return at.replace(tzinfo=UTC) if at and at.tzinfo is None else at
