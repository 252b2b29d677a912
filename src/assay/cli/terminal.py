"""The terminal that answers are drawn on: words where it knows no signs, a pager for what is longer than it."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rich.console
from rich.console import Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from assay.cli.recording import spoil_recording
from assay.cli.symbols import SYMBOLS, spell_symbols

SYMBOL = re.compile(f"[{''.join(map(re.escape, SYMBOLS))}]")
PAGER_OPTIONS = "FRX"
"""For `less`: colours, and no pager for what fits on the screen."""


class Console(rich.console.Console):
    """A console that says in words what its terminal has no sign for, before it measures how wide that is."""

    def print(self, *objects: Any, **how: Any) -> None:
        is_ascii = not self.encoding.startswith("utf")
        super().print(*(map(spell_out, objects) if is_ascii else objects), **how)


@contextmanager
def open_pager(console: Console, lines: int | None = None) -> Iterator[None]:
    """What is printed meanwhile goes through the person's pager: on a terminal that so many lines do not fit on."""
    if not console.is_terminal or not os.isatty(0) or (lines is not None and lines < console.height):
        yield
        return
    spoil_recording()  # a pager shows it in its own time
    os.environ.setdefault("LESS", PAGER_OPTIONS)
    with console.pager(styles=console.color_system is not None):
        yield


def spell_out(part: Any) -> Any:
    """What is to be drawn, with words for our signs."""
    if isinstance(part, str):
        return spell_symbols(part)
    if isinstance(part, Text):
        return spell_text(part)
    if isinstance(part, Group):
        return Group(*map(spell_out, part.renderables), fit=part.fit)
    if isinstance(part, Padding):
        part.renderable = spell_out(part.renderable)
    elif isinstance(part, Rule):
        part.title = spell_out(part.title)
    elif isinstance(part, Table):
        for column in part.columns:
            column.header = spell_out(column.header)
            column.overflow = "fold" if column.overflow == "fold" else "crop"
            column._cells = [spell_out(cell) for cell in column._cells]
    return part


def spell_text(text: Text) -> Text:
    """A text with words for our signs, each in the colour of its sign."""
    ends = sorted({end for found in SYMBOL.finditer(text.plain) for end in found.span()})
    spelled = text.blank_copy()
    spelled.overflow = "crop" if text.overflow == "ellipsis" else text.overflow
    for piece in text.divide(ends):
        word = SYMBOLS.get(piece.plain)
        spelled.append_text(Text(word, piece.spans[-1].style if piece.spans else "") if word else piece)
    return spelled
