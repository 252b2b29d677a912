"""Workspaces: how one begins, clean copies of it, what changed, and what an agent left, read with suspicion."""

import difflib
import errno
import io
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from assay.errors import AssayError, BadInput
from assay.evals.tasks.config import AgentConfig, find_commit, run_git
from assay.evals.tasks.folders import Listing, hash_entry, walk_files
from assay.evals.tasks.task import CHECKS, WORKSPACE, Task
from assay.git import COPY, TRANSPORTS, GitRunner

LARGEST_SHOWN = 256 << 10
"""Bytes of a file whose changes are shown line by line."""
PRIVATE = 0o700
DEEPEST = 20
"""Folders in folders that are looked into."""
LEADS_ELSEWHERE = (errno.ELOOP, errno.ENOTDIR)
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK


class UnreadableWorkspace(AssayError):
    """What the agent left can't be copied: names too long, folders too deep."""


class PathElsewhere(Exception):
    """A path leads through a link, or through something that is no folder."""


def fill_workspace(task: Task, config: AgentConfig | None, into: Path, mirrors: Path) -> None:
    """Fill a folder with a task's starting tree and what a configuration lays over it."""
    if task.harbor:
        into.mkdir(parents=True)
        for source, target in task.harbor.copies:
            if target:
                lay_copy(task.folder / "environment" / source, into / target, target.endswith("/"))
    elif task.repo:
        check_out_commit(task, into, mirrors)
    else:
        copy_tree(task.folder / WORKSPACE, into)
    if config and config.files:
        copy_tree(config.overlay, into)


def lay_copy(source: Path, target: Path, is_folder: bool) -> None:
    """What `COPY` does in a Dockerfile."""
    if source.is_dir():
        copy_tree(source, target)
    elif source.is_file():
        place = target / source.name if is_folder or target.is_dir() else target
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, place)


def check_out_commit(task: Task, into: Path, mirrors: Path) -> None:
    """A repository at a commit, with its past and without its future, in which the answer may stand."""
    mirror, commit = mirror_repository(task, mirrors)
    into.mkdir(parents=True)
    run_git(into, "init", "-q", "-b", "main")
    run_git(into, "fetch", "-q", "--no-tags", f"file://{mirror}", commit, transports=("file",))
    run_git(into, "reset", "-q", "--hard", commit)
    (into / ".git" / "FETCH_HEAD").unlink(missing_ok=True)


def mirror_repository(task: Task, mirrors: Path) -> tuple[Path, str]:
    """Our own copy of a task's repository, and the commit that its ref names."""
    mirror = (mirrors / task.name).resolve()
    beside = task.folder / task.repo
    if not mirror.is_dir():
        mirrors.mkdir(parents=True, exist_ok=True)
        half = mirror.with_name(f"{mirror.name}.half")
        remove_tree(half)
        source, transports = (str(beside), ("file",)) if beside.exists() else (task.repo, TRANSPORTS)
        run_git(mirrors, "clone", "-q", "--mirror", "--", source, str(half), transports=transports)
        run_git(half, "config", "uploadpack.allowAnySHA1InWant", "true", is_bare=True)
        half.rename(mirror)
    commit = find_commit(GitRunner(mirror, COPY, is_bare=True), task.ref)
    if not commit:
        raise BadInput(f"{task.folder}: {task.repo} has no commit {task.ref}")
    return mirror, commit


def copy_tree(source: Path, into: Path) -> None:
    """Copy files, folders and links as links; what is neither (pipes, sockets) stays behind."""
    try:
        into.mkdir(parents=True, exist_ok=True)
        waiting = [""]
        while waiting:
            here = waiting.pop()
            with os.scandir(source / here) as entries:
                for entry in entries:
                    copy_entry(entry, into / here / entry.name)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{here}{entry.name}/")
    except (OSError, RecursionError) as error:
        raise UnreadableWorkspace(f"the workspace can't be copied: {error}") from None


def copy_entry(entry: os.DirEntry[str], target: Path) -> None:
    """One file, link or empty folder; whatever was there before gives way."""
    if entry.is_dir(follow_symlinks=False):
        if target.is_symlink() or target.is_file():
            target.unlink()
        target.mkdir(exist_ok=True)
        if not os.access(entry.path, os.R_OK | os.X_OK):
            Path(entry.path).chmod(PRIVATE)  # the agent's own folder; it has left
        return
    if target.is_dir() and not target.is_symlink():
        remove_tree(target)
    target.unlink(missing_ok=True)
    if entry.is_symlink():
        target.symlink_to(os.readlink(entry.path))
    elif entry.is_file(follow_symlinks=False):
        if not os.access(entry.path, os.R_OK):
            Path(entry.path).chmod(PRIVATE)
        shutil.copy2(entry.path, target, follow_symlinks=False)
        target.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777 | stat.S_IWUSR)


