"""What is answered: refusals, and OTLP's own replies in the encoding of the request."""

from typing import Literal

import msgspec
from msgspec import Struct

from assay.reports.json import encode_json
from assay.types import Document
from assay.types.telemetry import Signal

PROTOBUF, JSON = "application/x-protobuf", "application/json"
COUNTED = {"logs": "rejectedLogRecords", "metrics": "rejectedDataPoints", "traces": "rejectedSpans"}
RECEIVER = "/v1/"
"""What the paths of OTLP begin with."""
LONGEST = 500
"""Characters of a message."""
GRPC = {400: 3, 401: 16, 403: 7, 404: 5, 408: 4, 413: 8, 415: 3, 429: 8, 503: 14}
"""Codes of a status as OTLP has it; anything else is 13, an error of ours."""


class Refusal(Exception):
    """A request that is not served: the status, why, and when to try again."""

    def __init__(self, status: int, why: str, retry_s: int | None = None) -> None:
        super().__init__(why)
        self.status = status
        self.why = why[:LONGEST]
        self.retry_s = retry_s

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Beside the usual ones: when to come again, how to log in, and that nothing more is read."""
        found = [("connection", "close")] if self.status in (408, 413, 503) else []
        found += [("retry-after", str(self.retry_s))] if self.retry_s is not None else []
        return [*found, *([("www-authenticate", 'Bearer realm="assay"')] if self.status == 401 else [])]


class ErrorView(Document, frozen=True, kw_only=True, tag="error"):
    """What went wrong with a request."""

    status: int
    error: str


class RawReply(Struct, frozen=True, kw_only=True):
    """Bytes to answer with."""

    status: int
    media_type: str
    body: bytes


def read_kind(content_type: str) -> str:
    """A media type without what stands behind it."""
    return content_type.partition(";")[0].strip().lower()


def build_error(status: int, why: str) -> bytes:
    return encode_json(ErrorView(status=status, error=why))


def build_refusal(refusal: Refusal, path: str, media_type: str) -> RawReply:
    """That a request is not served, in the words that its sender understands."""
    if path.startswith(RECEIVER):
        return build_otlp_error(refusal.status, refusal.why, media_type)
    return RawReply(status=refusal.status, media_type=JSON, body=build_error(refusal.status, refusal.why))


def build_otlp_error(status: int, why: str, media_type: str) -> RawReply:
    """A status as OTLP has it: `google.rpc.Status`."""
    code = GRPC.get(status, 13)
    if media_type == PROTOBUF:
        body = b"\x08" + encode_varint(code) + encode_field(2, why.encode())
        return RawReply(status=status, media_type=PROTOBUF, body=body)
    return RawReply(status=status, media_type=JSON, body=encode_json({"code": code, "message": why}))


def build_otlp_reply(signal: Signal, media_type: str, rejected: int, why: str) -> RawReply:
    """That a request was taken; of records that were not, how many and why."""
    if media_type == PROTOBUF:
        inside = (b"\x08" + encode_varint(rejected) if rejected else b"") + (
            encode_field(2, why[:LONGEST].encode()) if why else b""
        )
        return RawReply(status=200, media_type=PROTOBUF, body=encode_field(1, inside) if inside else b"")
    said = {COUNTED[signal]: str(rejected), "errorMessage": why[:LONGEST]} if rejected or why else None
    return RawReply(status=200, media_type=JSON, body=msgspec.json.encode({"partialSuccess": said} if said else {}))


def encode_field(number: Literal[1, 2], content: bytes) -> bytes:
    """A field of protobuf that holds bytes."""
    return bytes([number << 3 | 2]) + encode_varint(len(content)) + content


def encode_varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
