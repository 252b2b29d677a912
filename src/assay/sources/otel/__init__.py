"""Conversations of any agent that sends spans by OpenTelemetry's conventions for generative AI (`gen_ai.*`).

Nothing of it lies in files: telemetry comes into the store, and `pipeline.telemetry` reads it from there. Agents that
have words of their own (`claude_code`, `codex`) read their own.

- `spans`: spans to events;
- `messages`: what models were sent and answered.

Takes records, gives the events of `assay.types`; imports nothing else of ours.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from assay.sources.otel.spans import read_telemetry
from assay.types import Emit, TelemetryRecord

__all__ = ["AGENT", "VERSION", "Reader", "Record", "claims", "read_telemetry", "roots"]

AGENT = "otel"
VERSION = 1
Record = TelemetryRecord


class Reader(Struct):
    """Reads nothing: there are no files of this source."""

    unknown: dict[str, int] = {}

    def take(self, record: TelemetryRecord, emit: Emit) -> None:
        """Leave the record alone."""


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """No folders."""
    return []


def claims(head: bytes) -> bool:
    """No file is of this source."""
    return False
