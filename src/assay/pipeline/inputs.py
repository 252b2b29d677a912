"""Which files to read: those given, those in folders given, or those where the agents keep them."""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.sources import load_sources

ENDING = ".jsonl"


class File(Struct, frozen=True, gc=False):
    """A file as the folder lists it."""

    path: str
    name: str
    """The path as it is kept and shown: bytes that are no text are spelled out."""
    inode: int
    size: int
    mtime_ns: int


class FoundFiles(Struct, frozen=True, kw_only=True):
    """Files to look at, where they were looked for, and folders that could not be opened."""

    roots: tuple[str, ...]
    files: tuple[File, ...]
    closed: tuple[tuple[str, str], ...] = ()
    """Folders and files that could not be looked at, and why."""


def find_usual_roots(env: Mapping[str, str], home: Path) -> dict[str, list[Path]]:
    """Where each agent keeps its transcripts."""
    return {one.AGENT: one.roots(env, home) for one in load_sources().values()}


def find_files(paths: Sequence[Path]) -> FoundFiles:
    """All transcripts at or below the paths given."""
    roots = tuple(dict.fromkeys(resolve_path(path) for path in paths))
    closed: list[tuple[str, str]] = []
    found = {file.path: file for root in roots for file in walk_files(root, closed)}
    return FoundFiles(
        roots=tuple(spell_path(root) for root in roots),
        files=tuple(found.values()),
        closed=tuple((spell_path(path), why) for path, why in closed),
    )


def resolve_path(path: Path) -> str:
    """Where a path really leads; it must lead to a file or folder."""
    try:
        found = os.path.realpath(path.expanduser())
        mode = os.stat(found).st_mode
    except (OSError, RuntimeError, ValueError) as error:
        said = "no such file or folder" if isinstance(error, FileNotFoundError) else str(error)
        raise BadInput(f"{path}: {said}; give a transcript or a folder with transcripts") from None
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise BadInput(f"{path}: neither a file nor a folder; give a transcript or a folder with transcripts")
    return found


def spell_path(path: str) -> str:
    """A path as text: bytes that are no UTF-8 as `\\xff`."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def to_file(path: str, found: os.stat_result) -> File:
    return File(path, spell_path(path), found.st_ino, found.st_size, found.st_mtime_ns)


def walk_files(root: str, closed: list[tuple[str, str]]) -> Iterator[File]:
    """A file itself, or all transcripts in a folder and below."""
    if not os.path.isdir(root):
        yield to_file(root, os.stat(root))
        return
    folders = [root]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            closed.append((folder, error.strerror or str(error)))
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(ENDING) and entry.is_file():
                    yield to_file(entry.path, entry.stat())
            except OSError as error:
                closed.append((entry.path, error.strerror or str(error)))


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
    """What lies in the usual places; those that vanished count too, for what was read of them is kept."""
    places = list_usual_places()
    found = find_files([place for place in places if place.exists()])
    missing = tuple(os.path.realpath(place) for place in places if not place.exists())
    return replace(found, roots=(*found.roots, *missing))


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
