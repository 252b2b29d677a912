"""What an agent's transcripts tell: its turns, what it cost, and which instructions it had."""

import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay import facts
from assay.evals.deciding.composite import METRICS
from assay.evals.runners import Instruction
from assay.evals.running import run_folder
from assay.evals.sandbox import workspace
from assay.evals.sandbox.launch import CommandEnd
from assay.evals.tasks.config import INSTRUCTIONS
from assay.evals.tasks.folders import Listing, hash_files, hash_values
from assay.facts.tokens import TokensSpent
from assay.facts.tools import Tools
from assay.pipeline.read_file import read_file
from assay.sessions.streams import FilePiece, join_files
from assay.types import Turn
from assay.types.evals import Cost
from assay.types.value import Row

MOST_FILES, MOST_BYTES = 999, 256 << 20
"""Of the transcripts of one trial; what goes beyond is left behind."""
LONGEST_LINE = 4 << 20
COST_FILE = "cost.json"
LARGEST_CLAIM = 64 << 10
"""Bytes; a larger one is no claim."""
SKILL = "SKILL.md"
SKILL_NAME = re.compile(r"^name:\s*['\"]?([^'\"\n]+)", re.MULTILINE)
LONGEST_INSTRUCTIONS = 1 << 20


class ClaimedCost(Struct, frozen=True, kw_only=True):
    """What a `command` agent says it cost."""

    tokens: int | None = None
    tool_calls: int | None = None
    steps: int | None = None
    usd: float | None = None


class TranscriptFiles(Struct, frozen=True, kw_only=True):
    """Transcripts that were taken over, and what was left behind."""

    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Mapping[str, object]]:
        """The lines that are objects, one after the other: a transcript may be larger than memory."""
        for file in self.files:
            yield from read_objects(file)


class LoadedFile(Row, frozen=True):
    """One file of instructions that an agent had."""

    path: str
    """Below the workspace, or in full where it lies elsewhere."""
    fingerprint: str
    evidence: Literal[
        "transcript",  # the agent says it loaded it
        "present",  # it lay there, and the transcript says nothing
        "elsewhere",  # loaded from outside the workspace: no configuration put it there
    ]


def collect_transcripts(scratch: Path, where: tuple[str, str], into: Path) -> TranscriptFiles:
    """Take over an agent's transcripts; only real files, numbered, whatever their names."""
    into.mkdir(parents=True, exist_ok=True)
    folder, pattern = where
    try:
        there = sorted(islice(workspace.list_left_files(scratch, folder, pattern), MOST_FILES + 1))
    except workspace.PathElsewhere:
        return TranscriptFiles(files=(), notes=(f"{folder} is a link, or no folder: no transcript was read",))
    files: list[Path] = []
    notes, room = [], MOST_BYTES
    if len(there) > MOST_FILES:
        notes.append(f"more than {MOST_FILES} transcripts; the others were left behind")
    for path in there[:MOST_FILES]:
        size = copy_left_file(scratch, path, into / f"{len(files) + 1:03}.jsonl", room)
        if size is None:
            notes.append(f"{path} can't be read, or is larger than what is taken; it was left behind")
            continue
        files.append(into / f"{len(files) + 1:03}.jsonl")
        room -= size
    more = [f"{len(notes) - 3} more like that"] if len(notes) > 4 else []
    return TranscriptFiles(files=tuple(files), notes=(*(notes[:3] if more else notes), *more))


def copy_left_file(scratch: Path, path: str, target: Path, room: int) -> int | None:
    """Copy a file that an agent left, where it fits, and return its size."""
    file = workspace.open_left_file(scratch, path)
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


def read_turns(files: Sequence[Path]) -> tuple[Turn, ...] | None:
    """The turns of transcripts in order; `None` where no source knows any of them."""
    streams: dict[str, list[FilePiece]] = {}
    for file in files:
        found = read_file(file)
        if found.state.source and (part := found.state.part) is not None:
            streams.setdefault(part.stream, []).append((str(file), part, found.turns))
    if not streams:
        return None
    turns = [turn for pieces in streams.values() for turn in join_files(pieces).turns]
    return tuple(sorted(turns, key=lambda turn: turn.at))


def read_objects(file: Path) -> Iterator[Mapping[str, object]]:
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


