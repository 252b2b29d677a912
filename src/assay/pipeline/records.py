"""Lines of a file that may be huge, half-written or not text at all.

One buffer is filled again and again and lines are handed out as views of it: copying lines and
touching fresh pages costs more than decoding them (see docs/decisions/0002).
"""

import json
import re
from collections.abc import Iterator
from io import BytesIO, FileIO
from typing import Any, Protocol

import msgspec

BUFFER = 1 << 17
"""Small enough to stay in the processor's cache: 1 MB took 7 % more, 4 MB a quarter more."""
LONGEST_LINE = 64 << 20
LineFile = FileIO | BytesIO


class LineSource(Protocol):
    """Bytes that can be read, once and in order."""

    def readinto(self, block: Any, /) -> int | None:
        """Fill a block as far as it goes; how far."""


class LineReader:
    """The lines from a file's position to its end, each a view that holds until the next one.

    A line that is too long comes as `None`. When all are taken, `consumed` tells how far they reach
    and `rest` holds what follows the last newline; `is_too_long` speaks of that rest.
    """

    def __init__(self, file: LineSource) -> None:
        self.file = file
        self.consumed = 0
        self.rest = memoryview(b"")
        self.rest_length = 0
        self.is_too_long = False

    def __iter__(self) -> Iterator[memoryview | None]:
        readinto = self.file.readinto
        buffer = bytearray(BUFFER)
        view = memoryview(buffer)
        held = 0
        while True:
            if held == len(buffer):
                if len(buffer) < LONGEST_LINE:
                    buffer, view = grow_buffer(buffer)
                else:
                    self.rest_length, held = self.rest_length + held, 0
                    self.is_too_long = True
            got = readinto(view[held:])
            if not got:
                break
            end, start, search, find = held + got, 0, held, buffer.find
            newline = find(b"\n", search, end)
            if newline >= 0 and self.is_too_long:
                yield None
                self.is_too_long = False
                start = newline + 1
                newline = find(b"\n", start, end)
            while newline >= 0:
                yield view[start:newline]
                start = newline + 1
                newline = find(b"\n", start, end)
            if start:
                self.consumed += start + self.rest_length
                self.rest_length = 0
            held = end - start
            if start and held:
                buffer[:held] = buffer[start:end]
        self.rest = view[:held]
        self.rest_length += held


def grow_buffer(buffer: bytearray) -> tuple[bytearray, memoryview]:
    """A buffer twice as large with the same beginning."""
    larger = bytearray(len(buffer) * 2)
    larger[: len(buffer)] = buffer
    return larger, memoryview(larger)


PLAIN = json.JSONDecoder(strict=False)
FIELD = re.compile(r"at `\$\.([^.`\[]+)")
BODY = frozenset({"message", "payload", "type"})
"""Without these a record says nothing: it is skipped and counted, not half-read."""
MOST_DROPPED = 8


class RecordDecoder(Protocol):
    """A msgspec decoder of some record type."""

    def decode(self, line: memoryview | bytes, /) -> Any:
        """One record of one well-formed line."""


class MalformedLine(Exception):
    """A line that goes wrong, perhaps behind records that could be read; the message says why."""

    def __init__(self, why: str, records: list[Any]) -> None:
        super().__init__(why)
        self.records = records


def decode_patiently(line: memoryview, decoder: RecordDecoder) -> list[Any]:
    """The records of a line that `decoder` refused; raises `Malformed`."""
    text = bytes(line).decode("utf-8", "replace").strip("\ufeff \t\r\n")
    found: list[Any] = []
    at = 0
    while at < len(text):
        try:
            value, at = PLAIN.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise MalformedLine(explain_malformed(text, at, error), found) from None
        while at < len(text) and text[at].isspace():
            at += 1
        if not isinstance(value, dict):
            raise MalformedLine("not a JSON object", found)
        try:
            found.append(decode_record(value, decoder))
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise MalformedLine(str(error)[:160], found) from None
    return found


def decode_record(value: dict[str, Any], decoder: RecordDecoder) -> Any:
    """A record of an object some of whose side fields may be of another type."""
    for _ in range(MOST_DROPPED):
        try:
            return decoder.decode(encode_cleanly(value))
        except msgspec.ValidationError as error:
            named = FIELD.search(str(error))
            if not named or named[1] in BODY or named[1] not in value:
                raise
            del value[named[1]]
    raise msgspec.ValidationError("too many fields of unexpected types")


def encode_cleanly(value: Any) -> bytes:
    """The object as clean JSON; lone surrogates become U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, ValueError):
        return msgspec.json.encode(mend_value(value))


def mend_value(value: Any) -> Any:
    """The value with every lone surrogate replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [mend_value(item) for item in value]
    if isinstance(value, dict):
        return {mend_value(key): mend_value(item) for key, item in value.items()}
    return value


def explain_malformed(text: str, at: int, error: Exception) -> str:
    """Why a text is not JSON, in a person's words."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if at:
        return "a record with something behind it that is not JSON"
    if "\x00" in text[:1000]:
        return "NUL bytes"
    return f"not JSON: {error}"[:160]
