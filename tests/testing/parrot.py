"""A source as the how-to has it: a parrot's log."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from assay.types import About, Emit, Prompt, Reply, to_key

AGENT, VERSION = "parrot", 1


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    return [home / ".parrot"]


def claims(head: bytes) -> bool:
    return head.startswith(b'{"parrot"')


class Record(Struct):
    parrot: str
    says: str


class Reader(Struct):
    unknown: dict[str, int] = {}
    lines: int = 0

    def take(self, record: Record, emit: Emit) -> None:
        self.lines += 1
        if self.lines == 1:
            emit(About(stream="parrot", at="2026-03-02T09:00:00Z"))
        at = f"2026-03-02T09:{self.lines:02}:00Z"
        if record.parrot == "person":
            emit(Prompt(at=at, text=record.says, key=to_key(at)))
        else:
            emit(Reply(at=at, text=record.says))
