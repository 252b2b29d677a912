"""The budget of tokens: how many a text takes, and which blocks are shortened, in which order, until all fits.

Tokens are told from a text's characters alone: measured in `docs/concepts/rendering.md`.
"""

from collections.abc import Callable, Iterator, Sequence
from string import ascii_letters, digits
from typing import Literal

from assay.sessions.rendering.blocks import Cut, TextBlock
from assay.sessions.rendering.frame import CLOSE, HASH_LENGTH, OPEN

Stage = Literal["early", "last"]
STEPS: tuple[tuple[Stage, Cut], ...] = (
    ("early", "outputs"),
    ("early", "diffs"),
    ("early", "lists"),
    ("early", "templates"),
    ("early", "replies"),
    ("early", "errors"),
    ("early", "middles"),
    ("last", "outputs"),
    ("last", "diffs"),
    ("last", "lists"),
    ("last", "templates"),
    ("last", "errors"),
    ("last", "replies"),
    ("last", "middles"),
    ("last", "heads"),
)
CUT_NAMES: dict[Cut, str] = {
    "outputs": "outputs of calls that ended well",
    "diffs": "diffs",
    "lists": "lists of calls and files",
    "templates": "bodies of templates",
    "replies": "replies",
    "errors": "outputs of calls that failed",
    "middles": "middles of prompts",
    "heads": "prompts after their first line",
}
FEWEST_TOKENS = 500
"""Tokens below which no budget goes."""
FINAL_TURNS = 3
"""Turns at the end that are told in full as long as there is room."""

TOKEN_WEIGHT = 100
"""A token is so many of the weights below."""
PLAIN_WEIGHTS = ((ascii_letters.encode(), 24), (digits.encode(), 100), (b" \t", 15))
SIGN_WEIGHT = 92
"""Of every other ASCII character: a bracket, a quote or a newline is mostly a token, and so is a digit."""
WIDE_WEIGHTS = ((bytes(range(0xC0, 0xE0)), 100), (bytes(range(0xE0, 0xF0)), 140), (bytes(range(0xF0, 0x100)), 350))
"""First bytes of characters of two, three and four bytes."""
BEYOND_ASCII = bytes(range(0x80, 0x100))


def find_room(what: str, tokens: int) -> int:
    """What may weigh between the first and the last line, whatever the hash."""
    hashed = "0" * HASH_LENGTH  # no sign of a hash weighs more
    return (
        max(tokens, FEWEST_TOKENS) * TOKEN_WEIGHT
        - weigh_text(OPEN.format(hashed, what))
        - weigh_text(CLOSE.format(hashed))
        - 2 * SIGN_WEIGHT
    )


def weigh_lines(lines: Sequence[str]) -> int:
    """What some lines weigh, each with its end."""
    return weigh_text("\n".join(lines)) + SIGN_WEIGHT if lines else 0


def format_notice(tokens: int, notes: Sequence[str]) -> str:
    """The line that says what was left out."""
    return f"- shortened to fit {max(tokens, FEWEST_TOKENS)} tokens: {'; '.join(notes)}"


class Sheet:
    """Blocks as they stand now, and what they weigh."""

    def __init__(self, blocks: Sequence[TextBlock], turns: int, tokens: int, room: int) -> None:
        self.blocks = blocks
        self.early = max(turns - FINAL_TURNS, 0)
        """The number of the last early turn."""
        self.tokens = tokens
        self.room = room
        self.lines = [block.full() for block in blocks]
        self.weights = [weigh_lines(lines) for lines in self.lines]
        self.total = sum(self.weights)
        self.notes: list[str] = []

    def is_fitting(self) -> bool:
        return self.total + (weigh_lines([format_notice(self.tokens, self.notes)]) if self.notes else 0) <= self.room

    def shorten_blocks(self) -> bool:
        """Take one step after the other, oldest blocks first, until all fits; whether it does."""
        return self.is_fitting() or any(self.shorten_step(where, cut) for where, cut in STEPS)

    def shorten_step(self, where: Stage, cut: Cut) -> bool:
        """Shorten one sort of text, until all fits; whether it does."""
        wanted = [n for n, block in enumerate(self.blocks) if cut in block.shorter and self.is_in(where, block)]
        if not wanted:
            return False
        turns = [self.blocks[n].turn for n in wanted]
        self.notes.append(f"{CUT_NAMES[cut]} ({format_turn_range(turns[0], turns[-1])})")  # no later note is longer
        shortened: list[int] = []
        for n, turn in zip(wanted, turns, strict=True):
            if self.replace_lines(n, self.blocks[n].shorter[cut]()):
                shortened.append(turn)
                if self.is_fitting():
                    break
        self.notes.pop()
        if shortened:
            self.notes.append(f"{CUT_NAMES[cut]} ({format_turn_range(shortened[0], shortened[-1])})")
        return self.is_fitting()

    def is_in(self, where: Stage, block: TextBlock) -> bool:
        return (block.turn <= self.early) == (where == "early")

    def replace_lines(self, n: int, lines: list[str]) -> bool:
        """Give a block other lines, if they are lighter; whether they are."""
        heavy = weigh_lines(lines)
        is_lighter = heavy < self.weights[n]
        if is_lighter:
            self.total += heavy - self.weights[n]
            self.lines[n], self.weights[n] = lines, heavy
        return is_lighter

    def list_lines(self) -> Iterator[str]:
        if self.notes:
            yield format_notice(self.tokens, self.notes)
        for lines in self.lines:
            yield from lines


def format_turn_range(first: int, last: int) -> str:
    return f"turn {first}" if first == last else f"turns {first}-{last}"


def find_fewest(least: int, most: int, is_fitting: Callable[[int], bool]) -> int | None:
    """The smallest number from `least` to `most` that fits, where more takes less room; `None` where none does."""
    while least < most:
        middle = (least + most) // 2
        if is_fitting(middle):
            most = middle
        else:
            least = middle + 1
    return most if is_fitting(most) else None


def estimate_tokens(text: str) -> int:
    """Tokens of a text, rather too many than too few."""
    return -(-weigh_text(text) // TOKEN_WEIGHT)


def weigh_text(text: str) -> int:
    """What a text weighs; two texts together weigh what they weigh apart."""
    raw = text.encode("utf-8", "surrogatepass")
    found = 0
    if not text.isascii():
        found = sum(each * count_bytes(raw, kind) for kind, each in WIDE_WEIGHTS)
        raw = raw.translate(None, BEYOND_ASCII)
    counts = [(each, count_bytes(raw, kind)) for kind, each in PLAIN_WEIGHTS]
    signs = len(raw) - sum(n for _, n in counts)
    return found + sum(each * n for each, n in counts) + signs * SIGN_WEIGHT


def count_bytes(raw: bytes, kind: bytes) -> int:
    return len(raw) - len(raw.translate(None, kind))
