"""Words whose retention has passed leave the store too: facts in numbers stay, and what they belong to."""

from datetime import UTC, datetime, timedelta

from assay.config import Tenant
from assay.pipeline.privacy import PrivacyRules, are_expired, forget_pieces
from assay.stores import Store

MARGIN = timedelta(days=1)
"""Times are compared as text first, and somebody's clock may have written an offset."""


def forget_expired(store: Store, tenants: dict[str, Tenant], now: datetime) -> int:
    """Delete the words of every stream whose tenants keep them no longer; gives how many streams that were."""
    days = [one.retention_days for one in tenants.values() if one.retention_days is not None]
    if not days:
        return 0
    rules, since = PrivacyRules(tenants=tenants, now=now), now - timedelta(days=min(days))
    forgotten = 0
    for stream, parts in store.transcripts.list_ended(format_time(since + MARGIN)):
        ended_at = max(part.ended_at for part in parts)
        signs = [sign for part in parts for sign in part.signs or (part.cwd,)]
        if not are_expired(signs, ended_at, rules):
            continue
        silent = forget_pieces(store.transcripts.load_pieces([stream])[0], ended_at, rules)
        forgotten += silent is not None and store.transcripts.forget_words(stream, silent)
    store.answers.drop_answers(format_time(since))
    return forgotten


def format_time(at: datetime) -> str:
    """A time as stores compare it."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
