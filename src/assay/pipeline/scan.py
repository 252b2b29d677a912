"""Reads what is new in a set of files and brings the store up to date."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from assay.errors import RunStopped
from assay.listing import TELEMETRY_ROOT
from assay.pipeline.changed_folders import find_changed_folders, is_unchanged
from assay.pipeline.cluster import PROCESSES, open_pool
from assay.pipeline.inputs import File, FoundFiles
from assay.pipeline.packed_files import PackedFiles
from assay.pipeline.pool import Pool, Progress
from assay.pipeline.read_file import PackedPart, build_version
from assay.pipeline.read_object import read_objects
from assay.pipeline.remote_files import parse_address
from assay.pipeline.scan_worker import ReadTask, UnreadableFile, establish_stream_facts, read_task, settle_stream
from assay.pipeline.telemetry import read_conversations
from assay.scores.report import Skips
from assay.stores import SettledStream, Store
from assay.types import FileState, KnownFile, ReadPosition

ALONE_BYTES = 8 << 20
"""Less than this is read faster than processes are started."""
BATCH_BYTES, BATCH_FILES = 4 << 20, 64
SETTLE_AT_ONCE = 200

PARTICULARS = re.compile(r": .*| \(.*", re.DOTALL)
"""What a reason for skipping says beyond its kind."""


class Changes(Struct, frozen=True, kw_only=True):
    """What a scan found and read, in numbers."""

    roots: tuple[str, ...]
    files: int
    new: int
    changed: int
    gone: int
    bytes_read: int
    unreadable: tuple[tuple[str, str], ...]
    """Files and folders that could not be opened, and why."""
    listing: str = ""
    """Hash of what was found, where all of it could be read."""


def scan(
    store: Store, found: FoundFiles, jobs: int, progress: Progress, *, with_facts: bool = True, engine: str = PROCESSES
) -> Changes:
    """Read new and changed files, note vanished ones, settle the streams they belong to.

    Scoring establishes the facts of sessions, so those of whole streams are left until somebody wants to see them.
    """
    folders = find_changed_folders(store, found)
    known, files = folders.load_known(store), folders.list_files()
    changed = [file for file in files if not is_unchanged(file, known.get(file.name))]
    objects = HeldFiles(files, changed, known)
    unreadable = list(found.closed)
    pool = open_pool(jobs, engine)
    try:
        results = read_files(UnreadFiles(store, changed, known, with_facts), pool, progress)
        bytes_read = sum(keep_files(store, objects, results, unreadable))
        told = read_conversations(store, pool, with_facts) if TELEMETRY_ROOT in found.roots else {}
        gone = mark_files(store, files, found.closed, objects)
        folders.note(store)
        settle_streams(store, pool, with_facts)
        if with_facts:
            establish_facts(store, pool, found.roots)
    except KeyboardInterrupt:
        raise RunStopped from None
    finally:
        pool.close()
    new = sum(file.name not in known for file in changed) + sum(told.values())
    return Changes(
        roots=found.roots,
        files=found.count_files(),
        new=new,
        changed=len(changed) + len(told) - new,
        gone=gone,
        bytes_read=bytes_read,
        unreadable=tuple(sorted(unreadable)),
    )


def keep_files(
    store: Store,
    objects: "HeldFiles",
    results: Iterable[FileState | UnreadableFile],
    unreadable: list[tuple[str, str]],
) -> Iterator[int]:
    """Keep what was read, as it comes; bytes of each. `unreadable` takes what could not be."""
    for result in results:
        if isinstance(result, UnreadableFile):
            unreadable.append((result.path, result.why))
            continue
        store.transcripts.save_file(result, objects.known.get(result.path))
        objects.note(result.path)
        yield result.bytes_read


def mark_files(store: Store, files: Sequence[File], unseen: Sequence[tuple[str, str]], objects: "HeldFiles") -> int:
    """Note which files are there again and which vanished; how many did."""
    known = objects.known
    back = [known[file.name].id for file in files if file.name in known and known[file.name].is_gone]
    gone = [one for one in find_vanished(files, unseen, known) if one not in objects.inside]
    gone += objects.find_vanished()
    store.transcripts.mark_gone([*back, *objects.find_back()], gone=False)
    store.transcripts.mark_gone(gone, gone=True)
    return len(gone)


def find_vanished(files: Sequence[File], unseen: Sequence[tuple[str, str]], known: dict[str, KnownFile]) -> list[int]:
    """Files that were there and are not; those in folders that can't be opened may still be there."""
    there = {file.name for file in files}
    closed = tuple(f"{path}/" for path, _ in unseen)
    return [
        one.id for path, one in known.items() if path not in there and not one.is_gone and not path.startswith(closed)
    ]


class HeldFiles:
    """Files that others hold: which there are is known only once those were read."""

    def __init__(self, files: Sequence[File], changed: Sequence[File], known: dict[str, KnownFile]) -> None:
        self.known = known
        self.changed = {file.name for file in changed if file.is_object}
        self.read: set[str] = set()
        objects = {file.name for file in files if file.is_object}
        self.inside = {one.id: path for path, one in known.items() if find_holder(path, objects)} if objects else {}
        """Files of which their holders tell whether they are there."""

    def find_back(self) -> list[int]:
        """Files that were gone with what holds them, which is there again as it was."""
        lost = {path for path, one in self.known.items() if one.is_gone} - self.changed
        return [file for file, path in self.inside.items() if path in lost and find_holder(path, lost)]

    def note(self, path: str) -> None:
        """Note a file that was read."""
        if self.changed:
            self.read.add(path)

    def find_vanished(self) -> list[int]:
        """Files that are no longer in what holds them, where all of that was read."""
        whole = self.changed & self.read
        missing = ((file, path) for file, path in self.inside.items() if path not in self.read)
        return [file for file, path in missing if find_holder(path, whole) and not self.known[path].is_gone]


