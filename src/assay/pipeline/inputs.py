"""Which files to read: those given, those in folders given, or those where the agents keep them."""

import fnmatch
import os
import re
import stat
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.files import LAKE, to_folder_prefix
from assay.listing import ENDING, ITSELF, TELEMETRY_ROOT, Entry, Folders, list_places
from assay.pipeline.bundles import PATTERNS, holds_others
from assay.pipeline.packed_files import SQLITE, open_packed
from assay.pipeline.read_file import HEAD, find_source_name
from assay.pipeline.remote_files import explain_trouble, list_objects, list_troubles, name_place, parse_address
from assay.sources import find_source, list_in_document, list_patterns, load_sources
from assay.types import to_key
from assay.types.packed import MalformedFile
from assay.types.shipping import SHIPPED_ROOT

MOST_NAME = 200
STORED_ROOTS = (TELEMETRY_ROOT, SHIPPED_ROOT)
"""What is in the store alone."""


class File(Struct, frozen=True, gc=False):
    """A file as the folder lists it."""

    path: str
    name: str
    """The path as it is kept and shown: bytes that are no text are spelled out."""
    inode: int
    size: int
    mtime_ns: int
    conversation: str = ""
    """Which one it stands for, of a file that holds several: size and time are then its own."""
    is_object: bool = False
    """It lies elsewhere (its inode is then its etag), is compressed or holds others: what it gives, reading tells."""


class FoundFiles(Struct, frozen=True, kw_only=True):
    """Files to look at, where they were looked for, and folders that could not be opened."""

    roots: tuple[str, ...]
    places: tuple[str, ...] = ()
    """The roots as they were named: links may lead elsewhere by the next time."""
    folders: Folders = {}
    """What folders list; under its own path, a file that was itself named."""
    opened: tuple[File, ...] = ()
    """Of the files whose name does not tell what they hold, transcripts and conversations that were found in them."""
    has_database: bool = False
    """Whether any of these is a database: it may hold more than its size and time tell."""
    remote: tuple[str, ...] = ()
    """Of the roots, those that lie elsewhere: nobody can tell without asking there whether anything changed."""
    closed: tuple[tuple[str, str], ...] = ()
    """Folders and files that could not be looked at, and why."""

    @property
    def files(self) -> tuple[File, ...]:
        """All transcripts."""
        plain = (file for folder, entries in self.folders.items() for file in to_files(folder, entries))
        return (*plain, *self.opened)

    @property
    def is_empty(self) -> bool:
        return not self.opened and not any(to_files(folder, entries) for folder, entries in self.folders.items())

    def count_files(self) -> int:
        plain = sum(name.endswith(ENDING) for entries in self.folders.values() for name, *_ in entries)
        return plain + len(self.opened)


def to_files(folder: str, entries: Sequence[Entry]) -> list[File]:
    """The files of a folder whose name tells what they are."""
    prefix = to_folder_prefix(folder)
    named = spell_path(prefix)
    return [
        File(prefix + name, named + (name if name.isascii() else spell_path(name)), inode, size, mtime_ns)
        for name, inode, size, mtime_ns in entries
        if name.endswith(ENDING)
    ]


def find_usual_roots(env: Mapping[str, str], home: Path) -> dict[str, list[Path]]:
    """Where each agent keeps its transcripts."""
    return {one.AGENT: one.roots(env, home) for one in load_sources().values()}


def find_files(paths: Sequence[Path]) -> FoundFiles:
    """All transcripts at or below the paths given."""
    addresses = {name_place(one): one for path in paths if (one := parse_address(path))}
    roots = tuple(dict.fromkeys(resolve_path(path) for path in paths))
    closed: list[tuple[str, str]] = []
    here = [root for root in roots if root not in (*STORED_ROOTS, *addresses)]
    folders = list_places(here, closed, build_name_check())
    opened = find_objects(addresses, closed, is_all=len(addresses) == len(roots))
    has_database = False
    for path, is_named in list_untold(folders):
        try:
            with Path(path).open("rb") as file:
                head = file.read(HEAD)
            state = os.stat(path)
            if holds_others(head):
                found = [replace(to_file(path, state), is_object=True)]
            else:
                found = list_in_file(path, head, state) or ([to_file(path, state)] if is_named else [])
        except OSError as error:
            closed.append((path, error.strerror or str(error)))
            continue
        opened |= {one.name: one for one in found}
        has_database = has_database or head.startswith(SQLITE)
    return FoundFiles(
        roots=tuple(spell_path(root) for root in roots),
        places=tuple(map(str, paths)),
        folders=folders,
        opened=tuple(opened.values()),
        has_database=has_database,
        remote=tuple(addresses),
        closed=tuple((spell_path(path), why) for path, why in closed),
    )


def find_objects(addresses: Mapping[str, str], closed: list[tuple[str, str]], *, is_all: bool) -> dict[str, File]:
    """What lies at addresses; `closed` takes those that can't be looked at, unless that is all there is."""
    found: dict[str, File] = {}
    for name, address in addresses.items():
        try:
            listed = list_objects(address, build_like().match)
        except list_troubles() as error:
            closed.append((name, explain_trouble(error)))
            continue
        found |= {one.name: File(one.address, one.name, one.tag, one.size, 0, is_object=True) for one in listed}
    if is_all and len(closed) == len(addresses) > 0:
        name, why = closed[0]
        raise BadInput(f"{name}: {why}")
    return found


