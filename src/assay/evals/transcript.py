"""An agent's transcripts as turns, and what they cost: read by the same sources and facts as everybody's."""

import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay import facts
from assay.evals import remains
from assay.evals.types import Cost
from assay.facts.tokens import TokensSpent
from assay.facts.tools import Tools
from assay.pipeline.digest import digest
from assay.sessions.join import Piece, join
from assay.types import Turn

MOST_FILES, MOST_BYTES = 999, 256 << 20
"""Of the transcripts of one trial; what goes beyond is left behind."""
LONGEST_LINE = 4 << 20
COST_FILE, LONGEST_COST = "cost.json", 64 << 10


class Reading(Struct, frozen=True, kw_only=True):
    """What transcripts hold."""

    turns: tuple[Turn, ...] | None
    """`None`: there are none."""


class Claimed(Struct, frozen=True, kw_only=True):
    """What a `command` agent says it cost."""

    tokens: int | None = None
    tool_calls: int | None = None
    steps: int | None = None
    usd: float | None = None


class Taken(Struct, frozen=True, kw_only=True):
    """Transcripts that were taken over, and what was left behind."""

    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Mapping[str, object]]:
        """The lines that are objects, one after the other: a transcript may be larger than memory."""
        for file in self.files:
            yield from lines(file)


def collect(scratch: Path, where: tuple[str, str], into: Path) -> Taken:
    """Take over an agent's transcripts; only real files, numbered, whatever their names."""
    into.mkdir(parents=True, exist_ok=True)
    folder, pattern = where
    try:
        there = sorted(islice(remains.listed(scratch, folder, pattern), MOST_FILES + 1))
    except remains.Elsewhere:
        return Taken(files=(), notes=(f"{folder} is a link, or no folder: no transcript was read",))
    files: list[Path] = []
    notes, room = [], MOST_BYTES
    if len(there) > MOST_FILES:
        notes.append(f"more than {MOST_FILES} transcripts; the others were left behind")
    for path in there[:MOST_FILES]:
        size = take(scratch, path, into / f"{len(files) + 1:03}.jsonl", room)
        if size is None:
            notes.append(f"{path} can't be read, or is larger than what is taken; it was left behind")
            continue
        files.append(into / f"{len(files) + 1:03}.jsonl")
        room -= size
    more = [f"{len(notes) - 3} more like that"] if len(notes) > 4 else []
    return Taken(files=tuple(files), notes=(*(notes[:3] if more else notes), *more))


def take(scratch: Path, path: str, target: Path, room: int) -> int | None:
    """Copy a file where it fits; how large it is."""
    file = remains.opened(scratch, path)
    if file is None:
        return None
    with file:
        size = file.seek(0, 2)
        if size > room:
            return None
        file.seek(0)
        with target.open("wb") as copy:
            shutil.copyfileobj(file, copy)
    return size


def read(files: Sequence[Path]) -> Reading:
    """Transcripts that were taken over, as turns in order."""
    streams: dict[str, list[Piece]] = {}
    for file in files:
        found = digest(file)
        if found.source and found.part is not None:
            streams.setdefault(found.part.stream, []).append((str(file), found.part, found.turns))
    if not streams:
        return Reading(turns=None)
    turns = [turn for pieces in streams.values() for turn in join(pieces).turns]
    return Reading(turns=tuple(sorted(turns, key=lambda turn: turn.at)))


def lines(file: Path) -> Iterator[Mapping[str, object]]:
    """The lines of a transcript that are objects; one that is too long to be one of these is passed over."""
    with file.open("rb") as opened:
        is_rest = False
        while line := opened.readline(LONGEST_LINE):
            was_rest, is_rest = is_rest, not line.endswith(b"\n")
            if was_rest or (is_rest and len(line) == LONGEST_LINE):
                continue
            try:
                record = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            if isinstance(record, dict):
                yield record


def cost(turns: Sequence[Turn] | None, claimed: Claimed, wall_s: float | None) -> Cost:
    """What a trial took: as its transcript tells, else as the agent claims, else not known."""
    said = Cost(
        tokens=claimed.tokens, tool_calls=claimed.tool_calls, steps=claimed.steps, usd=claimed.usd, wall_s=wall_s
    )
    if not turns:
        return said
    known = facts.establish(turns)
    spent, tools = known["tokens"], known["tools"]
    assert isinstance(spent, TokensSpent)
    assert isinstance(tools, Tools)
    steps = sum(len(turn.spends) for turn in turns)
    if not steps:
        return replace(said, tool_calls=tools.tool_calls)
    total = spent.tokens.input + spent.tokens.output + spent.tokens.cache_read + spent.tokens.cache_write
    return Cost(tokens=total, tool_calls=tools.tool_calls, steps=steps, usd=spent.cost_usd, wall_s=wall_s)


def claimed(folder: Path) -> Claimed:
    """What a `command` agent left as its cost; a claim that can't be true counts for nothing."""
    try:
        said = msgspec.json.decode(remains.read(folder, COST_FILE, LONGEST_COST), type=Claimed)
    except (msgspec.DecodeError, OSError, RecursionError):
        return Claimed()
    numbers = [getattr(said, name) for name in said.__struct_fields__]
    return said if all(one is None or (one >= 0 and math.isfinite(one)) for one in numbers) else Claimed()
