"""One line to records: fast where it is well-formed, patiently where it is not.

The patient way takes what real files hold now and then: two objects glued on one line, lone
surrogates (a client cut a string in the middle of an emoji), bytes that are no UTF-8, control
characters, and a side field of an unexpected type, which is dropped while the record is kept.
"""

import json
import re
from typing import Any, Protocol

import msgspec

PLAIN = json.JSONDecoder(strict=False)
FIELD = re.compile(r"at `\$\.([^.`\[]+)")
BODY = frozenset({"message", "payload", "type"})
"""Without these a record says nothing: it is skipped and counted, not half-read."""
MOST_DROPPED = 8


class Fast(Protocol):
    """A msgspec decoder of some record type."""

    def decode(self, line: memoryview | bytes, /) -> Any:
        """One record of one well-formed line."""


class Malformed(Exception):
    """A line that goes wrong, perhaps behind records that could be read; the message says why."""

    def __init__(self, why: str, records: list[Any]) -> None:
        super().__init__(why)
        self.records = records


def patient(line: memoryview, decoder: Fast) -> list[Any]:
    """The records of a line that `decoder` refused; raises `Malformed`."""
    text = bytes(line).decode("utf-8", "replace").strip("\ufeff \t\r\n")
    found: list[Any] = []
    at = 0
    while at < len(text):
        try:
            value, at = PLAIN.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise Malformed(reason(text, at, error), found) from None
        while at < len(text) and text[at].isspace():
            at += 1
        if not isinstance(value, dict):
            raise Malformed("not a JSON object", found)
        try:
            found.append(lenient(value, decoder))
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise Malformed(str(error)[:160], found) from None
    return found


def lenient(value: dict[str, Any], decoder: Fast) -> Any:
    """A record of an object some of whose side fields may be of another type."""
    for _ in range(MOST_DROPPED):
        try:
            return decoder.decode(encoded(value))
        except msgspec.ValidationError as error:
            named = FIELD.search(str(error))
            if not named or named[1] in BODY or named[1] not in value:
                raise
            del value[named[1]]
    raise msgspec.ValidationError("too many fields of unexpected types")


def encoded(value: Any) -> bytes:
    """The object as clean JSON; lone surrogates become U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, ValueError):
        return msgspec.json.encode(mended(value))


def mended(value: Any) -> Any:
    """The value with every lone surrogate replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [mended(item) for item in value]
    if isinstance(value, dict):
        return {mended(key): mended(item) for key, item in value.items()}
    return value


def reason(text: str, at: int, error: Exception) -> str:
    """Why a text is not JSON, in a person's words."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if at:
        return "a record with something behind it that is not JSON"
    if "\x00" in text[:1000]:
        return "NUL bytes"
    return f"not JSON: {error}"[:160]
