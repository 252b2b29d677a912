"""What a command printed, kept for the door: with all that it depends on, until any of that changes."""

import io
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.cli import asked_before
from assay.cli.answer import ReportAnswer
from assay.cli.output import let_pipe_close
from assay.cli.recording import record_output
from assay.config import NAME, Config, find_users_file, pick_zone
from assay.errors import AssayError
from assay.files import write_atomically
from assay.listing import find_kind, find_state
from assay.pipeline.inputs import FoundFiles, build_name_check
from assay.pipeline.lasting import Lasting, find_lasting
from assay.pipeline.score import open_run
from assay.stores import Store

MOST_POINTERS = 64
"""Of more, the oldest go."""


class PrintedTerms(Struct, frozen=True, kw_only=True):
    """What something is printed of."""

    store: Store
    config: Config
    load: Callable[[], Config]
    """Finds the settings again."""
    roots: tuple[str, ...] | None = None
    found: FoundFiles | None = None
    """The files that were looked at, if any were."""


def describe_terms(answer: ReportAnswer, config: Config, load: Callable[[], Config]) -> PrintedTerms | None:
    """What an answer is printed of; nothing where it is not about all sessions, or says more than it prints."""
    read = answer.transcripts
    if read is None or answer.note:
        return None
    return PrintedTerms(store=read.store, config=config, load=load, roots=read.changes.roots, found=read.found)


@contextmanager
def keep_printed(terms: PrintedTerms | None) -> Iterator[None]:
    """Keep what is printed meanwhile, so that the same command finds it."""
    if terms is None or not asked_before.asked or not isinstance(sys.stdout, io.TextIOWrapper):
        yield
        return
    let_pipe_close()
    with record_output() as recording:
        yield
    if recording.is_whole and recording.parts:
        with suppress(AssayError, OSError):  # it was printed: nobody has to know that it could not be kept
            save_printed(terms, b"".join(recording.parts))


def save_printed(terms: PrintedTerms, printed: bytes) -> None:
    """Keep what was printed in the store, and in the person's cache where to find it."""
    found, cache = terms.found, prepare_cache()
    if cache is None or (found and (found.closed or found.has_database or found.remote)):
        return
    with open_run(terms.store, terms.config, terms.roots) as run:
        lasting = find_lasting(run, pick_zone(terms.config))
    states = {path: find_state(path) for path in list_settings_files()}
    if lasting is None or terms.load() != terms.config or asked_before.hash_key() != asked_before.asked:
        return
    body = encode_terms(lasting, states, found) + b"\n" + printed
    name = secrets.token_hex(16)
    where = terms.store.save_printed(name, body)
    if where:
        pointer = {
            "store": where,
            "file": find_kind(where),
            "id": name,
            "hash": blake2b(body, digest_size=32).hexdigest(),
        }
        write_pointer(cache, msgspec.json.encode(pointer))


def encode_terms(lasting: Lasting, states: dict[str, list[int] | None], found: FoundFiles | None) -> bytes:
    """What must be as it is, for the door to look at."""
    header = {
        "since": lasting.since,
        "until": lasting.until,
        "kinds": lasting.kinds,
        "states": lasting.states | states,
        "places": found.places if found else None,
        "others": build_name_check(),
        "listing": asked_before.describe_listing(asked_before.find_roots(list(found.places)), found.folders)
        if found
        else "",
    }
    return msgspec.json.encode(header)


def list_settings_files() -> list[str]:
    """Files in which settings stand or could stand, wherever links lead."""
    here = Path.cwd()
    named = [str(find_users_file(os.environ)), *(str(folder / NAME) for folder in (here, *here.parents))]
    return [*named, *(real for one in named if (real := os.path.realpath(one)) != one)]


def prepare_cache() -> Path | None:
    """The folder of pointers, for this person alone; none for somebody without a home."""
    folder = Path(asked_before.find_cache())
    if not folder.parents[2].is_dir():
        return None
    for one in (folder.parents[1], folder.parents[0], folder):
        one.mkdir(exist_ok=True, mode=0o700)
    return None if folder.is_symlink() or folder.stat().st_uid != os.getuid() else folder


def write_pointer(folder: Path, pointer: bytes) -> None:
    """Write where an answer lies, in the place of the oldest of many."""
    write_atomically(folder / asked_before.asked, pointer)
    there = sorted(folder.iterdir(), key=lambda one: one.lstat().st_mtime_ns)
    for old in there[:-MOST_POINTERS]:
        old.unlink(missing_ok=True)
