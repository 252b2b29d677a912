"""Sources turn the records of one format into events.

A source is a module or package here (or an entry point `assay.sources`) with

- `AGENT`: the agent whose transcripts it reads, and `VERSION`, raised when it reads differently;
- `roots(env, home)`: where that agent keeps its transcripts;
- `claims(head)`: whether the first bytes of a file look like its format;
- `Record`: the msgspec type one line is decoded into;
- `Reader`: a msgspec Struct whose `take(record, emit)` turns records into events, in file order.
  All it remembers between records is in its fields, so that reading can stop after any line and
  go on in another process.

The sources that come along:

- `claude_code`: Claude Code transcripts;
- `codex`: Codex rollouts;
- `langfuse`: sessions that `assay langfuse` pulled.

Takes records that are already decoded; gives `assay.types` events; imports only types, errors and plugins.
Sources do not know each other.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from assay.plugins import list_names, load_module
from assay.types import Emit


class SourceReader(Protocol):
    """What the pipeline uses of a source's `Reader`."""

    unknown: dict[str, int]

    def take(self, record: Any, emit: Emit) -> None:
        """Emit the events of the next record."""


class Source(Protocol):
    """The contract: what every module in this room offers."""

    AGENT: str
    VERSION: int
    Record: Any
    Reader: type[SourceReader]

    def roots(self, env: Mapping[str, str], home: Path) -> list[Path]:
        """Folders in which the agent keeps its transcripts."""

    def claims(self, head: bytes) -> bool:
        """Whether a file that begins with these bytes is in this source's format."""


def find_source(name: str) -> Source:
    """The source of this name, or an error that lists those there are."""
    return cast(Source, load_module("sources", name))


def load_sources() -> dict[str, Source]:
    """All sources, by name."""
    return {name: find_source(name) for name in list_names("sources")}
