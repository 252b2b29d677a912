"""What one line is decoded into.

One struct holds the fields of all payloads: with it msgspec skips the rest (instructions, encrypted
reasoning, replaced history) and needs one pass, which measured faster than a second pass by type.
Fields whose type differs between kinds of records are `Any`, so that none can make a line fail;
`word`, `table`, `rows` and `whole` read them.
"""

from typing import Any

import msgspec
from msgspec import Struct

LARGEST = 2**53


class Totals(Struct, gc=False):
    """Token counts; `input_tokens` includes the cached ones."""

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None


class Counted(Struct, gc=False):
    """The running total of a thread and the share of its last response."""

    total_token_usage: Totals | None = None
    last_token_usage: Totals | None = None


class Payload(Struct, gc=False):
    """The union of the payloads' fields that are used."""

    type: str = ""
    id: Any = None
    turn_id: Any = None
    call_id: Any = None
    # session_meta, turn_context
    cwd: Any = None
    originator: Any = None
    cli_version: Any = None
    source: Any = None
    thread_source: Any = None
    git: Any = None
    parent_thread_id: Any = None
    forked_from_id: Any = None
    model: Any = None
    # messages
    role: Any = None
    content: Any = None
    message: Any = None
    kind: Any = None
    images: Any = None
    local_images: Any = None
    item: Any = None
    # tools
    name: Any = None
    namespace: Any = None
    arguments: Any = None
    input: Any = None
    action: Any = None
    query: Any = None
    output: Any = None
    status: Any = None
    command: Any = None
    exit_code: Any = None
    aggregated_output: Any = None
    stdout: Any = None
    stderr: Any = None
    changes: Any = None
    success: Any = None
    invocation: Any = None
    result: Any = None
    new_thread_id: Any = None
    agent_thread_id: Any = None
    event_id: Any = None
    # turns
    info: Counted | None = None
    reason: Any = None
    error: Any = None
    codex_error_info: Any = None
    num_turns: Any = None
    thread_name: Any = None


class Record(Struct, gc=False):
    """One line; newer ones also carry `ordinal` and `metadata`."""

    timestamp: str = ""
    type: str = ""
    payload: Payload | None = None


def word(value: Any) -> str:
    """The value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def table(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def whole(value: Any) -> int | None:
    """The value if it is a whole number that can be stored."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST else None


def number_text(value: Any) -> str:
    """An id that is now a number, now text."""
    return word(value) or ("" if (number := whole(value)) is None else str(number))


def decoded(text: str) -> Any:
    """JSON inside a string; `None` where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def texts(content: Any) -> list[str]:
    """The text blocks of a message or of an output."""
    return [found for block in rows(content) if (found := word(table(block).get("text")))]