def find_holder(path: str, holders: Container[str]) -> str:
    """Which of these a file lies in; none where it lies in none."""
    while (above := path.rpartition("/")[0]) and above not in holders:
        path = above
    return above


class UnreadFiles(Struct, frozen=True):
    """Files to read, and what the store knows of all that it holds."""

    store: Store
    files: Sequence[File]
    known: dict[str, KnownFile]
    with_facts: bool


def read_files(unread: UnreadFiles, pool: Pool, progress: Progress) -> Iterator[FileState | UnreadableFile]:
    """What reading the files gave, in the order in which they are done."""
    offsets = {path: one.place.offset for path, one in unread.known.items()}
    sizes = {file.name: count_new_bytes(file, offsets.get(file.name, 0)) for file in unread.files}
    total, done = sum(sizes.values()), 0
    near = [file for file in unread.files if not parse_address(file.path)]
    far = [file for file in unread.files if parse_address(file.path)]
    progress(0, total)
    for files, place in ((near, pool.local), (far, pool)):
        if files and total > ALONE_BYTES:
            place.start(len(files))
        for result in read_portions(split_batches(replace(unread, files=files), sizes), place):
            done += sizes.get(result.path, 0)
            yield result
            progress(done, total)


def read_portions(batches: Iterable[list[ReadTask]], pool: Pool) -> Iterator[FileState | UnreadableFile]:
    """What reading portions of files gave; what one task leaves of an archive is given out again."""
    while batches:
        rests: list[list[ReadTask]] = []
        for results in pool.each(batches, read_batch):
            for result in results:
                if isinstance(result, ReadTask):
                    rests.append([result])
                else:
                    yield result
        batches = rests


def count_new_bytes(file: File, offset: int) -> int:
    """About how much there is to read."""
    return file.size - offset if 0 <= offset <= file.size else file.size


def split_batches(unread: UnreadFiles, sizes: dict[str, int]) -> Iterator[list[ReadTask]]:
    """Tasks in portions worth handing to a process, the largest files first."""
    batch: list[ReadTask] = []
    size = 0
    for file in sorted(unread.files, key=lambda file: (-sizes[file.name], file.name)):
        before = unread.known.get(file.name)
        grew = (
            before
            and not file.is_object
            and before.source
            and before.version == build_version(before.source)
            and before.place.offset
        )
        kept = unread.store.transcripts.load_file(before, file.name) if before and grew else None
        batch.append(
            ReadTask(
                path=file.path,
                name=file.name,
                before=kept,
                part=to_part(file),
                with_facts=unread.with_facts,
                is_object=file.is_object,
            )
        )
        size += sizes[file.name]
        if size >= BATCH_BYTES or len(batch) >= BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def to_part(file: File) -> PackedPart:
    """The conversation of a file that holds several, in the place where the file lists it; an object as listed."""
    if not file.conversation and not file.is_object:
        return PackedPart()
    return PackedPart(file.conversation, ReadPosition(inode=file.inode, size=file.size, mtime_ns=file.mtime_ns))


def read_batch(tasks: list[ReadTask]) -> list[FileState | UnreadableFile | ReadTask]:
    """Read a portion of files, in a worker; also what is left to do of those that hold too much for one task."""
    with PackedFiles() as packed:
        found: list[FileState | UnreadableFile | ReadTask] = [
            read_task(task, packed) for task in tasks if not task.is_object
        ]
    return [*found, *read_objects([task for task in tasks if task.is_object])]


def settle_streams(store: Store, pool: Pool, with_facts: bool) -> None:
    """Put all streams together whose files changed, again where another scan kept files meanwhile."""
    while waiting := store.transcripts.list_unsettled():
        joined = [one for one in waiting if not one.is_simple]
        settled = chain(
            (SettledStream(stream=one) for one in waiting if one.is_simple),
            pool.each(((one, store.transcripts.load_pieces([one])[0], with_facts) for one in joined), settle_stream),
        )
        while some := list(islice(settled, SETTLE_AT_ONCE)):
            if not store.transcripts.save_streams(some):
                break


def establish_facts(store: Store, pool: Pool, roots: Sequence[str] | None, prefix: str = "") -> None:
    """Establish the facts of streams that have none yet: of those below the roots, or whose id begins so."""
    waiting = iter(store.transcripts.list_without_facts(roots, prefix))
    while some := list(islice(waiting, SETTLE_AT_ONCE)):
        pieces = ((name, store.transcripts.load_stream(*name)) for name in some)
        store.transcripts.save_facts([*pool.each(pieces, establish_stream_facts)])


def count_skips(store: Store, roots: Sequence[str], unreadable: Sequence[tuple[str, str]]) -> Skips:
    """How many files and lines below the roots could not be read, and why."""
    told = store.transcripts.list_skips(roots)
    reasons = Counter(
        PARTICULARS.sub("", why) for why in (*(why for _, _, why in told), *(why for _, why in unreadable))
    )
    return Skips(
        files=sum(not line for _, line, _ in told) + len(unreadable),
        lines=store.transcripts.count_skipped_lines(roots),
        reasons=dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
    )