def list_untold(folders: Folders) -> list[tuple[str, bool]]:
    """Files that must be opened to see what they hold, and whether each was itself named."""
    return [
        (os.path.join(folder, name) if name else folder, name == ITSELF)
        for folder, entries in folders.items()
        for name, *_ in entries
        if not name.endswith(ENDING)
    ]


def resolve_path(path: Path) -> str:
    """Where a path really leads; it must lead to a file or folder."""
    if str(path) in STORED_ROOTS:
        return str(path)
    if address := parse_address(path):
        return name_place(address)
    try:
        found = os.path.realpath(path.expanduser())
        mode = os.stat(found).st_mode
    except (OSError, RuntimeError, ValueError) as error:
        said = "no such file or folder" if isinstance(error, FileNotFoundError) else str(error)
        raise BadInput(f"{path}: {said}; give a transcript or a folder with transcripts") from None
    if stat.S_ISDIR(mode) and os.path.isfile(os.path.join(found, LAKE)):
        raise BadInput(f"{path}: is a lake, no folder of transcripts; `assay score` and `assay sessions` can read it")
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise BadInput(f"{path}: neither a file nor a folder; give a transcript or a folder with transcripts")
    return found


def spell_path(path: str) -> str:
    """A path as text: bytes that are no UTF-8 as `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def to_file(path: str, found: os.stat_result) -> File:
    return File(path, spell_path(path), found.st_ino, found.st_size, found.st_mtime_ns)


@cache
def build_name_check() -> str:
    """What the name of a file is like that may be a transcript of some agent, though it has another ending."""
    return "|".join(map(fnmatch.translate, (*list_patterns(), *PATTERNS)))


@cache
def build_like() -> re.Pattern[str]:
    """The same of a file that may also be called as most transcripts are."""
    return re.compile(f"{fnmatch.translate(f'*{ENDING}')}|{build_name_check()}")


def spell_conversation(id: str) -> str:
    """An id as the last part of a path, whatever is in it."""
    spelled = quote(id, safe="", errors="replace")
    return spelled if len(spelled) <= MOST_NAME else f"{spelled[:MOST_NAME]}-{to_key(id):x}"


def list_in_file(path: str, head: bytes, found: os.stat_result) -> list[File]:
    """A file that is called like a transcript: nothing where it is none, else it, or the conversations it holds."""
    name = find_source_name(head)
    if not name:
        return []
    whole = to_file(path, found)
    try:
        with open_packed(Path(path)) as opened:
            parts = list_in_document(find_source(name), opened)
    except MalformedFile:
        return [whole]  # whoever reads it will say why it can't be
    return [
        replace(
            whole,
            name=f"{whole.name}/{spell_conversation(one)}",
            size=stamp.size,
            mtime_ns=stamp.changed,
            conversation=one,
        )
        for one, stamp in parts.items()
    ] or [whole]


AGO = re.compile(r"(\d+)([hdw])")
UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def find_transcripts(paths: Sequence[Path] | None, config: Config) -> FoundFiles:
    """What lies at the paths; without any, at those that are set, else where the agents keep transcripts."""
    if paths or not config.paths:
        return find_files(paths) if paths else find_usual_transcripts()
    try:
        return find_files([Path(one) for one in config.paths])
    except BadInput as error:
        raise BadInput(f"paths in the settings: {error}, or take it out of assay.toml or ASSAY_PATHS") from None


def list_usual_places() -> list[Path]:
    """Folders in which the agents keep transcripts."""
    return [root for roots in find_usual_roots(os.environ, Path.home()).values() for root in roots]


def find_usual_transcripts() -> FoundFiles:
    """What lies in the usual places, and telemetry; those that vanished count too: what was read of them is kept."""
    places = list_usual_places()
    found = find_files([place for place in places if place.exists()])
    missing = tuple(os.path.realpath(place) for place in places if not place.exists())
    return replace(found, roots=(*found.roots, *missing, *STORED_ROOTS), places=tuple(map(str, places)))


def explain_no_transcripts(config: Config) -> str:
    """Where transcripts were looked for in vain, and what to do."""
    looked = "\n  ".join(config.paths or (str(place) for place in list_usual_places()))
    return (
        f"no transcripts found; looked in\n  {looked}\n"
        "give the folder that has them, or try `assay demo` for bundled examples"
    )


def parse_time(given: str | None, option: str, here: tzinfo | None = None) -> str:
    """A day, a time or "7d" ago, as records write it; a day begins as in the zone, or on this machine."""
    if not given:
        return ""
    ago = AGO.fullmatch(given.strip())
    try:
        if ago:
            when = datetime.now(UTC) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        else:
            said = datetime.fromisoformat(given.strip())
            when = (said.replace(tzinfo=here) if here and said.tzinfo is None else said).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(f"{option} {given!r}: give a day (2026-11-01), a time, or how long ago (12h, 7d, 4w)") from None
    return when.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def pick_report_time(config: Config) -> datetime:
    """The time a report is about: the one that is set, else now."""
    said = parse_time(config.as_of, "--as-of", pick_zone(config))
    return datetime.fromisoformat(said) if said else datetime.now(UTC)


def parse_project(given: str | None) -> str:
    """A part of a folder's path; a path that exists stands for itself."""
    if given and (given in (".", "..") or "/" in given) and Path(given).expanduser().is_dir():
        return os.path.realpath(Path(given).expanduser())
    return given or ""
