"""What a worker process does with one file: read it, establish its facts, hand back rows to keep."""

from array import array
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from assay import facts
from assay.pipeline.packed_files import PackedFiles
from assay.pipeline.read_file import FileContent, PackedPart, read_file
from assay.sessions.streams import FilePiece, join_files, list_keys
from assay.sessions.turns import find_first_words
from assay.stores import SettledStream, StreamFiles, StreamName, StreamPieces
from assay.types import FileState, Turn

ENCODE = msgspec.msgpack.Encoder().encode
NO_FACTS = b""
"""Stands for facts that nobody asked for yet."""
DECODE = msgspec.msgpack.Decoder(Turn).decode


class ReadTask(Struct, frozen=True, kw_only=True):
    """A file to read, with what is kept of it where only its new bytes are wanted."""

    path: str
    name: str = ""
    """The path as it is kept, where bytes that are no text are spelled out."""
    before: FileState | None = None
    part: PackedPart = PackedPart()
    """Which one of its conversations, where a file holds several."""
    with_facts: bool = True
    """Facts are wanted at once; else they are established when somebody asks for them."""
    is_object: bool = False
    """It lies elsewhere, is compressed or holds others: `read_object` reads it."""
    start: int = 0
    """Of one that holds many others: from where on this task reads."""


class UnreadableFile(Struct, frozen=True, kw_only=True):
    """A file that could not be opened or read, and why."""

    path: str
    why: str


def read_task(task: ReadTask, packed: PackedFiles | None = None) -> FileState | UnreadableFile:
    """Read one file; a file that can't be read is an answer, not an error."""
    before = decode_state(task.before) if task.before else None
    try:
        content = read_file(Path(task.path), before, task.part, packed)
    except OSError as error:
        return UnreadableFile(path=task.name or task.path, why=error.strerror or str(error))
    return encode_content(content, task)


def decode_state(before: FileState) -> FileContent:
    """What was kept of a file, with its turns, to go on from."""
    return FileContent(state=before, turns=tuple(DECODE(body) for _, _, body in before.bodies))


def encode_content(content: FileContent, task: ReadTask) -> FileState:
    """All that is to be kept of a file."""
    state, all_turns = content.state, content.turns
    is_stream = any(turn.prompt or turn.calls or turn.spends or turn.replies for turn in all_turns)
    changed = content.changed if state.is_continued else range(len(all_turns))
    turns: Sequence[Turn] = () if state.part and state.part.is_warmup else all_turns
    return replace(
        state,
        path=task.name or task.path,
        is_stream=is_stream,
        bodies=tuple((n, all_turns[n].at, ENCODE(all_turns[n])) for n in sorted(changed)),
        keys=array("q", chain.from_iterable(sorted(list_keys(all_turns).items()))).tobytes(),
        facts=(facts.to_json(facts.establish_facts(turns)) if task.with_facts else NO_FACTS) if is_stream else b"{}",
        prompts_at=list_prompt_times(turns),
    )


def list_prompt_times(turns: Sequence[Turn]) -> tuple[str, ...]:
    """The record timestamps of the human prompts."""
    return tuple(turn.prompt.at for turn in turns if turn.prompt)


def decode_pieces(kept: StreamPieces) -> list[FilePiece]:
    """The kept files of a stream, with their turns."""
    return [(path, part, tuple(DECODE(body) for body in bodies)) for path, part, bodies in kept.pieces]


def settle_stream(task: tuple[StreamFiles, StreamPieces, bool]) -> SettledStream:
    """Settle a stream of several files, or one whose turns partly belong elsewhere; with its facts if wanted."""
    stream, kept, with_facts = task
    turns = join_files(decode_pieces(kept), kept.elsewhere).turns
    return SettledStream(
        stream=stream,
        facts=facts.to_json(facts.establish_facts(turns)) if with_facts else NO_FACTS,
        prompts_at=list_prompt_times(turns),
        asked=find_first_words(turn.prompt for turn in turns),
    )


def establish_stream_facts(task: tuple[StreamName, StreamPieces]) -> tuple[StreamName, bytes]:
    """Establish the facts of a stream that was settled without them."""
    name, kept = task
    return name, facts.to_json(facts.establish_facts(join_files(decode_pieces(kept), kept.elsewhere).turns))
