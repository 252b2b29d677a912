"""All prompts of a conversation, for whoever wants to know where its topic shifts."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from assay.sessions.calls import made_edits
from assay.sessions.ending import kind_of
from assay.sessions.rendering.blocks import headline
from assay.sessions.rendering.brief import folded, said
from assay.sessions.rendering.fitting import FINAL, Sheet, fewest, lump, notice, room_for
from assay.sessions.rendering.frame import framed, named
from assay.sessions.rendering.names import Names, names
from assay.sessions.rendering.shapes import Block
from assay.sessions.rendering.words import ENDS, done, several
from assay.types import Turn

SHOWN, LESS, LEAST = (1_500, 500), (400, 100), (160, 0)
HEADS = (160, 60, 30, 8)
MOST_FILES, LONGEST_NAME = 6, 60


def prompts(turns: Sequence[Turn], tokens: int) -> str:
    """Every prompt with the number of its turn, and in a line what was done before the next."""
    what = several(len(turns), "turn", "turns") + ", prompts only"
    room = room_for(what, tokens)
    called = names(turns)
    told = [block for n, turn in enumerate(turns, 1) for block in asked(turn, n, called)]
    sheet = Sheet([*([Block(0, called.told)] if called.folder else []), *told], 0, tokens, room)
    return framed(what, list(sheet.body()) if sheet.shorten() else in_brief(turns, tokens, room))


def asked(turn: Turn, number: int, called: Names) -> Iterator[Block]:
    """A prompt, what it led to, and the files of it."""

    def prompt(limit: tuple[int, int]) -> list[str]:
        head = headline(turn, number)
        return [f"{head}:", *said(turn.prompt.text, limit)] if turn.prompt else [head]

    yield Block(number, lambda: prompt(SHOWN), {"middles": lambda: prompt(LESS), "heads": lambda: prompt(LEAST)})
    files = list(dict.fromkeys(edit.path for call in turn.calls for edit in made_edits(call)))
    then = f"- then: {done([turn])}; {ENDS[kind_of(turn)]}"
    more = len(files) - MOST_FILES

    def with_files() -> list[str]:
        listed = ", ".join(called.short(path, LONGEST_NAME) for path in files[:MOST_FILES])
        rest = [f"- and {several(more, 'more file', 'more files')}"] if more > 0 else []
        return [f"{then}; files:", *named([listed], MOST_FILES * (LONGEST_NAME + 3)), *rest]

    yield Block(number, with_files if files else lambda: [then], {"lists": lambda: [then]})


def in_brief(turns: Sequence[Turn], tokens: int, room: int) -> list[str]:
    """The first words of each prompt; of the oldest but the first, only how many there were."""
    most = max(len(turns) - FINAL, 1)
    for characters in HEADS:
        sketch = Sketch(turns, tokens, room, characters)
        if (last := fewest(1, most, sketch.is_fitting)) is not None:
            return sketch.lines(last)
    return Sketch(turns, tokens, room, HEADS[-1]).lines(most)


class Sketch(Struct, frozen=True):
    """Prompts by their first characters."""

    turns: Sequence[Turn]
    tokens: int
    room: int
    characters: int

    def lines(self, last: int) -> list[str]:
        """All of them, those from the second to the `last` in one line."""
        hidden = f"turns 2-{last} folded" if last > 1 else "what was done"
        fold = folded(self.turns[1:last], 2, is_counted=False)
        shown = [n for n in range(1, len(self.turns) + 1) if not 2 <= n <= last]
        told = [self.one(n) for n in shown]
        return [
            notice(self.tokens, [hidden, "prompts in part"]),
            *(line for lines in told[:1] for line in lines),
            *fold,
            *(line for lines in told[1:] for line in lines),
        ]

    def one(self, n: int) -> list[str]:
        turn = self.turns[n - 1]
        head = headline(turn, n)
        return [f"{head}:", *said(turn.prompt.text, (self.characters, 0))] if turn.prompt else [head]

    def is_fitting(self, last: int) -> bool:
        return lump(self.lines(last)) <= self.room
