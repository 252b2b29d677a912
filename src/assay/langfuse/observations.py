"""A session's observations, by whichever of the two read APIs the server has, as records of one shape.

v4 gives them all by session, newest first and perhaps twice; v3 gives traces, then the observations of each.
Records are merged, so that each is there once, and sorted into reading order.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

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
from assay.sources.langfuse.records import END, Record, to_count
from assay.types import Value
from assay.types.value import to_list, to_table, to_text

DIGITS = re.compile(r"(\d+)")
ADOPTING = frozenset({"SPAN", "AGENT", "CHAIN"})
OBSERVATIONS_V2, OBSERVATIONS, TRACES, SESSIONS = (
    f"/api/public/{path}" for path in ("v2/observations", "observations", "traces", "sessions")
)
FIELDS = "core,basic,io,metadata,model,usage,trace_context"
ROWS, FEWEST_ROWS, ROWS_WITHOUT_TEXT, LEGACY_ROWS = 200, 10, 1000, 100
"""Observations with their texts can be large, and Langfuse Cloud answers with 5 MB at most."""
TOO_LARGE = 413
MOST_PAGES = 10_000
LONE = "trace:"
"""Before the id of a trace that belongs to no session and is read as one by itself."""
T = TypeVar("T")


def parse_v2(row: dict[str, Any]) -> Record | None:
    """A row of `v2/observations`, where texts are raw; `None` for one without an id."""
    return build_record(row, parse_text(row.get("input")), parse_text(row.get("output")))


def parse_v3(row: dict[str, Any], trace: dict[str, Any]) -> Record | None:
    """A row of `observations`, where texts are parsed and the trace stands apart."""
    known = {
        "traceName": trace.get("name"),
        "tags": trace.get("tags"),
        "sessionId": trace.get("sessionId"),
        "userId": trace.get("userId"),
        "traceId": trace.get("id"),
        "environment": trace.get("environment"),
    }
    return build_record(
        known | {key: value for key, value in row.items() if value is not None}, row.get("input"), row.get("output")
    )


def build_record(row: dict[str, Any], given: Any, gave: Any) -> Record | None:
    """The parts of a row that sessions are read from."""
    of, trace, at = to_text(row.get("id")), to_text(row.get("traceId")), to_text(row.get("startTime"))
    if not of or not at:
        return None
    usage = to_table(row.get("usageDetails")) or to_table(row.get("usage"))
    return Record(
        type=to_text(row.get("type")),
        trace=trace or of,
        trace_name=to_text(row.get("traceName")),
        id=of,
        parent=to_text(row.get("parentObservationId")),
        name=to_text(row.get("name")),
        at=at,
        ended_at=to_text(row.get("endTime")),
        level=to_text(row.get("level")) if row.get("level") != "DEFAULT" else "",
        said=to_text(row.get("statusMessage")),
        model=to_text(row.get("model")) or to_text(row.get("providedModelName")),
        usage={key: count for key, value in usage.items() if (count := to_count(value))},
        input=given,
        output=gave,
        metadata=drop_scopes(to_table(parse_text(row.get("metadata")))),
        tags=tuple(tag for tag in to_list(row.get("tags")) if isinstance(tag, str)),
        version=to_text(row.get("version")),
        user=to_text(row.get("userId")),
        environment=to_text(row.get("environment")),
    )


def drop_scopes(metadata: dict[str, Any]) -> dict[str, Any]:
    """Without what only tells which library sent it."""
    return {key: value for key, value in metadata.items() if key.split(".")[0] != "scope"}


def parse_text(value: Any) -> Any:
    """What a raw text holds: JSON where it is an object, a list or a string, else the text itself."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value if value != "" else None
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value


def build_root(trace: dict[str, Any], found: Sequence[Record]) -> Record | None:
    """A trace's own input and output as a root, where no observation is one; v4 shows old traces in the same way."""
    orphans = [one for one in found if not one.parent]
    has_root = len(orphans) == 1 and (orphans[0].type in ADOPTING or len(found) == 1)
    given, gave = trace.get("input"), trace.get("output")
    of = to_text(trace.get("id"))
    if has_root or not of or (given is None and gave is None and found):
        return None
    for one in orphans:
        one.parent = f"t-{of}"
    made = {"id": f"t-{of}", "type": "SPAN", "startTime": trace.get("timestamp"), "metadata": trace.get("metadata")}
    return parse_v3({**made, "name": trace.get("name"), "input": given, "output": gave}, trace)


def merge_records(records: Iterable[Record]) -> dict[tuple[str, str], Record]:
    """The records by trace and id; of two the one that says more, else the later one."""
    found: dict[tuple[str, str], Record] = {}
    for one in records:
        known = found.get((one.trace, one.id))
        if known is None or rank_record(one) >= rank_record(known):
            found[one.trace, one.id] = one
    return found


def rank_record(one: Record) -> tuple[bool, bool, int, int]:
    """How complete a record is."""
    return bool(one.ended_at), one.output is not None, sum(one.usage.values()), one.upload_size


