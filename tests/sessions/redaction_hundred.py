"""A hundred secrets as people leave them lying about: what stands where, and which of them are missed."""

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SECRET = re.compile("«(.*?)»")
TELLING = 7
"""So long a value is told from others by itself; a shorter one by what stands before it."""


class Row(NamedTuple):
    """A text with its secrets marked."""

    kind: str
    place: str
    marked: str
    missed: str

    @property
    def text(self) -> str:
        return self.marked.replace("«", "").replace("»", "")

    @property
    def traces(self) -> list[str]:
        """What is in a text in which a secret is left."""
        return [self.marked[: one.start()].replace("«", "").replace("»", "")[-8:] + one[1]
                if len(one[1]) < TELLING else one[1] for one in SECRET.finditer(self.marked)]  # fmt: skip


def rows() -> Iterator[Row]:
    given = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    for one in given["planted"]:
        yield Row(one["kind"], one["place"], one["text"], one.get("missed", ""))


def left(row: Row, text: str) -> list[str]:
    """Secrets of a row that a text holds, as they are or inside JSON."""
    forms = {
        form for one in row.traces for form in (one, json.dumps(one)[1:-1], json.dumps(one, ensure_ascii=False)[1:-1])
    }
    squeezed = "".join(text.split())
    return [one for one in forms if one in text or "".join(one.split()) in squeezed]
