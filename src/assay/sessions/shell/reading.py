"""Text in, runs out; quick for what is repeated, patient with what is broken."""

from functools import lru_cache
from typing import Final

from assay.sessions.shell import bash, powershell
from assay.sessions.shell.classify import runs
from assay.sessions.shell.simple import Simple
from assay.sessions.shell.unwrap import Dialect, Text
from assay.types import Run

# Longer than any command written to be run; what is cut off is the middle of some document.
MAX_CHARS: Final = 64_000
# A long command is hardly ever repeated, and the cache should stay below some tens of megabytes.
_CACHED_CHARS: Final = 4_000


def read(command: str, dialect: Dialect = "bash") -> tuple[Run, ...]:
    """Runs of all simple commands in order of appearance, nested ones included; never raises."""
    if len(command) <= _CACHED_CHARS:
        return _cached(command, dialect)
    return _read(command[:MAX_CHARS], dialect)


def _parse(text: Text) -> list[Simple]:
    clipped = text.text[:MAX_CHARS]
    return powershell.simples(clipped) if text.dialect == "powershell" else bash.simples(clipped, text.options)


def _read(command: str, dialect: Dialect) -> tuple[Run, ...]:
    return tuple(runs(_parse(Text(command, dialect)), dialect, _parse))


_cached = lru_cache(maxsize=4096)(_read)