def sort_records(records: Iterable[Record]) -> Iterator[Record]:
    """Traces by the time at which they began; in each, parents before children, and what the root gave at its end."""
    traces: dict[str, list[Record]] = {}
    for one in records:
        traces.setdefault(one.trace, []).append(one)
    for trace in sorted(traces.values(), key=lambda some: (min(one.at for one in some), some[0].trace)):
        yield from walk_trace(trace)


def walk_trace(trace: list[Record]) -> Iterator[Record]:
    """One trace as a tree, depth first; what hangs on nothing, or on itself, is a root too."""
    ids = {one.id for one in trace}
    children: dict[str, list[Record]] = {}
    for one in sorted(trace, key=rank_in_trace):
        children.setdefault(one.parent if one.parent in ids and one.parent != one.id else "", []).append(one)
    left = {one.id: one for one in sorted(trace, key=rank_in_trace)}
    while left:
        roots = [one for one in children.get("", ()) if one.id in left] or [next(iter(left.values()))]
        stack = list(reversed(roots))
        while stack:
            one = stack.pop()
            if one.type != END and left.pop(one.id, None) is None:
                continue
            yield replace(one, output=None) if is_turn(one) else one
            if is_turn(one):
                stack.append(build_end(one))
            stack += reversed(children.get(one.id, []))


def rank_in_trace(one: Record) -> tuple[str, tuple[tuple[bool, int, str], ...], str]:
    """By time; those of one millisecond by their names, in which 10 comes after 9."""
    parts = tuple((part.isdigit(), int(part) if part.isdigit() else 0, part) for part in DIGITS.split(one.name[:80]))
    return one.at, parts, one.id


def is_turn(one: Record) -> bool:
    """Whether it is a root around others, whose output is the last word of the trace."""
    return not one.parent and one.type in ADOPTING and one.output is not None


def build_end(one: Record) -> Record:
    """The last line of a trace: what its root gave."""
    at = one.ended_at or one.at
    return Record(type=END, trace=one.trace, id=f"{one.id}/end", parent=one.id, at=at, output=one.output)


# --- asking the server ------------------------------------------------------------------------


class PageMeta(Struct, frozen=True, rename="camel"):
    cursor: str | None = None
    total_pages: int = 1


class RowPage(Struct, frozen=True):
    data: list[dict[str, Any]]
    meta: PageMeta = PageMeta()


def fetch_observations(client: Client, session: str) -> list[Record]:
    """All observations of a session, in no order, perhaps some of them twice; none for an unknown session.

    `trace:ID` names a trace that belongs to no session.
    """
    if session.startswith(LONE):
        trace = session.removeprefix(LONE)
        return ask_either(
            client,
            lambda one: list(fetch_modern(one, {"traceId": trace})),
            lambda one: list(fetch_legacy_trace(one, fetch_legacy_root(one, trace))),
        )
    return ask_either(
        client,
        lambda one: list(fetch_modern(one, {"sessionId": session})),
        lambda one: list(fetch_legacy(one, session)),
    )


