"""A session's observations, by whichever of the two read APIs the server has.

v4 gives them all by session, newest first and perhaps twice; v3 gives traces, then the observations of each.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from msgspec import Struct

from assay.http import (
    GarbledAnswer,
    PathNotFound,
    RemoteError,
    RequestRefused,
    ServiceBusy,
    ServiceUnreachable,
    decode_answer,
)
from assay.langfuse.client import GENERAL, LEGACY, Client, Generation
from assay.langfuse.observations import trace_root, v2_record, v3_record
from assay.sources.langfuse.records import Record
from assay.types.value import to_text

V2, OBSERVATIONS, TRACES, SESSIONS = (
    f"/api/public/{path}" for path in ("v2/observations", "observations", "traces", "sessions")
)
FIELDS = "core,basic,io,metadata,model,usage,trace_context"
ROWS, FEWEST_ROWS, ROWS_WITHOUT_TEXT, LEGACY_ROWS = 200, 10, 1000, 100
"""Observations with their texts can be large, and Langfuse Cloud answers with 5 MB at most."""
TOO_LARGE = 413
MOST_PAGES = 10_000

T = TypeVar("T")


class Meta(Struct, frozen=True, rename="camel"):
    cursor: str | None = None
    total_pages: int = 1


class Page(Struct, frozen=True):
    data: list[dict[str, Any]]
    meta: Meta = Meta()


def observations(client: Client, session: str) -> list[Record]:
    """All observations of a session, in no order, perhaps some of them twice; none for an unknown session."""
    return either(client, lambda one: list(modern(one, session)), lambda one: list(legacy(one, session)))


def sessions_since(client: Client, since: str) -> list[str]:
    """Ids of the sessions in which something began at or after a time, the oldest first."""
    return either(client, lambda one: modern_sessions(one, since), lambda one: legacy_sessions(one, since))


def either(client: Client, new: Callable[[Client], T], old: Callable[[Client], T]) -> T:
    """Ask the generation that the version names; where it has no such endpoint, the other one, and remember that."""
    ways = {"v4": new, "v3": old}
    first = client.generation
    try:
        return ways[first](client)
    except PathNotFound as error:
        said = error
    other: Generation = "v3" if first == "v4" else "v4"
    try:
        found = ways[other](client)
    except PathNotFound:
        raise RemoteError(f"{said}; nor is there the other API to read sessions: is this a Langfuse server?") from None
    client.generation = other
    return found


def modern(client: Client, session: str) -> Iterator[Record]:
    """Rows of `v2/observations`."""
    for row in pages(client, {"sessionId": session, "fields": FIELDS}, ROWS):
        if record := v2_record(row):
            yield record


def pages(client: Client, asked: dict[str, str], limit: int) -> Iterator[dict[str, Any]]:
    """Rows of all pages; a page that is too much for the server is asked for in smaller ones."""
    cursor: str | None = ""
    seen: set[str] = set()
    while cursor is not None:
        params: dict[str, str | int] = {**asked, "limit": limit, **({"cursor": cursor} if cursor else {})}
        try:
            page = decode_answer(client.http.get(V2, params, GENERAL), Page)
        except (ServiceBusy, ServiceUnreachable, RequestRefused) as error:
            if limit <= FEWEST_ROWS or (isinstance(error, RequestRefused) and error.status != TOO_LARGE):
                raise
            limit = max(limit // 4, FEWEST_ROWS)
            continue
        yield from page.data
        cursor = page.meta.cursor or None
        if cursor in seen:
            raise GarbledAnswer(f"{client.host}{V2}: gave the same page twice; run it again")
        seen.add(cursor or "")


def modern_sessions(client: Client, since: str) -> list[str]:
    asked = {"fromStartTime": since, "fields": "core,basic"}
    rows = list(pages(client, asked, ROWS_WITHOUT_TEXT))
    rows.sort(key=lambda row: str(row.get("startTime")))
    return list(dict.fromkeys(found for row in rows if (found := to_text(row.get("sessionId")))))


def numbered(client: Client, path: str, asked: dict[str, str], limit: int) -> Iterator[dict[str, Any]]:
    """Rows of all pages of an endpoint that numbers them."""
    for number in range(1, MOST_PAGES):
        page = decode_answer(client.http.get(path, {**asked, "page": number, "limit": limit}, LEGACY), Page)
        yield from page.data
        if number >= page.meta.total_pages or not page.data:
            return


def legacy(client: Client, session: str) -> Iterator[Record]:
    """The traces of a session, and the observations of each."""
    for trace in list(numbered(client, TRACES, {"sessionId": session, "fields": "core,io"}, LEGACY_ROWS)):
        of = str(trace.get("id") or "")
        rows = list(numbered(client, OBSERVATIONS, {"traceId": of}, LEGACY_ROWS)) if of else []
        found = [record for row in rows if (record := v3_record(row, trace))]
        root = trace_root(trace, found)
        yield from found
        if root:
            yield root


def legacy_sessions(client: Client, since: str) -> list[str]:
    rows = list(numbered(client, SESSIONS, {"fromTimestamp": since}, LEGACY_ROWS))
    rows.sort(key=lambda row: str(row.get("createdAt")))
    return list(dict.fromkeys(found for row in rows if (found := to_text(row.get("id")))))
