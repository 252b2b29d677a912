"""What blocks are made of: the shapes a block can take, and how much of each text is shown."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from assay.sessions.rendering.names import Names
from assay.types import Call, CallKind

Cut = Literal["outputs", "diffs", "lists", "replies", "errors", "middles", "heads"]
"""What is shortened, in this order."""
Shape = Callable[[], list[str]]


class Limits(Struct, frozen=True):
    """Characters shown of the head and the tail of each sort of text."""

    command: tuple[int, int] = (400, 150)
    printed: tuple[int, int] = (0, 300)
    failed: tuple[int, int] = (300, 900)
    between: tuple[int, int] = (0, 240)
    words: tuple[int, int] = (400, 1_200)
    report: tuple[int, int] = (200, 800)
    plan: tuple[int, int] = (1_200, 400)
    target: int = 160
    names: int = 400
    diff: int = 600


ALL = (20_000, 10_000)
EARLY = Limits()
LAST = Limits(
    command=ALL, printed=ALL, failed=ALL, between=ALL, words=ALL, report=ALL, plan=ALL, target=400, names=2_000
)
"""The final turns: all that was kept."""
PROMPT = (40_000, 10_000)
PROMPT_SHORT, FIRST_SHORT = (1_200, 400), (3_000, 1_000)
SAID: frozenset[CallKind] = frozenset({"agent", "ask", "plan"})
TOOLS: frozenset[CallKind] = frozenset({"web", "skill", "mcp", "other"})
EVER = 1_000_000
TOGETHER = {"edits": 8, "quiet": 8, "tools": 8, "looks": 24}
"""Calls of a kind that make one block; more, and too much would go at once."""
SHORT = 120
MOST_FILES = 8


class Block(Struct, frozen=True):
    """Some lines of a turn. `shorter` are the shapes it can take; a later cut's holds for all before it."""

    turn: int
    full: Shape
    shorter: dict[Cut, Shape] = {}


class Scene(Struct, frozen=True):
    """Where a turn stands."""

    number: int
    is_last: bool
    """One of the final turns."""
    is_first: bool
    names: Names

    @property
    def limits(self) -> Limits:
        return LAST if self.is_last else EARLY


def has_failed(call: Call) -> bool:
    """Whether it failed, by its status or by what it printed."""
    return call.status == "error" or any(run.outcome == "failed" for run in call.runs)