class SessionPick(Value, frozen=True):
    """Which sessions are wanted: those with a trace that is all of this; of several values of one kind, any."""

    since: str = ""
    """Something began at or after this time."""
    environments: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Of traces."""
    with_traces: bool = False
    """Traces that belong to no session too, each as a session of its own."""

    @property
    def is_plain(self) -> bool:
        """Whether only time decides."""
        return self == SessionPick(since=self.since)

    def takes(self, row: dict[str, Any]) -> bool:
        """Whether a row, or its trace, is what is wanted."""
        tags = [tag for tag in to_list(row.get("tags")) if isinstance(tag, str)]
        pairs = (
            (self.environments, [to_text(row.get("environment")) or "default"]),
            (self.users, [to_text(row.get("userId"))]),
            (self.names, [to_text(row.get("traceName"))]),
            (self.tags, tags),
        )
        return all(not wanted or not set(wanted).isdisjoint(found) for wanted, found in pairs)


def fetch_picked(client: Client, pick: SessionPick) -> list[str]:
    """Ids of the sessions that are wanted, the oldest first."""
    return ask_either(
        client, lambda one: fetch_modern_sessions(one, pick), lambda one: fetch_legacy_sessions(one, pick)
    )


def find_environment(client: Client, session: str) -> str | None:
    """The environment of a session, in one request; `None` where nothing of it is in Langfuse."""

    def ask_modern(one: Client) -> str | None:
        asked: dict[str, str | int] = {"sessionId": session, "fields": "core,basic", "limit": 1}
        if session.startswith(LONE):
            asked = {"traceId": session.removeprefix(LONE), "fields": "core,basic", "limit": 1}
        return read_environment(decode_answer(one.http.get(OBSERVATIONS_V2, asked, GENERAL), RowPage).data)

    def ask_legacy(one: Client) -> str | None:
        if session.startswith(LONE):
            return read_environment([fetch_legacy_root(one, session.removeprefix(LONE))])
        asked: dict[str, str | int] = {"sessionId": session, "fields": "core", "page": 1, "limit": 1}
        return read_environment(decode_answer(one.http.get(TRACES, asked, LEGACY), RowPage).data)

    return ask_either(client, ask_modern, ask_legacy)


def read_environment(rows: Sequence[dict[str, Any]]) -> str | None:
    return to_text(rows[0].get("environment")) or "default" if rows and rows[0] else None


def ask_either(client: Client, new: Callable[[Client], T], old: Callable[[Client], T]) -> T:
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


def fetch_modern(client: Client, place: dict[str, str]) -> Iterator[Record]:
    """Rows of `v2/observations`."""
    for row in fetch_pages(client, {**place, "fields": FIELDS}, ROWS):
        if record := parse_v2(row):
            yield record


def fetch_pages(client: Client, asked: dict[str, str], limit: int) -> Iterator[dict[str, Any]]:
    """Rows of all pages; a page that is too much for the server is asked for in smaller ones."""
    cursor: str | None = ""
    seen: set[str] = set()
    while cursor is not None:
        params: dict[str, str | int] = {**asked, "limit": limit, **({"cursor": cursor} if cursor else {})}
        try:
            page = decode_answer(client.http.get(OBSERVATIONS_V2, params, GENERAL), RowPage)
        except (ServiceBusy, ServiceUnreachable, RequestRefused) as error:
            if limit <= FEWEST_ROWS or (isinstance(error, RequestRefused) and error.status != TOO_LARGE):
                raise
            limit = max(limit // 4, FEWEST_ROWS)
            continue
        yield from page.data
        cursor = page.meta.cursor or None
        if cursor in seen:
            raise GarbledAnswer(f"{client.host}{OBSERVATIONS_V2}: gave the same page twice; run it again")
        seen.add(cursor or "")


def fetch_modern_sessions(client: Client, pick: SessionPick) -> list[str]:
    asked = {"fromStartTime": pick.since, "fields": "core,basic,trace_context" if pick.tags or pick.names else ""}
    if len(pick.users) == 1:
        asked["userId"] = pick.users[0]
    if len(pick.environments) == 1:
        asked["environment"] = pick.environments[0]
    found = fetch_pages(client, {key: value for key, value in asked.items() if value}, ROWS_WITHOUT_TEXT)
    rows = sorted((row for row in found if pick.takes(row)), key=lambda row: str(row.get("startTime")))
    return list(dict.fromkeys(filter(None, (name_place(row, row.get("traceId"), pick) for row in rows))))


def name_place(row: dict[str, Any], trace: Any, pick: SessionPick) -> str:
    """The session of a row, or the trace that is one by itself; empty where that is not wanted."""
    lone = f"{LONE}{trace}" if trace and pick.with_traces else ""
    return to_text(row.get("sessionId")) or lone


def fetch_numbered(client: Client, path: str, asked: dict[str, str], limit: int) -> Iterator[dict[str, Any]]:
    """Rows of all pages of an endpoint that numbers them."""
    for number in range(1, MOST_PAGES):
        page = decode_answer(client.http.get(path, {**asked, "page": number, "limit": limit}, LEGACY), RowPage)
        yield from page.data
        if number >= page.meta.total_pages or not page.data:
            return


def fetch_legacy(client: Client, session: str) -> Iterator[Record]:
    """The traces of a session, and the observations of each."""
    for trace in list(fetch_numbered(client, TRACES, {"sessionId": session, "fields": "core,io"}, LEGACY_ROWS)):
        yield from fetch_legacy_trace(client, trace)


def fetch_legacy_trace(client: Client, trace: dict[str, Any]) -> Iterator[Record]:
    """The observations of a trace, with a root where none of them is one."""
    of = str(trace.get("id") or "")
    rows = list(fetch_numbered(client, OBSERVATIONS, {"traceId": of}, LEGACY_ROWS)) if of else []
    found = [record for row in rows if (record := parse_v3(row, trace))]
    root = build_root(trace, found) if of else None
    yield from found
    if root:
        yield root


def fetch_legacy_root(client: Client, trace: str) -> dict[str, Any]:
    """A trace by its id; empty where there is none."""
    try:
        answer = client.http.get(f"{TRACES}/{quote(trace, safe='')}", {"fields": "core,io"}, LEGACY)
    except PathNotFound as error:
        if "not found" in error.said.lower() and "endpoint" not in error.said.lower():
            return {}
        raise
    return decode_answer(answer, dict[str, Any])


def fetch_legacy_sessions(client: Client, pick: SessionPick) -> list[str]:
    asked = {"fromTimestamp": pick.since} if pick.since else {}
    if pick.is_plain:
        rows = list(fetch_numbered(client, SESSIONS, asked, LEGACY_ROWS))
        rows.sort(key=lambda row: str(row.get("createdAt")))
        return list(dict.fromkeys(found for row in rows if (found := to_text(row.get("id")))))
    rows = [one | {"traceName": one.get("name")} for one in fetch_numbered(client, TRACES, asked, LEGACY_ROWS)]
    rows = sorted((one for one in rows if pick.takes(one)), key=lambda row: str(row.get("timestamp")))
    return list(dict.fromkeys(filter(None, (name_place(row, row.get("id"), pick) for row in rows))))