def make_clean_copy(left: Path, into: Path, hidden: Path, secret: Sequence[Path]) -> None:
    """A copy of what the agent left in which no link leads to nothing yet, or to what is secret.

    A link to where check files lie, or will lie, would turn an expected result into the agent's own.
    """
    copy_tree(left, into)
    if hidden.is_dir():
        remove_tree(into / CHECKS)
    home = os.path.realpath(into)
    for path, entry in list(walk_files(into)):
        if entry.is_symlink():
            target = Path(os.path.realpath(into / path))
            is_secret = any(target.is_relative_to(os.path.realpath(one)) for one in secret)
            if not target.exists() or (is_secret and not target.is_relative_to(home)):
                (into / path).unlink()


def hand_over_folder(folder: Path, user: int | None) -> None:
    """Make another user the owner of a folder of ours and all that is in it, links themselves included."""
    if user is not None and folder.exists():
        subprocess.run(["chown", "-hR", f"{user}:{user}", "--", str(folder)], capture_output=True, check=True)  # noqa: S603, S607


def remove_tree(folder: Path) -> None:
    """Delete whatever lies at a path, however deep, and however its owner locked it."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif folder.exists():
        for order in (("chmod", "-R", "u+rwX"), ("rm", "-rf")):
            subprocess.run([*order, "--", str(folder)], capture_output=True, check=False)  # noqa: S603


def list_changes(before: Listing, after: Listing) -> tuple[str, ...]:
    """Paths that differ between two listings, git's own files left out."""
    paths = sorted(before.keys() | after.keys())
    return tuple(path for path in paths if before.get(path) != after.get(path) and not path.startswith(".git/"))


def hash_entries(folder: Path) -> Listing:
    """Everything in a workspace with its hash, what programs leave behind included."""
    return {path: hash_entry(entry) for path, entry in walk_files(folder)}


def render_diff(before: Path, after: Path, changed: tuple[str, ...]) -> Iterator[str]:
    """The changes as a unified diff."""
    for path in changed:
        old, new = read_lines(before / path), read_lines(after / path)
        yield f"diff --assay a/{path} b/{path}\n"
        if old is None or new is None:
            yield "Files differ: too large, or no text\n"
            continue
        names = (f"a/{path}" if old else os.devnull, f"b/{path}" if new else os.devnull)
        for line in difflib.unified_diff(old, new, *names):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def read_lines(file: Path) -> list[str] | None:
    """Lines of a file; none where it is not there, `None` where it can't be shown."""
    if file.is_symlink():
        return [f"link to {os.readlink(file)}\n"]
    if not file.is_file():
        return []
    if file.stat().st_size > LARGEST_SHOWN:
        return None
    try:
        return [*io.StringIO(file.read_bytes().decode("utf-8"), newline="\n")]
    except UnicodeDecodeError:
        return None


def open_folder(root: Path, parts: list[str]) -> int:
    """A folder below another one, every part of its path a real folder."""
    here = os.open(root, FOLDER)
    for part in parts:
        try:
            inner = os.open(part, FOLDER, dir_fd=here)
        except OSError as error:
            raise PathElsewhere(part) if error.errno in LEADS_ELSEWHERE else error from None
        finally:
            os.close(here)
        here = inner
    return here


def open_left_file(root: Path, path: str) -> BinaryIO | None:
    """A real file below a folder; `None` where there is none, or something else."""
    *parts, name = path.split("/")
    try:
        folder = open_folder(root, parts)
    except (OSError, PathElsewhere):
        return None
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return None
    finally:
        os.close(folder)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return os.fdopen(file, "rb")
    os.close(file)
    return None


def read_left_file(root: Path, path: str, most: int) -> bytes:
    """The beginning of a real file below a folder; empty where there is none."""
    file = open_left_file(root, path)
    if file is None:
        return b""
    with file:
        return file.read(most)


def list_left_files(root: Path, folder: str, pattern: str) -> Iterator[str]:
    """Paths of real files below a folder whose names fit; an error where the folder itself leads elsewhere."""
    waiting = [folder.split("/")]
    while waiting:
        parts = waiting.pop()
        try:
            here = open_folder(root, parts)
        except OSError:
            continue
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False) and len(parts) < DEEPEST:
                        waiting.append([*parts, entry.name])
                    elif entry.is_file(follow_symlinks=False) and fnmatchcase(entry.name, pattern):
                        yield "/".join([*parts, entry.name])
        finally:
            os.close(here)
