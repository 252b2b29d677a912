"""Rows of Langfuse as records of ours: one shape for both APIs, each once, in reading order."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from assay.sources.langfuse.records import END, Record, to_count
from assay.types.value import to_list, to_table, to_text

DIGITS = re.compile(r"(\d+)")
ADOPTING = frozenset({"SPAN", "AGENT", "CHAIN"})


def v2_record(row: dict[str, Any]) -> Record | None:
    """A row of `v2/observations`, where texts are raw; `None` for one without an id."""
    return record(row, read_text(row.get("input")), read_text(row.get("output")))


def v3_record(row: dict[str, Any], trace: dict[str, Any]) -> Record | None:
    """A row of `observations`, where texts are parsed and the trace stands apart."""
    known = {
        "traceName": trace.get("name"),
        "tags": trace.get("tags"),
        "sessionId": trace.get("sessionId"),
        "userId": trace.get("userId"),
        "traceId": trace.get("id"),
    }
    return record(
        known | {key: value for key, value in row.items() if value is not None}, row.get("input"), row.get("output")
    )


def record(row: dict[str, Any], given: Any, gave: Any) -> Record | None:
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
        metadata=useful(to_table(read_text(row.get("metadata")))),
        tags=tuple(tag for tag in to_list(row.get("tags")) if isinstance(tag, str)),
        version=to_text(row.get("version")),
        user=to_text(row.get("userId")),
    )


def useful(metadata: dict[str, Any]) -> dict[str, Any]:
    """Without what only tells which library sent it."""
    return {key: value for key, value in metadata.items() if key.split(".")[0] != "scope"}


def read_text(value: Any) -> Any:
    """What a raw text holds: JSON where it is an object, a list or a string, else the text itself."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value if value != "" else None
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return value


def trace_root(trace: dict[str, Any], found: Sequence[Record]) -> Record | None:
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
    return v3_record({**made, "name": trace.get("name"), "input": given, "output": gave}, trace)


def each_once(records: Iterable[Record]) -> dict[tuple[str, str], Record]:
    """The records by trace and id; of two the one that says more, else the later one."""
    found: dict[tuple[str, str], Record] = {}
    for one in records:
        known = found.get((one.trace, one.id))
        if known is None or said(one) >= said(known):
            found[one.trace, one.id] = one
    return found


def said(one: Record) -> tuple[bool, bool, int]:
    """How complete a record is."""
    return bool(one.ended_at), one.output is not None, sum(one.usage.values())


def in_order(records: Iterable[Record]) -> Iterator[Record]:
    """Traces by the time at which they began; in each, parents before children, and what the root gave at its end."""
    traces: dict[str, list[Record]] = {}
    for one in records:
        traces.setdefault(one.trace, []).append(one)
    for trace in sorted(traces.values(), key=lambda some: (min(one.at for one in some), some[0].trace)):
        yield from in_tree(trace)


def in_tree(trace: list[Record]) -> Iterator[Record]:
    """One trace as a tree, depth first; what hangs on nothing, or on itself, is a root too."""
    ids = {one.id for one in trace}
    children: dict[str, list[Record]] = {}
    for one in sorted(trace, key=place):
        children.setdefault(one.parent if one.parent in ids and one.parent != one.id else "", []).append(one)
    left = {one.id: one for one in sorted(trace, key=place)}
    while left:
        roots = [one for one in children.get("", ()) if one.id in left] or [next(iter(left.values()))]
        stack = list(reversed(roots))
        while stack:
            one = stack.pop()
            if one.type != END and left.pop(one.id, None) is None:
                continue
            yield replace(one, output=None) if is_turn(one) else one
            if is_turn(one):
                stack.append(end_of(one))
            stack += reversed(children.get(one.id, []))


def place(one: Record) -> tuple[str, tuple[tuple[bool, int, str], ...], str]:
    """By time; those of one millisecond by their names, in which 10 comes after 9."""
    parts = tuple((part.isdigit(), int(part) if part.isdigit() else 0, part) for part in DIGITS.split(one.name[:80]))
    return one.at, parts, one.id


def is_turn(one: Record) -> bool:
    """Whether it is a root around others, whose output is the last word of the trace."""
    return not one.parent and one.type in ADOPTING and one.output is not None


def end_of(one: Record) -> Record:
    """The last line of a trace: what its root gave."""
    at = one.ended_at or one.at
    return Record(type=END, trace=one.trace, id=f"{one.id}/end", parent=one.id, at=at, output=one.output)
