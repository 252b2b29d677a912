"""What a worker process does with one file: read it, establish its facts, hand back rows to keep."""

from array import array
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import Struct

from assay import facts, sessions
from assay.pipeline.digest import Counts, Digest, digest
from assay.sessions.join import Piece, join, keys
from assay.sessions.turns import first_words
from assay.sources import find_source
from assay.types import Part, Scanned, Turn

ENCODE = msgspec.msgpack.Encoder().encode
NO_FACTS = b""
"""Stands for facts that nobody asked for yet."""
DECODE = msgspec.msgpack.Decoder(Turn).decode


class Task(Struct, frozen=True, kw_only=True):
    """A file to read, with what is kept of it where only its new bytes are wanted."""

    path: str
    name: str = ""
    """The path as it is kept, where bytes that are no text are spelled out."""
    before: Scanned | None = None
    with_facts: bool = True
    """Facts are wanted at once; else they are established when somebody asks for them."""


class Unreadable(Struct, frozen=True, kw_only=True):
    """A file that could not be opened or read, and why."""

    path: str
    why: str


def read(task: Task) -> Scanned | Unreadable:
    """Read one file; a file that can't be read is an answer, not an error."""
    try:
        found = digest(Path(task.path), restored(task.before) if task.before else None)
    except OSError as error:
        return Unreadable(path=task.name or task.path, why=error.strerror or str(error))
    return scanned(task.name or task.path, found, task.with_facts)


def scanned(path: str, found: Digest, with_facts: bool) -> Scanned:
    """Rows for the store."""
    is_stream = any(turn.prompt or turn.calls or turn.spends or turn.replies for turn in found.turns)
    changed = found.changed if found.is_continued else range(len(found.turns))
    turns: Sequence[Turn] = () if found.part and found.part.is_warmup else found.turns
    return Scanned(
        path=path,
        source=found.source,
        version=version(found.source),
        place=found.place,
        lines_read=found.counts.read,
        lines_skipped=found.counts.skipped,
        bytes_read=found.counts.bytes_read,
        skips=found.skips,
        tail=found.tail,
        part=found.part,
        is_stream=is_stream,
        is_continued=found.is_continued,
        bodies=tuple((n, found.turns[n].at, ENCODE(found.turns[n])) for n in sorted(changed)),
        keys=array("q", chain.from_iterable(sorted(keys(found.turns).items()))).tobytes(),
        facts=(facts.to_json(facts.establish(turns)) if with_facts else NO_FACTS) if is_stream else b"{}",
        prompts_at=prompts_at(turns),
        unknown=found.unknown,
        state=found.state,
    )


def restored(before: Scanned) -> Digest:
    """What was kept of a file, as a digest to go on from."""
    return Digest(
        source=before.source,
        version=find_source(before.source).VERSION,
        place=before.place,
        counts=Counts(read=before.lines_read, skipped=before.lines_skipped),
        skips=before.skips,
        tail=before.tail,
        part=before.part,
        turns=tuple(DECODE(body) for _, _, body in before.bodies),
        unknown=before.unknown,
        state=before.state,
    )


def version(name: str) -> str:
    """Changes when the file would be read, its turns folded or its facts established in another way."""
    read_by = f"{name}@{find_source(name).VERSION}" if name else "none"
    return f"{read_by};sessions@{sessions.VERSION};{facts.version()}"


def prompts_at(turns: Sequence[Turn]) -> tuple[str, ...]:
    """The record timestamps of the human prompts."""
    return tuple(turn.prompt.at for turn in turns if turn.prompt)


class Joining(Struct, frozen=True, kw_only=True):
    """The files of a stream that must be joined, as kept."""

    pieces: tuple[tuple[str, Part, tuple[bytes, ...]], ...]
    elsewhere: frozenset[int] = frozenset()
    with_facts: bool = True


class Joined(Struct, frozen=True, kw_only=True):
    """What a stream of several files comes to."""

    facts: bytes
    prompts_at: tuple[str, ...]
    asked: str


def pieces_of(joining: Joining) -> list[Piece]:
    """The kept files, decoded."""
    return [(path, part, tuple(DECODE(body) for body in bodies)) for path, part, bodies in joining.pieces]


def settle(joining: Joining) -> Joined:
    """Facts of a stream of several files, or of one whose turns partly belong elsewhere."""
    turns = join(pieces_of(joining), joining.elsewhere).turns
    return Joined(
        facts=facts.to_json(facts.establish(turns)) if joining.with_facts else NO_FACTS,
        prompts_at=prompts_at(turns),
        asked=first_words(turn.prompt for turn in turns),
    )
