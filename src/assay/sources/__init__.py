"""Sources turn the records of one format into events.

A source is a module or package here (or an entry point `assay.sources`) with

- `AGENT`: the agent whose transcripts it reads, and `VERSION`, raised when it reads differently;
- `roots(env, home)`: where that agent keeps its transcripts;
- `claims(head)`: whether the first bytes of a file look like its format;
- `Record`: the msgspec type one line is decoded into;
- `Reader`: a msgspec Struct whose `take(record, emit)` turns records into events, in file order.
  All it remembers between records is in its fields, so that reading can stop after any line and
  go on in another process.

A source whose files are not lines of JSON says more. The pipeline opens them (`pipeline/packed_files`), and they are
read whole whenever they changed:

- `NAMES`: patterns of its files' names, besides `*.jsonl`;
- `unpack(file, conversation)`: the records of a file that is one document, each as JSON would have it;
- `list_conversations(file)`: where a file holds several, their ids, each with a `Stamp` that changes with it;
- `find_verdict(file, conversation)`: where a file says how a benchmark graded it: benchmark, task, passed or not.

A source whose agent sends OpenTelemetry has `read_telemetry(records, emit)` too: the events of one conversation, all of
whose records are given, by time. It gives how many records of each unknown kind there were.

The sources that come along:

- `claude_code`: Claude Code transcripts;
- `codex`: Codex rollouts; `codex_bare`: those of before September 2025;
- `aider`, `cline` (and Roo Code), `copilot_cli`, `cursor`, `gemini_cli`, `opencode`, `pi`, `qwen_code`: their own;
- `specstory`: Markdown that SpecStory keeps of several agents;
- `atif`, `inspect_log`, `swe_agent` (and mini-swe-agent): runs of benchmarks;
- `langfuse`: sessions that `assay langfuse` pulled;
- `otel`: spans of any agent, by OpenTelemetry's conventions for generative AI.

Takes records that are already decoded; gives `assay.types` events; imports only types, errors and plugins.
Sources do not know each other.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from assay.plugins import list_names, load_module
from assay.types import Emit
from assay.types.packed import PackedFile, Stamp

Unpack = Callable[[PackedFile, str], Iterable[Any]]


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


def list_patterns() -> list[str]:
    """Patterns of the names that any agent's transcripts have."""
    return sorted({name for one in load_sources().values() for name in getattr(one, "NAMES", ())})


def find_unpacker(source: Source) -> Unpack:
    """How a source makes records of a document."""
    return cast(Unpack, getattr(source, "unpack"))  # noqa: B009


def find_told_verdict(source: Source, file: PackedFile, conversation: str) -> tuple[str, str, bool] | None:
    """What a file says of how a benchmark graded it: benchmark, task, and whether it passed."""
    if not hasattr(source, "find_verdict"):
        return None
    return cast(Callable[[PackedFile, str], tuple[str, str, bool] | None], source.find_verdict)(file, conversation)


def list_in_document(source: Source, file: PackedFile) -> dict[str, Stamp]:
    """The conversations of a document, where it can hold several."""
    if not hasattr(source, "list_conversations"):
        return {}
    return cast(Callable[[PackedFile], dict[str, Stamp]], source.list_conversations)(file)
