"""An agent's transcripts as turns, and what they cost: read by the same sources and facts as everybody's."""

import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay import facts
from assay.evals.types import Cost
from assay.facts.tokens import TokensSpent
from assay.facts.tools import Tools
from assay.pipeline.digest import digest
from assay.sessions.join import Piece, join
from assay.types import Turn

LARGEST = 256 << 20
"""Bytes of a transcript; a larger one is left behind."""
COST_FILE = "cost.json"


class Reading(Struct, frozen=True, kw_only=True):
    """What transcripts hold."""

    turns: tuple[Turn, ...] | None
    """`None`: there are none."""
    records: tuple[Mapping[str, object], ...] = ()


class Claimed(Struct, frozen=True, kw_only=True):
    """What a `command` agent says it cost."""

    tokens: int | None = None
    tool_calls: int | None = None
    steps: int | None = None
    usd: float | None = None


def collect(files: Sequence[Path], into: Path) -> list[Path]:
    """Take over an agent's transcripts; only real files, numbered, whatever their names."""
    into.mkdir(parents=True, exist_ok=True)
    real = [file for file in files if file.is_file() and not file.is_symlink() and file.stat().st_size <= LARGEST]
    taken = [into / f"{number:02}.jsonl" for number, _ in enumerate(real, 1)]
    for file, target in zip(real, taken, strict=True):
        shutil.copyfile(file, target, follow_symlinks=False)
    return taken


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
    records = tuple(record for file in files for record in lines(file))
    return Reading(turns=tuple(sorted(turns, key=lambda turn: turn.at)), records=records)


def lines(file: Path) -> list[Mapping[str, object]]:
    """The lines of a transcript that are objects."""
    found: list[Mapping[str, object]] = []
    for line in file.read_bytes().splitlines():
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


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


def claimed(result: Path) -> Claimed:
    """What a `command` agent left as its cost; a claim that can't be true counts for nothing."""
    file = result / COST_FILE
    if file.is_symlink() or not file.is_file():
        return Claimed()
    try:
        said = msgspec.json.decode(file.read_bytes(), type=Claimed)
    except (msgspec.DecodeError, OSError):
        return Claimed()
    numbers = [getattr(said, name) for name in said.__struct_fields__]
    return said if all(one is None or (one >= 0 and math.isfinite(one)) for one in numbers) else Claimed()
