"""The budget: which blocks are shortened, in which order, until all fits."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from assay.sessions.rendering.frame import CLOSE, HASH, OPEN
from assay.sessions.rendering.shapes import Block, Cut
from assay.sessions.rendering.size import SIGN, UNIT, weight

Where = Literal["early", "last"]
STEPS: tuple[tuple[Where, Cut], ...] = (
    ("early", "outputs"),
    ("early", "diffs"),
    ("early", "lists"),
    ("early", "replies"),
    ("early", "errors"),
    ("early", "middles"),
    ("last", "outputs"),
    ("last", "diffs"),
    ("last", "lists"),
    ("last", "errors"),
    ("last", "replies"),
    ("last", "middles"),
    ("last", "heads"),
)
CUTS: dict[Cut, str] = {
    "outputs": "outputs of calls that ended well",
    "diffs": "diffs",
    "lists": "lists of calls and files",
    "replies": "replies",
    "errors": "outputs of calls that failed",
    "middles": "middles of prompts",
    "heads": "prompts after their first line",
}
FEWEST = 500
"""Tokens below which no budget goes."""
FINAL = 3
"""Turns at the end that are told in full as long as there is room."""


def room_for(what: str, tokens: int) -> int:
    """What may weigh between the first and the last line, whatever the hash."""
    hashed = "0" * HASH  # no sign of a hash weighs more
    return max(tokens, FEWEST) * UNIT - weight(OPEN.format(hashed, what)) - weight(CLOSE.format(hashed)) - 2 * SIGN


def lump(lines: Sequence[str]) -> int:
    """What some lines weigh, each with its end."""
    return weight("\n".join(lines)) + SIGN if lines else 0


def notice(tokens: int, notes: Sequence[str]) -> str:
    """The line that says what was left out."""
    return f"- shortened to fit {max(tokens, FEWEST)} tokens: {'; '.join(notes)}"


class Sheet:
    """Blocks as they stand, and what they weigh."""

    def __init__(self, blocks: Sequence[Block], turns: int, tokens: int, room: int) -> None:
        self.blocks = blocks
        self.early = max(turns - FINAL, 0)
        """The number of the last early turn."""
        self.tokens = tokens
        self.room = room
        self.lines = [block.full() for block in blocks]
        self.weights = [lump(lines) for lines in self.lines]
        self.total = sum(self.weights)
        self.notes: list[str] = []

    def fits(self) -> bool:
        return self.total + (lump([notice(self.tokens, self.notes)]) if self.notes else 0) <= self.room

    def shorten(self) -> bool:
        """Take one step after the other, oldest blocks first, until all fits; whether it does."""
        return self.fits() or any(self.step(where, cut) for where, cut in STEPS)

    def step(self, where: Where, cut: Cut) -> bool:
        """Shorten one sort of thing; stops as soon as all fits."""
        wanted = [n for n, block in enumerate(self.blocks) if cut in block.shorter and self.is_in(where, block)]
        if not wanted:
            return False
        turns = [self.blocks[n].turn for n in wanted]
        self.notes.append(f"{CUTS[cut]} ({span(turns[0], turns[-1])})")  # no later note is longer
        shortened: list[int] = []
        for n, turn in zip(wanted, turns, strict=True):
            if self.put(n, self.blocks[n].shorter[cut]()):
                shortened.append(turn)
                if self.fits():
                    break
        self.notes.pop()
        if shortened:
            self.notes.append(f"{CUTS[cut]} ({span(shortened[0], shortened[-1])})")
        return self.fits()

    def is_in(self, where: Where, block: Block) -> bool:
        return (block.turn <= self.early) == (where == "early")

    def put(self, n: int, lines: list[str]) -> bool:
        """Give a block another shape, if it is lighter; whether it is."""
        heavy = lump(lines)
        is_lighter = heavy < self.weights[n]
        if is_lighter:
            self.total += heavy - self.weights[n]
            self.lines[n], self.weights[n] = lines, heavy
        return is_lighter

    def body(self) -> Iterator[str]:
        if self.notes:
            yield notice(self.tokens, self.notes)
        for lines in self.lines:
            yield from lines


def span(first: int, last: int) -> str:
    return f"turn {first}" if first == last else f"turns {first}-{last}"


def fewest(least: int, most: int, is_fitting: Callable[[int], bool]) -> int | None:
    """The smallest number from `least` to `most` that fits, where more takes less room; `None` where none does."""
    while least < most:
        middle = (least + most) // 2
        if is_fitting(middle):
            most = middle
        else:
            least = middle + 1
    return most if is_fitting(most) else None
