"""What a promotion carries into a repository: a configuration's files, each exactly as it was tried."""

import hashlib
import os
import re
import stat
import unicodedata
from pathlib import Path

from msgspec import Struct

from assay.errors import BadInput
from assay.evals.promoting.verify import PromotionRefused
from assay.evals.running.lock import PinnedArm, RunLock
from assay.evals.tasks.config import FILE, FILES, AgentConfig, ConfigFile, load_config
from assay.evals.tasks.folders import Listing, hash_files, hash_values
from assay.evals.tasks.task import load_toml

SHORT_NAME = re.compile(r"git~\d+")
"""What Windows may call `.git`."""
MOST_BYTES = 8 << 20


class PromotedFile(Struct, frozen=True, kw_only=True):
    """One file to write; `content` is `None` for one to remove."""

    path: str
    content: bytes | None
    is_program: bool = False
    was: str = ""
    """Fingerprint of a file to remove: only what the baseline had may go."""


class ConfigSearch(Struct, frozen=True, kw_only=True):
    """Where configurations of a run may lie."""

    run: Path
    repository: Path
    scratch: Path
    """For what is unpacked from a git ref."""

    def list_folders(self) -> list[str]:
        found = [one for home in (self.run, self.run.parent) for one in sorted(home.glob("configs/*"))]
        return [str(one) for one in found if (one / FILE).is_file()]


def find_tried_config(
    pinned: PinnedArm, search: ConfigSearch, given: str = "", near: Path | None = None
) -> AgentConfig:
    """The configuration that was tried, wherever it lies now: its fingerprint decides, not its place."""
    beside = [str(near / pinned.config)] if near else []
    for where in [given] if given else [pinned.config, *search.list_folders(), *beside]:
        try:
            found = load_config(where, search.scratch / "configs", search.repository)
        except (BadInput, OSError):
            if given:
                raise
            continue
        if found.sha256 == pinned.sha256 and found.files == pinned.files:
            return found
    said = f"{given or pinned.config} is not the configuration that was tried, or it is not here any more"
    raise PromotionRefused(f"{said}; go where its folder lies, or name the candidate's with --candidate")


def list_promoted_files(config: AgentConfig, lock: RunLock, search: ConfigSearch) -> list[PromotedFile]:
    """The files of a candidate, and those of the baseline that it does without."""
    tried, before = lock.arms["candidate"], lock.arms["baseline"]
    if other := list_differences(config, tried, before, search):
        raise PromotionRefused(
            f"candidate and baseline differ in {', '.join(other)} too, which no file of a pull request can carry; "
            "compare two configurations that differ in their files alone"
        )
    if tried.files == before.files:
        raise PromotionRefused("candidate and baseline have the same files; there is nothing to promote")
    for path, mark in sorted((before.files | tried.files).items()):
        if why := explain_unsafe(path, mark):
            raise PromotionRefused(f"{path!a}: {why}")
    gone = [
        PromotedFile(path=path, content=None, was=mark)
        for path, mark in before.files.items()
        if path not in tried.files
    ]
    return [load_promoted_file(config.overlay, path, mark) for path, mark in sorted(tried.files.items())] + gone


def list_differences(config: AgentConfig, tried: PinnedArm, before: PinnedArm, search: ConfigSearch) -> list[str]:
    """What sets two configurations apart beside their files: a candidate may be better by that alone."""
    other = [name for name in ("agent", "model", "version") if getattr(tried, name) != getattr(before, name)]
    if other:
        return other
    if tried.agent != "command":
        told = load_toml(config.folder / FILE, ConfigFile)
        return [] if hash_values(told, before.files, Listing()) == before.sha256 else [FILE]
    ours, theirs = list_programs(config), list_programs(find_tried_config(before, search, near=config.folder.parent))
    return [path for path in sorted(ours | theirs) if ours.get(path) != theirs.get(path)]


def list_programs(config: AgentConfig) -> Listing:
    """What a configuration holds beside the files it lays over a workspace."""
    return {path: mark for path, mark in hash_files(config.folder).items() if not path.startswith(f"{FILES}/")}


def explain_unsafe(path: str, mark: str) -> str:
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


def load_promoted_file(folder: Path, path: str, mark: str) -> PromotedFile:
    """A file as it was tried, or an error; no link is followed on the way to it."""
    try:
        content, is_program = read_plain_file(folder, path)
    except OSError as error:
        raise PromotionRefused(f"{path}: can't be read: {error.strerror}") from None
    if f"{'x' if is_program else '-'}:{hashlib.sha256(content).hexdigest()}" != mark:
        raise PromotionRefused(f"{path}: not the file that was tried")
    return PromotedFile(path=path, content=content, is_program=is_program)


def read_plain_file(folder: Path, path: str) -> tuple[bytes, bool]:
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
            raise PromotionRefused(f"{path}: no file of at most {MOST_BYTES >> 20} MB")
        return found.read(), bool(mode & stat.S_IXUSR)
