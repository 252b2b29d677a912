"""Settings files changed with a backup, a record of every change, and the way back.

The record is written before a file is: whoever is killed in between finds a file that is as before. On the way back a
file that nobody touched since gets the very bytes it had; from one that was changed only our keys are taken.
"""

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from assay.agents.edits import SettingEdit
from assay.errors import BadInput
from assay.files import PRIVATE, find_state_folder, write_atomically

RECORD = "installed.json"


class TextFormat(Protocol):
    """How one kind of settings file is edited: a module of functions."""

    EMPTY: str

    def check_settings(self, name: str, text: str) -> None: ...
    def apply_edits(self, name: str, text: str, edits: Sequence[SettingEdit]) -> tuple[str, list[SettingEdit]]: ...
    def undo_edits(self, text: str, before: str | None, edits: Sequence[SettingEdit]) -> tuple[str, list[str]]: ...
    def say_the_same(self, one: str, other: str) -> bool: ...


class ChangedFile(Struct, frozen=True, kw_only=True):
    """A settings file that was changed, and all that it takes to change it back."""

    path: str
    scope: str
    before: str | None
    """What it said; `None` for a file that was not there."""
    after: str
    """Hash (sha256) of what it said then."""
    edits: list[SettingEdit]
    folder_made: str = ""
    """The folder that was made for it."""


class FilePlan(Struct, frozen=True, kw_only=True):
    """What a settings file says now, and shall say."""

    path: Path
    now: str | None
    then: str | None
    """`None`: it shall not be there."""
    changed: ChangedFile | None = None
    """The record of it; `None` where none shall remain."""
    notes: list[str] = []

    @property
    def is_change(self) -> bool:
        return self.now != self.then

    def list_differences(self) -> list[str]:
        """The lines that change, as a diff."""
        before, after = (self.now or "").splitlines(), (self.then or "").splitlines()
        old, new = (str(self.path) if one is not None else "/dev/null" for one in (self.now, self.then))
        return list(difflib.unified_diff(before, after, old, new, lineterm="", n=1))


def read_settings(path: Path) -> str | None:
    """What a settings file says; `None` where there is none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeError:
        raise BadInput(f"{path}: is no UTF-8 text; nothing was changed") from None
    except OSError as error:
        raise BadInput(f"{path}: can't be read: {error.strerror}; nothing was changed") from None


def read_base(path: Path, kind: TextFormat, env: Mapping[str, str]) -> str | None:
    """What a settings file would say without anything of ours; refused where it can't be read."""
    known = find_changed(env, path)
    base = plan_uninstall(known, kind).then if known else read_settings(path)
    if base is not None:
        kind.check_settings(str(path), base)
    return base


def plan_install(
    path: Path, scope: str, edits: Sequence[SettingEdit], kind: TextFormat, env: Mapping[str, str]
) -> FilePlan:
    """What putting some edits into a file takes; what was installed in it before is taken out first."""
    now = read_settings(path)
    known = find_changed(env, path)
    base = read_base(path, kind, env)
    then, made = kind.apply_edits(str(path), kind.EMPTY if base is None else base, edits)
    changed = ChangedFile(
        path=str(path),
        scope=scope,
        before=base,
        after=hash_text(then),
        edits=made,
        folder_made=known.folder_made if known else "" if path.parent.exists() else str(path.parent),
    )
    return FilePlan(path=path, now=now, then=then, changed=changed)


def plan_uninstall(known: ChangedFile, kind: TextFormat) -> FilePlan:
    """What taking everything out of a file takes."""
    path = Path(known.path)
    now = read_settings(path)
    if now is None:
        notes = [] if known.before is None else [f"{path}: is gone; nothing to take out"]
        return FilePlan(path=path, now=None, then=None, notes=notes)
    if hash_text(now) == known.after:
        return FilePlan(path=path, now=now, then=known.before)
    kind.check_settings(known.path, now)
    then, others = kind.undo_edits(now, known.before, known.edits)
    if kind.say_the_same(then, known.before or kind.EMPTY):
        return FilePlan(path=path, now=now, then=known.before)
    notes = [f"{path}: was changed by somebody else since; only what was installed is taken out"]
    notes += [f"{path}: {one} was set otherwise since, and stays" for one in others]
    return FilePlan(path=path, now=now, then=then, notes=notes)


def apply_plans(plans: Sequence[FilePlan], env: Mapping[str, str]) -> None:
    """Write the files as planned, the record first."""
    with open_record(env) as record:
        for plan in plans:
            record.pop(str(plan.path), None)
            if plan.changed and plan.changed.edits:
                record[str(plan.path)] = plan.changed
    for plan in plans:
        if plan.is_change:
            write_settings(plan)


def write_settings(plan: FilePlan) -> None:
    """Write one file, or delete it; links are followed, and the mode of a file that was there holds."""
    target = Path(os.path.realpath(plan.path))
    try:
        if plan.then is None:
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else PRIVATE
        write_atomically(target, plan.then.encode(), mode)
    except OSError as error:
        raise BadInput(f"{target}: can't be written: {error.strerror}") from None


def drop_folder(known: ChangedFile) -> None:
    """Delete the folder that was made for a file, if nothing is in it."""
    if known.folder_made:
        with suppress(OSError):
            Path(known.folder_made).rmdir()


# --- the record -----------------------------------------------------------------------------------


def load_record(env: Mapping[str, str]) -> dict[str, ChangedFile]:
    """All settings files that are changed at present, by their paths."""
    path = find_state_folder(env) / RECORD
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, ChangedFile])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError, UnicodeError) as error:
        raise BadInput(f"{path}: the record of what was installed can't be read: {error}") from None


@contextmanager
def open_record(env: Mapping[str, str]) -> Iterator[dict[str, ChangedFile]]:
    """The record, to be changed and written."""
    record = load_record(env)
    yield record
    path = find_state_folder(env) / RECORD
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if record:
            write_atomically(path, msgspec.json.encode(record))
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(f"{path}: can't be written: {error.strerror}; nothing was changed") from None


def find_changed(env: Mapping[str, str], path: Path) -> ChangedFile | None:
    return load_record(env).get(str(path))


def list_changed(env: Mapping[str, str], scopes: Sequence[str]) -> list[ChangedFile]:
    """The files that are changed in some scopes."""
    return [one for one in load_record(env).values() if one.scope in scopes]


def hash_text(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
