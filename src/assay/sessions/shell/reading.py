"""Text in, runs out; quick for what is repeated, patient with what is broken."""

import re
import shlex
from collections.abc import Collection
from functools import lru_cache
from typing import Final

from assay.sessions.shell import bash, powershell
from assay.sessions.shell.classify import runs
from assay.sessions.shell.simple import Simple
from assay.sessions.shell.unwrap import Dialect, Text
from assay.types import Purpose, Run

# The parser needs time by the square of what it cannot make sense of: about a second for this much, 17 for 64 KB.
MAX_CHARS: Final = 16_000
# Commands get long by the documents in them, of which a part is enough.
_OPENER = re.compile(r"<<-?[ \t]*['\"\\]?(\w+)")
_BODY_HEAD: Final = 3_000
_BODY_TAIL: Final = 1_000
# A long command is hardly ever repeated, and the cache should stay below some tens of megabytes.
_CACHED_CHARS: Final = 4_000


def read(command: str, dialect: Dialect = "bash") -> tuple[Run, ...]:
    """Runs of all simple commands in order of appearance, nested ones included; never raises."""
    if len(command) <= _CACHED_CHARS:
        return _cached(command, dialect)
    return read_anew(command, dialect)


def _shortened(text: str) -> str:
    """The text with the middle of long here-documents left out, and cut where even that is too long."""
    if len(text) <= MAX_CHARS:
        return text
    kept: list[str] = []
    body: list[str] = []
    tag = ""
    for line in text.split("\n"):
        if tag and line.strip() != tag:
            body.append(line)
            continue
        if tag:
            kept.append(_clip("\n".join(body)))
            body, tag = [], ""
        elif match := _OPENER.search(line):
            tag = match[1]
        kept.append(line)
    # A document without an end may be no document at all, so it stays whole.
    return "\n".join(kept + body)[:MAX_CHARS]


def _clip(body: str) -> str:
    if len(body) <= _BODY_HEAD + _BODY_TAIL:
        return body
    return body[: body.rfind("\n", 0, _BODY_HEAD) + 1] + body[body.find("\n", len(body) - _BODY_TAIL) + 1 :]


def _parse(text: Text) -> list[Simple]:
    short = _shortened(text.text)
    return powershell.simples(short) if text.dialect == "powershell" else bash.simples(short, text.options)


def read_anew(command: str, dialect: Dialect) -> tuple[Run, ...]:
    """The same without the cache."""
    return tuple(runs(_parse(Text(command, dialect)), dialect, _parse))


def said_for(command: str, dialect: Dialect, purposes: Collection[Purpose]) -> tuple[str, ...]:
    """Those of its commands that serve one of these purposes, each with its words."""
    return tuple(
        shlex.join(simple.words)
        for simple in _parse(Text(command, dialect))
        if any(run.purpose in purposes for run in runs([simple], dialect, _parse))
    )


_cached = lru_cache(maxsize=4096)(read_anew)
