"""A session as a reviewer reads it, within a budget."""

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from assay.sessions.rendering.blocks import blocks
from assay.sessions.rendering.brief import EARLY_BRIEF, LAST_BRIEFS, SQUEEZED, Brief, briefly, folded, said
from assay.sessions.rendering.fitting import FINAL, Sheet, fewest, lump, notice, room_for
from assay.sessions.rendering.frame import framed, quoted
from assay.sessions.rendering.names import Names, names
from assay.sessions.rendering.shapes import Block, Scene
from assay.sessions.rendering.words import SPEAKS, several, when
from assay.types import Prompt, Turn

IN_PART = "everything else in part"
AFTER, AFTER_SHORT = (2_000, 500), (300, 100)


class Given(Struct, frozen=True):
    """What is told."""

    turns: Sequence[Turn]
    after: Prompt | None
    tokens: int
    room: int
    names: Names

    @property
    def early(self) -> int:
        """How many turns come before the final ones."""
        return max(len(self.turns) - FINAL, 0)


def session(turns: Sequence[Turn], after: Prompt | None, tokens: int) -> str:
    """What happened in these turns, and what the person said next elsewhere: never more than so many tokens.

    What is left out, and in which order, is in `docs/concepts/rendering.md`; the text itself says it too.
    """
    what = several(len(turns), "turn", "turns")
    given = Given(turns, after, tokens, room_for(what, tokens), names(turns))
    sheet = Sheet(list(told(given)), len(turns), tokens, given.room)
    return framed(what, list(sheet.body()) if sheet.shorten() else in_brief(given, sheet))


def told(given: Given) -> Iterator[Block]:
    """All blocks, in order."""
    if given.names.folder:
        yield Block(0, given.names.told)
    first = next((n for n, turn in enumerate(given.turns, 1) if turn.prompt), 1)
    for n, turn in enumerate(given.turns, 1):
        yield from blocks(turn, Scene(n, n > given.early, n == first, given.names))
    if (after := given.after) is not None:
        head, number = said_next(given), len(given.turns) + 1
        yield Block(
            number,
            lambda: [head, *quoted(after.text, *AFTER)],
            {"middles": lambda: [head, *quoted(after.text, *AFTER_SHORT)]},
        )


def said_next(given: Given) -> str:
    """The line above what belongs to another session."""
    assert given.after is not None
    how = SPEAKS[given.after.kind]
    return f"[turn {len(given.turns) + 1}] another session, next in the same conversation: {how}{when(given.after.at)}:"


# --- where shorter shapes are not enough ------------------------------------------------------


def in_brief(given: Given, sheet: Sheet) -> list[str]:
    """Turns in short, oldest first, then the final ones; then folded into one line; then hardly more than prompts."""
    wholes = whole_turns(sheet)
    total = sum(map(lump, wholes.values()))
    for n, brief in briefs(given):
        short = briefly(given.turns[n - 1], n, brief, given.names)
        if (less := lump(wholes[n]) - lump(short)) > 0:
            wholes[n], total = short, total - less
        note = notice(given.tokens, [f"{'older' if n <= given.early else 'all'} turns in short", IN_PART])
        if total + lump([note]) <= given.room:
            return [note, *chain.from_iterable(wholes.values())]
    return with_fold(given, wholes) or squeezed(given)


def briefs(given: Given) -> Iterator[tuple[int, Brief]]:
    """Which turn is told in short next, and in how much."""
    yield from ((n, EARLY_BRIEF) for n in range(2, given.early + 1))
    if given.early:
        yield 1, EARLY_BRIEF
    for brief in LAST_BRIEFS:
        yield from ((n, brief) for n in range(given.early + 1, len(given.turns) + 1))


def whole_turns(sheet: Sheet) -> dict[int, list[str]]:
    """The lines of each turn as they stand."""
    found: dict[int, list[str]] = {}
    for block, lines in zip(sheet.blocks, sheet.lines, strict=True):
        found.setdefault(block.turn, []).extend(lines)
    return found


def with_fold(given: Given, wholes: dict[int, list[str]]) -> list[str]:
    """The oldest turns but the first in one line, as few as will do; nothing where that won't do."""

    def lines(last: int) -> list[str]:
        note = notice(given.tokens, [f"turns 2-{last} folded", "all others in short"])
        before = [line for n, one in wholes.items() if n < 2 for line in one]
        behind = [line for n, one in wholes.items() if n > last for line in one]
        return [note, *before, *folded(given.turns[1:last], 2), *behind]

    last = fewest(2, given.early, lambda last: lump(lines(last)) <= given.room) if given.early >= 2 else None
    return lines(last) if last else []


def squeezed(given: Given) -> list[str]:
    """The first and the final prompts, as much of them as there is room for."""
    lines: list[str] = []
    for brief in SQUEEZED:
        lines = squeeze(given, brief)
        if lump(lines) <= given.room:
            break
    return lines


def squeeze(given: Given, brief: Brief) -> list[str]:
    """All of it in this much."""
    early = given.early
    lines = [notice(given.tokens, ["prompts in part, hardly anything else"])]
    if early:
        lines += briefly(given.turns[0], 1, brief, Names())
        lines += folded(given.turns[1:early], 2, is_counted=brief.is_counted)
    for n, turn in enumerate(given.turns[early:], early + 1):
        lines += briefly(turn, n, brief, Names())
    if given.after is not None:
        lines += [said_next(given), *said(given.after.text, brief.prompt)]
    return lines
