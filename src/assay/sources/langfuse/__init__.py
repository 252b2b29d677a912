"""Sessions pulled from Langfuse: `<data folder>/langfuse/<host>/<project>/<session>.jsonl`, by `assay.langfuse`.

Claude Code arrives there in three shapes: traces of its hook (a span for each turn), its own OpenTelemetry spans
(`claude_code.*`), and the generations of a proxy (each with all messages so far). All become the same events.

- `records`: what a line is decoded into, and its tokens;
- `reader`: records of all three shapes to events;
- `uploaded`: records of what `assay langfuse upload` sent to events;
- `messages`: messages of a request or an answer, and the tool calls in them.

Takes records, gives the events of `assay.types`; imports nothing else of ours.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_data_path

from assay.sources.langfuse.reader import Reader
from assay.sources.langfuse.records import Record

__all__ = ["AGENT", "VERSION", "Reader", "Record", "claims", "roots"]

AGENT = "langfuse"
VERSION = 5

MARK = re.compile(rb'\s*\{\s*"langfuse"\s*:\s*\d+\s*,\s*"type"\s*:\s*"session"')


def roots(env: Mapping[str, str], home: Path) -> list[Path]:
    """The folder into which sessions are pulled."""
    return [user_data_path("assay") / "langfuse"]


def claims(head: bytes) -> bool:
    """Whether a file begins with the line that every pulled session begins with."""
    return bool(MARK.match(head.removeprefix(b"\xef\xbb\xbf")))
