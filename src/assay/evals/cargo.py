"""What a promotion carries into a repository: a configuration's files, each exactly as it was tried."""

import hashlib
import os
import re
import stat
import unicodedata
from pathlib import Path

from msgspec import Struct

from assay.errors import BadInput
from assay.evals.configs import FILE, FILES, Config, ConfigFile, load_config
from assay.evals.fingerprint import Listing, listing, sealed
from assay.evals.lock import Lock, Pinned
from assay.evals.proof import Refused
from assay.evals.tasks import toml

SHORT_NAME = re.compile(r"git~\d+")
"""What Windows may call `.git`."""
MOST_BYTES = 8 << 20


class Item(Struct, frozen=True, kw_only=True):
    """One file to write; `content` is `None` for one to remove."""

    path: str
    content: bytes | None
    is_program: bool = False
    was: str = ""
    """Fingerprint of a file to remove: only what the baseline had may go."""


class Search(Struct, frozen=True, kw_only=True):
    """Where configurations of a run may lie."""

    run: Path
    repository: Path
    scratch: Path
    """For what is unpacked from a git ref."""

    def places(self) -> list[str]:
        found = [one for home in (self.run, self.run.parent) for one in sorted(home.glob("configs/*"))]
        return [str(one) for one in found if (one / FILE).is_file()]


def config_of(pinned: Pinned, search: Search, given: str = "", near: Path | None = None) -> Config:
    """The configuration that was tried, wherever it lies now: its fingerprint decides, not its place."""
    beside = [str(near / pinned.config)] if near else []
    for where in [given] if given else [pinned.config, *search.places(), *beside]:
        try:
            found = load_config(where, search.scratch / "configs", search.repository)
        except (BadInput, OSError):
            if given:
                raise
            continue
        if found.sha256 == pinned.sha256 and found.files == pinned.files:
            return found
    said = f"{given or pinned.config} is not the configuration that was tried, or it is not here any more"
    raise Refused(f"{said}; go where its folder lies, or name the candidate's with --candidate")


def cargo(config: Config, lock: Lock, search: Search) -> list[Item]:
    """The files of a candidate, and those of the baseline that it does without."""
    tried, before = lock.arms["candidate"], lock.arms["baseline"]
    if other := differences(config, tried, before, search):
        raise Refused(
            f"candidate and baseline differ in {', '.join(other)} too, which no file of a pull request can carry; "
            "compare two configurations that differ in their files alone"
        )
    if tried.files == before.files:
        raise Refused("candidate and baseline have the same files; there is nothing to promote")
    for path, mark in sorted((before.files | tried.files).items()):
        if why := unsafe(path, mark):
            raise Refused(f"{path!a}: {why}")
    gone = [Item(path=path, content=None, was=mark) for path, mark in before.files.items() if path not in tried.files]
    return [loaded(config.overlay, path, mark) for path, mark in sorted(tried.files.items())] + gone


def differences(config: Config, tried: Pinned, before: Pinned, search: Search) -> list[str]:
    """What sets two configurations apart beside their files: a candidate may be better by that alone."""
    other = [name for name in ("agent", "model", "version") if getattr(tried, name) != getattr(before, name)]
    if other:
        return other
    if tried.agent != "command":
        told = toml(config.folder / FILE, ConfigFile)
        return [] if sealed(told, before.files, Listing()) == before.sha256 else [FILE]
    ours, theirs = programs(config), programs(config_of(before, search, near=config.folder.parent))
    return [path for path in sorted(ours | theirs) if ours.get(path) != theirs.get(path)]


def programs(config: Config) -> Listing:
    """What a configuration holds beside the files it lays over a workspace."""
    return {path: mark for path, mark in listing(config.folder).items() if not path.startswith(f"{FILES}/")}


def unsafe(path: str, mark: str) -> str:
    """Why a file may not be carried into a repository; nothing where it may."""
    parts = path.split("/")
    plain = ["".join(char for char in part if unicodedata.category(char) != "Cf") for part in parts]
    bare = [part.lower().split(":")[0].rstrip(". ") for part in plain]
    wrong = {
        "a path that leads elsewhere": path.startswith("/") or any(part in ("", ".", "..") for part in parts),
        "a name with characters that hide something": plain != parts or not path.isprintable() or "\\" in path,
        "a file that git or its host obeys": any(
            part.startswith(".git") or SHORT_NAME.fullmatch(part) for part in bare
        ),
        "a link, which may lead anywhere": mark.startswith("link:"),
        "neither a file nor a link": mark == "special",
    }
    return next((why for why, holds in wrong.items() if holds), "")


def loaded(folder: Path, path: str, mark: str) -> Item:
    """A file as it was tried, or an error; no link is followed on the way to it."""
    try:
        content, is_program = opened(folder, path)
    except OSError as error:
        raise Refused(f"{path}: can't be read: {error.strerror}") from None
    if f"{'x' if is_program else '-'}:{hashlib.sha256(content).hexdigest()}" != mark:
        raise Refused(f"{path}: not the file that was tried")
    return Item(path=path, content=content, is_program=is_program)


def opened(folder: Path, path: str) -> tuple[bytes, bool]:
    """What a file below a folder holds, and whether it can be run."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        *parts, name = path.split("/")
        for part in parts:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = inner
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=here)
    finally:
        os.close(here)
    with os.fdopen(file, "rb") as found:
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode) or os.fstat(file).st_size > MOST_BYTES:
            raise Refused(f"{path}: no file of at most {MOST_BYTES >> 20} MB")
        return found.read(), bool(mode & stat.S_IXUSR)
