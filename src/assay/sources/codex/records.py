"""What one line is decoded into.

One struct holds the fields of all payloads: with it msgspec skips the rest (instructions, encrypted
reasoning, replaced history) and needs one pass, which measured faster than a second pass by type.
Fields whose type differs between kinds of records are `Any`, so that none can make a line fail;
`to_text`, `to_table`, `to_list` and `to_integer` read them.
"""

from typing import Any

import msgspec
from msgspec import Struct

from assay.types.value import to_key, to_list, to_table, to_text

LARGEST_NUMBER = 2**53


class TokenTotals(Struct, gc=False):
    """Token counts; `input_tokens` includes the cached ones."""

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None


class TokenReport(Struct, gc=False):
    """The running total of a thread and the share of its last response."""

    total_token_usage: TokenTotals | None = None
    last_token_usage: TokenTotals | None = None


class Payload(Struct, gc=False):
    """All fields of all kinds of payload that are read."""

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
    info: TokenReport | None = None
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


def to_integer(value: Any) -> int | None:
    """The value if it is a whole number that can be stored, else `None`."""
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST_NUMBER else None


def to_id(value: Any) -> str:
    """An id as text; some versions write it as a number."""
    return to_text(value) or ("" if (number := to_integer(value)) is None else str(number))


def parse_json(text: str) -> Any:
    """What a text of JSON says; `None` where it is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def list_texts(content: Any) -> list[str]:
    """The text blocks of a message or of an output."""
    return [found for block in to_list(content) if (found := to_text(to_table(block).get("text")))]


def hash_parts(*parts: str) -> int:
    """A 64-bit key of the parts, the same where a fork copies its parent's history."""
    return to_key("\0".join(parts))


def hash_turn(turn: str, text: str, repeat: int = 0) -> int:
    """The key of a prompt and of all that its turn does.

    `turn` is the turn's id, or in old files the id of the thread; copies keep both, not the times.
    `repeat` tells apart the same words said again in it.
    """
    return hash_parts("turn", turn, text, str(repeat) if repeat else "")


def hash_spend(turn: str, total: list[int]) -> int:
    """The key of one report of tokens: no two responses of a turn have the same running total."""
    return hash_parts("spend", turn, *map(str, total))
