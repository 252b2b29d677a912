"""Attributes, times and ids as OTLP sends them, to plain values; protobuf and JSON of the same give the same."""

import re
from base64 import b64encode
from binascii import Error as NotBase64
from binascii import a2b_base64
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from assay.errors import BadInput
from assay.telemetry.messages import JsonValue

DEEPEST = 20
LATEST = 1 << 63
HEX = re.compile(r"[0-9a-fA-F]+")
DIGITS = re.compile(r"-?[0-9]{1,20}")
KINDS = ("string_value", "bool_value", "int_value", "double_value", "array_value", "kvlist_value", "bytes_value")


def to_attributes(pairs: Iterable[Any] | None) -> dict[str, Any]:
    """Attributes by name; of a name that comes twice, the last one."""
    return {pair.key: to_value(pair.value) for pair in pairs or ()}


def to_value(value: Any, depth: int = 0) -> Any:
    """A plain value; `None` for one that is not set."""
    if type(value) is JsonValue and value.string_value is not None:  # nearly all are texts
        return value.string_value
    if depth > DEEPEST:
        raise BadInput(f"a value is nested more than {DEEPEST} levels deep; send it flat")
    kind = find_kind(value)
    if not kind:
        return None
    given = getattr(value, kind)
    if kind in ("string_value", "bool_value"):
        return given
    if kind == "int_value":
        return to_integer(given)
    if kind == "double_value":
        return to_float(given)
    if kind == "array_value":
        return [to_value(one, depth + 1) for one in given.values or ()]
    if kind == "kvlist_value":
        return {pair.key: to_value(pair.value, depth + 1) for pair in given.values or ()}
    return b64encode(given).decode() if isinstance(given, bytes) else given


def find_kind(value: Any) -> str | None:
    """Which of its types a value has."""
    if value is None:
        return None
    if isinstance(value, JsonValue):
        return next((kind for kind in KINDS if getattr(value, kind) is not None), None)
    found: str | None = value.WhichOneof("value")
    return found


def to_integer(given: Any) -> int | None:
    """A number of 64 bits, which JSON may give as text; `None` for what is none."""
    if isinstance(given, str):
        given = int(given) if DIGITS.fullmatch(given) else None
    elif isinstance(given, float):
        given = int(given) if given.is_integer() else None
    return given if isinstance(given, int) and -LATEST <= given < 2 * LATEST else None


def to_float(given: Any) -> float | None:
    """A number, which JSON may give as text; `None` for what is none, or not finite."""
    try:
        found = float(given)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if found - found == 0 else None


def to_nanoseconds(given: Any) -> int:
    """A time; 0 for none that can be used."""
    found = to_integer(given) if given else 0
    return found if found and 0 < found < LATEST else 0


def to_time(nanoseconds: int) -> str:
    """A time as records write it, to the millisecond; empty for none."""
    if not nanoseconds:
        return ""
    return f"{format_second(nanoseconds // 1_000_000_000)}.{nanoseconds // 1_000_000 % 1_000:03d}Z"


@lru_cache(1024)
def format_second(seconds: int) -> str:
    """A time to the second; what comes in together happened together."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


def to_id(given: Any, size: int) -> str:
    """A trace's or span's id in hexadecimal: of bytes, of hexadecimal digits, or of base64; empty for none."""
    if not given:
        return ""
    if isinstance(given, bytes):
        found = given.hex()
    else:
        found = given.lower() if len(given) == 2 * size and HEX.fullmatch(given) else decode_base64(given)
    return found if len(found) == 2 * size and found.strip("0") else ""


def decode_base64(text: str) -> str:
    """What base64 stands for, in hexadecimal."""
    try:
        return a2b_base64(text.encode(), strict_mode=True).hex()
    except (NotBase64, ValueError):
        return ""