def measure_cost(turns: Sequence[Turn] | None, claimed: ClaimedCost, wall_s: float | None) -> Cost:
    """What a trial took: as its transcript tells, else as the agent claims, else not known."""
    said = Cost(
        tokens=claimed.tokens, tool_calls=claimed.tool_calls, steps=claimed.steps, usd=claimed.usd, wall_s=wall_s
    )
    if not turns:
        return said
    known = facts.establish_facts(turns)
    spent, tools = known["tokens"], known["tools"]
    assert isinstance(spent, TokensSpent)
    assert isinstance(tools, Tools)
    steps = sum(len(turn.spends) for turn in turns)
    counted = spent.tokens
    if not steps or counted is None:
        return replace(said, tool_calls=tools.tool_calls)
    total = counted.input + counted.output + counted.cache_read + counted.cache_write
    return Cost(tokens=total, tool_calls=tools.tool_calls, steps=steps, usd=spent.cost_usd, wall_s=wall_s)


def load_claimed_cost(folder: Path) -> ClaimedCost:
    """What a `command` agent left as its cost; a claim that can't be true counts for nothing."""
    try:
        said = msgspec.json.decode(workspace.read_left_file(folder, COST_FILE, LARGEST_CLAIM), type=ClaimedCost)
    except (msgspec.DecodeError, OSError, RecursionError):
        return ClaimedCost()
    numbers = [getattr(said, name) for name in said.__struct_fields__]
    return said if all(one is None or (one >= 0 and math.isfinite(one)) for one in numbers) else ClaimedCost()


def copy_claim(scratch: Path, into: Path) -> None:
    """Keep what an agent claims that it cost, beside its transcript."""
    claim = workspace.read_left_file(scratch, f"result/{COST_FILE}", LARGEST_CLAIM + 1)
    if 0 < len(claim) <= LARGEST_CLAIM:
        (into / COST_FILE).write_bytes(claim)


def add_lost_costs(cost: Cost, lost: Sequence[Cost]) -> Cost:
    """The cost of a trial, that of its lost attempts included as far as it is known."""
    sums = {}
    for name in (*METRICS, "usd"):
        own = getattr(cost, name)
        more = [value for one in lost if (value := getattr(one, name)) is not None]
        sums[name] = own if own is None else own + sum(more)
    return replace(cost, **sums)


def recount_cost(folder: Path, lost: Sequence[Cost]) -> Cost:
    """The cost of a trial by the files of its last attempt; dollars by today's prices."""
    ended = msgspec.json.decode((folder / run_folder.ENDED).read_bytes(), type=CommandEnd)
    turns = read_turns(sorted((folder / run_folder.TRANSCRIPTS).glob("*.jsonl")))
    return add_lost_costs(measure_cost(turns, load_claimed_cost(folder), ended.wall_s), lost)


def explain_misstated_cost(folder: Path, stated: Cost, lost: Sequence[Cost]) -> str:
    """Which costs of a trial are not what its files tell; empty where all are."""
    try:
        found = recount_cost(folder, lost)
    except (OSError, msgspec.DecodeError) as error:
        return f"its cost can't be counted again: {error}"
    wrong = [name for name in METRICS if getattr(found, name) != getattr(stated, name)]
    return f"{', '.join(wrong)} not what its files tell" if wrong else ""


def find_loaded_files(
    workspace: Path, inside: str, given: Listing, told: Sequence[Instruction]
) -> tuple[LoadedFile, ...]:
    """Every file of instructions: those a configuration laid down, those of the task, those found elsewhere."""
    own = {path: mark for path, mark in hash_files(workspace).items() if path.split("/")[0] in INSTRUCTIONS}
    within = f"{inside.rstrip('/')}/"
    named = {one.path.removeprefix(within): one for one in told if one.path}
    found = [
        LoadedFile(
            path=path,
            fingerprint=mark,
            evidence="transcript" if path in named or is_in_instructions(workspace / path, told) else "present",
        )
        for path, mark in sorted((own | given).items())
    ]
    foreign = [
        LoadedFile(path=path, fingerprint=f"told:{hash_values(one.text)}", evidence="elsewhere")
        for path, one in sorted(named.items())
        if path.startswith("/")
    ]
    return (*found, *foreign)


def is_in_instructions(file: Path, told: Sequence[Instruction]) -> bool:
    """Whether a file's words, or for a skill its name, stand in what the agent was told."""
    if not file.is_file() or file.stat().st_size > LONGEST_INSTRUCTIONS:
        return False
    text = file.read_text("utf-8", "replace").strip()
    texts = [one.text for one in told if not one.path]
    if file.name == SKILL:
        name = SKILL_NAME.search(text)
        known = name[1].strip() if name else file.parent.name
        return any(re.search(rf"^\W*{re.escape(known)}:", one, re.MULTILINE) for one in texts)
    return bool(text) and any(text in one for one in texts)
