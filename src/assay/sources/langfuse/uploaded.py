"""What `assay langfuse upload` sent, read back as it was: spans that say of themselves what they stand for."""

import re
from collections.abc import Iterator
from typing import Any, get_args

from assay.sources.langfuse.messages import find_text, parse_json
from assay.sources.langfuse.records import NO_USAGE, UPLOAD_SOURCE, Record, to_exit_code, to_usage
from assay.types import (
    About,
    Call,
    CallKind,
    CallStatus,
    Edit,
    Event,
    Mark,
    MarkKind,
    Prompt,
    PromptKind,
    Reply,
    Result,
    Spend,
    to_key,
)
from assay.types.value import to_list, to_table, to_text

NUMBER = re.compile(r"-?[0-9]{1,19}")
HOWS = ("create", "update", "delete")


def is_uploaded(record: Record) -> bool:
    """Whether a record is of our own making."""
    return record.metadata.get("source") == UPLOAD_SOURCE


def read_uploaded(record: Record, cwd: str) -> Iterator[Event]:
    """The events of one record; `cwd` is the folder that is known already."""
    if record.type == "TOOL":
        yield from read_call(record)
    elif record.type == "GENERATION":
        yield from read_answer(record)
    elif record.is_root:
        yield from read_turn(record, cwd)


def read_turn(record: Record, cwd: str) -> Iterator[Event]:
    """What a person said, where it was said, and what happened to the conversation meanwhile."""
    told, place = to_table(decode_value(record.metadata.get("prompt"))), to_text(record.metadata.get("cwd"))
    branch = to_text(record.metadata.get("branch"))
    if place != cwd or branch:
        yield About(cwd=place, branch=branch)
    if told:
        kind = pick_word(told.get("kind"), get_args(PromptKind), "typed")
        key = to_number(told.get("key")) or to_key(f"{record.trace}/{record.id}")
        images = to_number(told.get("images"))
        yield Prompt(at=record.at, text=find_text(record.input), key=key, kind=kind, images=images)
    for one in map(to_list, to_list(decode_value(record.metadata.get("marks")))):
        if len(one) == 3 and one[0] in get_args(MarkKind):
            yield Mark(kind=one[0], at=to_text(one[1]), detail=to_text(one[2]))


def read_answer(record: Record) -> Iterator[Event]:
    """What the agent said, and what that took."""
    if text := find_text(record.output):
        yield Reply(at=record.at, text=text)
    usage = to_usage(record.usage)
    if usage != NO_USAGE:
        key = to_number(record.metadata.get("key")) or to_key(f"{record.trace}/{record.id}")
        by = to_text(record.metadata.get("by"))
        yield Spend(at=record.at, key=key, model=record.model, usage=usage, by=by)


def read_call(record: Record) -> Iterator[Event]:
    """A call, and how it ended."""
    told, given = to_table(decode_value(record.metadata.get("call"))), to_table(record.input)
    edits = tuple(read_edits(to_list(told.get("edits"))))
    of = to_text(record.metadata.get("tool_id")) or record.id
    yield Call(
        id=of,
        at=record.at,
        name=to_text(record.metadata.get("tool_name")),
        of=to_number(told.get("of")),
        kind=pick_word(told.get("kind"), get_args(CallKind), "other"),
        target=to_text(told.get("target")),
        is_partial=told.get("is_partial") is True,
        command=to_text(given.get("command")),
        dialect="powershell" if told.get("dialect") == "powershell" else "bash",
        edits=edits,
        by=to_text(told.get("by")),
    )
    status = pick_word(told.get("status"), get_args(CallStatus), "open")
    if status != "open":
        commits = [one for one in to_list(told.get("commits")) if isinstance(one, str)]
        yield Result(
            id=of,
            at=record.ended_at or record.at,
            status=status,
            output=find_text(record.output),
            exit_code=to_exit_code(told.get("exit_code")),
            agent=to_text(told.get("agent")),
            commit=commits[-1] if commits else "",
        )


def read_edits(rows: list[Any]) -> Iterator[Edit]:
    for row in map(to_list, rows):
        if len(row) == 5 and isinstance(row[0], str) and row[3] in HOWS:
            added, removed = to_number(row[1]), to_number(row[2])
            yield Edit(path=row[0], added=added, removed=removed, how=row[3], text=to_text(row[4]))


def decode_value(value: Any) -> Any:
    """A value that was sent as JSON; a server may have read it already."""
    return parse_json(value) if isinstance(value, str) else value


def to_number(value: Any) -> int:
    """A number of 64 bits that may be spelled out; 0 for what is none."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    found = int(text) if NUMBER.fullmatch(text) else 0
    return found if -(1 << 63) <= found < 1 << 63 else 0


def pick_word(value: Any, allowed: tuple[Any, ...], otherwise: Any) -> Any:
    return value if value in allowed else otherwise
