"""A turn as blocks, each with the shorter shapes it can take."""

import re
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

from msgspec import Struct

from assay.sessions.rendering.deeds import SHAPED
from assay.sessions.rendering.frame import named, quoted
from assay.sessions.rendering.shapes import (
    EVER,
    FIRST_SHORT,
    PROMPT,
    PROMPT_SHORT,
    SAID,
    TOGETHER,
    TOOLS,
    Block,
    Cut,
    Scene,
    Shape,
    has_failed,
)
from assay.sessions.rendering.words import MARKED, SPEAKS, several, times, when
from assay.types import Call, Mark, Reply, Turn

DIRECTIVES = re.compile(r"^::git-[a-z-]{1,40}\{[^\n]{0,2000}\}[ \t]*$\n?", re.MULTILINE)
"""What Codex tells its own window at the end of a reply; the words are above."""


class Last(Struct, frozen=True):
    """The last reply of a turn."""

    reply: Reply | None
    is_end: bool
    """Nothing followed."""


def blocks(turn: Turn, scene: Scene) -> Iterator[Block]:
    """The prompt, then all that happened, in its order."""
    yield opening(turn, scene)
    said = [one for one in turn.replies if spoken(one)]
    busy = [one for one in turn.calls if not is_idle(one)]
    # each of the three keeps its own order, whatever the times say
    things: list[Any] = list(merge(busy, said, turn.marks, key=attrgetter("at")))
    last = Last(reply=said[-1] if said else None, is_end=bool(things) and isinstance(things[-1], Reply))
    for sort, group in grouped(things):
        match group[0]:
            case Reply():
                yield from (reply(one, last if one is last.reply else None, scene) for one in group)
            case Mark():
                yield marked(group, scene)
            case _:
                yield from SHAPED[sort](group, scene)


def is_idle(call: Call) -> bool:
    """Whether it tells a reviewer nothing: a to-do list that was kept up."""
    return call.kind == "todo" and call.status == "ok" and not call.by


def grouped(things: Iterable[Call | Reply | Mark]) -> Iterator[tuple[str, list[Any]]]:
    """Neighbours of a sort, up to a number."""
    for sort, group in groupby(things, key=sort_of):
        while some := list(islice(group, TOGETHER.get(sort, EVER))):
            yield sort, some


def sort_of(thing: Call | Reply | Mark) -> str:
    if not isinstance(thing, Call):
        return thing.kind if isinstance(thing, Mark) else "reply"
    if thing.by:
        return "others"
    if thing.status != "ok" or thing.kind in SAID or has_failed(thing):
        return "singles"
    if thing.kind == "edit":
        return "edits" if thing.edits else "singles"
    if thing.kind == "shell":
        is_telling = thing.commits or thing.edits or any(run.purpose or run.mutates for run in thing.runs)
        return "singles" if is_telling else "quiet"
    return "tools" if thing.kind in TOOLS else "looks"


# --- what was said ----------------------------------------------------------------------------


def opening(turn: Turn, scene: Scene) -> Block:
    """Who speaks, and the prompt."""
    prompt = turn.prompt
    if prompt is None:
        return Block(scene.number, lambda: [headline(turn, scene.number)])

    def said(head: int, tail: int) -> list[str]:
        return [headline(turn, scene.number) + ":", *quoted(prompt.text, head, tail)]

    short = FIRST_SHORT if scene.is_first else PROMPT_SHORT
    shorter: dict[Cut, Shape] = {} if scene.is_last else {"middles": lambda: said(*short)}
    return Block(scene.number, lambda: said(*PROMPT), shorter)


def headline(turn: Turn, number: int) -> str:
    """The line that begins a turn."""
    if turn.prompt is None:
        return f"[turn {number}] nobody speaks{when(turn.at)}"
    images = ", " + several(turn.prompt.images, "image", "images") if turn.prompt.images else ""
    return f"[turn {number}] {SPEAKS[turn.prompt.kind]}{when(turn.prompt.at)}{images}"


def spoken(reply: Reply) -> str:
    """The words of a reply."""
    return DIRECTIVES.sub("", reply.text).strip()


def reply(said: Reply, last: Last | None, scene: Scene) -> Block:
    """The agent's words: of those between calls the end, of the last ones more."""
    limits = scene.limits
    text = spoken(said)
    if last is None:
        between = limits.between
        return Block(scene.number, lambda: ["- the agent says:", *quoted(text, *between)], {"replies": list})

    def words(head: int, tail: int) -> list[str]:
        return ["- the agent's last words:" if last.is_end else "- the agent says:", *quoted(text, head, tail)]

    return Block(scene.number, lambda: words(*limits.words), {"replies": lambda: words(0, 400)})


def marked(marks: Sequence[Mark], scene: Scene) -> Block:
    """What happened to the conversation, the same things in a row as one."""
    first = marks[0]
    head = f"- {MARKED[first.kind]}{times(len(marks))}"
    if first.kind not in ("pr", "api_error", "rollback") or not first.detail.strip():
        return Block(scene.number, lambda: [head])
    return Block(scene.number, lambda: [f"{head}:", *named([first.detail], 200)])
