"""One object to what is kept of it: a file that lies elsewhere, is compressed, or holds many others.

It is read whole whenever it changed. What it holds is kept file by file, and at last a row for the object itself, which
says that all of it was read: whoever is stopped before that reads it again.
"""

import os
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from assay.pipeline.bundles import HeldMember, HeldRest, HeldTrouble, PlainStream, list_held
from assay.pipeline.inputs import build_like, spell_conversation
from assay.pipeline.packed_files import MOST_BYTES, SQLITE, open_held
from assay.pipeline.read_file import (
    FileContent,
    FileReader,
    build_version,
    find_source_name,
    is_packed,
    pack_opened,
    skip_file,
)
from assay.pipeline.remote_files import (
    explain_trouble,
    fetch_each,
    is_same_object,
    list_troubles,
    open_object,
    parse_address,
)
from assay.pipeline.scan_worker import ReadTask, UnreadableFile, encode_content
from assay.sources import find_source, list_in_document
from assay.types import FileState, ReadPosition, SkippedLine
from assay.types.packed import MalformedFile

CHANGED = "changed while it was read; the next run reads it"
Read = FileState | UnreadableFile | ReadTask


def read_objects(tasks: Sequence[ReadTask]) -> Iterator[Read]:
    """Read objects, fetched some at a time; of one that is too large for one task, also the task that goes on."""
    for task, opened in zip(tasks, fetch_each(tasks, open_task), strict=True):
        if isinstance(opened, BaseException):
            yield UnreadableFile(path=task.name, why=explain_trouble(opened))
            continue
        with opened:
            try:
                yield from read_opened(task, opened)
            except list_troubles() as error:
                yield UnreadableFile(path=task.name, why=explain_trouble(error))


def open_task(task: ReadTask) -> BinaryIO:
    address = parse_address(task.path)
    return open_object(address, find_listed(task).size) if address else Path(task.path).open("rb")


def find_listed(task: ReadTask) -> ReadPosition:
    """The object as it was listed."""
    return task.part.place or ReadPosition()


def is_as_listed(task: ReadTask) -> bool:
    """Whether an object is still what was listed."""
    listed, address = find_listed(task), parse_address(task.path)
    if address:
        return is_same_object(address, listed.inode, listed.size)
    state = os.stat(task.path)
    return (state.st_ino, state.st_size, state.st_mtime_ns) == (listed.inode, listed.size, listed.mtime_ns)


def read_opened(task: ReadTask, opened: BinaryIO) -> Iterator[Read]:
    """What an object holds; nothing is kept of one that became another one meanwhile."""
    found: list[FileState] = []
    rest: HeldRest | None = None
    trouble = ""
    try:
        for one in list_held(opened, build_like().match, task.start):
            if isinstance(one, HeldRest):
                rest = one
            elif isinstance(one, HeldTrouble):
                found.append(close_object(replace(task, name=f"{task.name}/{one.name}"), one.why))
            else:
                found += read_held(task, one)
    except MalformedFile as error:
        trouble = str(error)[:200]
    if not is_as_listed(task):
        yield UnreadableFile(path=task.name, why=CHANGED)
        return
    yield from found
    if rest:
        yield replace(task, start=rest.start)
    elif trouble or [one.path for one in found] != [task.name]:
        yield close_object(task, trouble)


def read_held(task: ReadTask, held: HeldMember) -> list[FileState]:
    """What a member says; one that is damaged leaves the others alone."""
    try:
        return read_member(task, held)
    except MalformedFile as error:
        if not held.name:
            raise
        return [close_object(replace(task, name=f"{task.name}/{held.name}"), str(error)[:200])]


def close_object(task: ReadTask, trouble: str) -> FileState:
    """The row of an object that holds others, or can't be unpacked."""
    skips = (SkippedLine(line=0, why=trouble),) if trouble else ()
    return FileState(
        path=task.name,
        version=build_version(""),
        place=find_listed(task),
        lines_skipped=len(skips),
        bytes_read=find_listed(task).size,
        skips=skips,
    )


def read_member(task: ReadTask, held: HeldMember) -> list[FileState]:
    """What one of those that an object holds says: a transcript, or a document with several."""
    name = f"{task.name}/{held.name}" if held.name else task.name
    head = held.stream.head
    state = FileState(path=name, source=find_source_name(head), place=find_listed(task))
    if not state.source:
        return [skip_file(held.stream, head, state)]
    if is_packed(head, name.rpartition("/")[2], find_source(state.source)):
        return read_document(task, state, held.stream)
    content = FileReader(held.stream, FileContent(state=state)).run(state.place)
    return [encode_member(task, content, state)]


def encode_member(task: ReadTask, content: FileContent, state: FileState) -> FileState:
    """All that is to be kept of a member; it is never read on from where it was left."""
    kept = replace(content.state, place=state.place, bytes_read=0 if state.path != task.name else state.place.size)
    return encode_content(replace(content, state=replace(kept, state=b"")), replace(task, name=state.path))


def read_document(task: ReadTask, state: FileState, stream: PlainStream) -> list[FileState]:
    """The conversations of a document."""
    head = stream.head
    if head.startswith(SQLITE):
        raise MalformedFile("a database; it can only be read on the machine where it lies")
    source = find_source(state.source)
    with open_held(state.path, stream.read(MOST_BYTES + 1)) as opened:
        found = []
        for one in list_in_document(source, opened) or [""]:
            named = replace(state, path=f"{state.path}/{spell_conversation(one)}" if one else state.path)
            lines = FileReader(BytesIO(pack_opened(source, opened, one)), FileContent(state=named)).run(named.place)
            found.append(encode_member(task, lines, named))
    return found
