"""Programming languages of the lines written, by file name."""

from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import PurePosixPath

from assay.resources import load_table
from assay.sessions.calls import list_calls, list_made_edits
from assay.types import Fact, Turn

VERSION = 1


class Languages(Fact, frozen=True):
    programming_languages: dict[str, int]
    """Lines added in each, most first."""


def fact(turns: Sequence[Turn]) -> Languages:
    lines: Counter[str] = Counter()
    for call in list_calls(turns):
        for edit in list_made_edits(call):
            if language := find_language(edit.path):
                lines[language] += edit.added
    return Languages(programming_languages=dict(sorted(lines.items(), key=lambda pair: (-pair[1], pair[0]))))


@cache
def load_languages() -> dict[str, str]:
    """Language by file ending or name."""
    table = load_table("assay.facts", "languages.toml", dict[str, list[str]])
    return {ending: language for language, endings in table.items() for ending in endings}


@lru_cache(4096)
def find_language(path: str) -> str | None:
    """The language a file is written in, as far as its name tells."""
    name = PurePosixPath(path.replace("\\", "/")).name.lower()
    return load_languages().get(name) or load_languages().get(PurePosixPath(name).suffix)
