"""Words whose retention has passed leave the store too: facts in numbers stay, and what they belong to."""

from datetime import UTC, datetime, timedelta

from assay.config import Tenant
from assay.pipeline.privacy import PrivacyRules, are_expired, forget_pieces, silence_pieces
from assay.pipeline.shipped import forget_expired_words
from assay.pipeline.telemetry import forget_records
from assay.stores import Store, StreamFiles, StreamPieces
from assay.types import Deed

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
        if silent is not None and delete_words(store, stream, silent):
            forgotten += 1 + forget_twins(store, stream)
    forgotten += forget_expired_words(store, format_time(since + MARGIN), rules)
    store.answers.drop_answers(format_time(since))
    note_deletion(store, "retention", "what was kept longer than allowed", forgotten)
    return forgotten


def forget_twins(store: Store, stream: StreamFiles) -> int:
    """Delete the words of whatever else tells of the same conversation: other sources tell nothing of its tenant."""
    names = [
        name for name in store.transcripts.list_twins([(stream.agent, stream.id)]) if name != (stream.agent, stream.id)
    ]
    return sum(forget_stream(store, one) for one in store.transcripts.list_stream_files(names))


def forget_stream(store: Store, stream: StreamFiles) -> bool:
    """Delete all words of a stream; `False` where there are none, or it changed meanwhile."""
    silent = silence_pieces(store.transcripts.load_pieces([stream])[0], lambda _: True)
    return silent is not None and delete_words(store, stream, silent)


def note_deletion(store: Store, who: str, about: str, count: int) -> None:
    """Have the audit log say that words of so many conversations were deleted."""
    if count:
        at = format_time(datetime.now(UTC))
        store.keys.save_deed(Deed(at=at, who=who, kind="words_deleted", about=about, count=count))


def delete_words(store: Store, stream: StreamFiles, silent: StreamPieces) -> bool:
    """Delete words from a stream, and first from the telemetry it was read from: killed between, it is done again."""
    for path, _, _ in silent.pieces:
        forget_records(store, path)
    return store.transcripts.forget_words(stream, silent)


def format_time(at: datetime) -> str:
    """A time as stores compare it."""
    return at.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
