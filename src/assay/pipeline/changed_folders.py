"""Which folders list anything else than what was read of them: only of these is it looked through what is known.

A folder is passed over where it lists what it did when every one of its files was known as it is, to readers like ours.
The store forgets that as soon as a file of it is saved.
"""

import os
from collections.abc import Mapping, Sequence
from hashlib import blake2b

from msgspec import Struct

from assay.listing import ENDING, Entry, sign_entries
from assay.pipeline.inputs import STORED_ROOTS, File, FoundFiles, spell_path, to_files
from assay.pipeline.judgement import hash_values
from assay.pipeline.read_file import build_version
from assay.plugins import list_names
from assay.stores import Store
from assay.types import KnownFile


class ChangedFolders(Struct, frozen=True, kw_only=True):
    """Folders that may hold something new, or lack something."""

    found: FoundFiles
    listed: Mapping[str, Sequence[Entry]]
    """What they list; nothing for those that are gone."""
    hashes: Mapping[str, bytes]
    """What can be noted of them, by how their paths are kept."""
    named: tuple[str, ...]
    """Files that were themselves named, or that hold several conversations."""
    is_first: bool

    def list_files(self) -> list[File]:
        """Their files, and those that had to be opened."""
        plain = [file for folder, entries in self.listed.items() for file in to_files(folder, entries)]
        return [*plain, *self.found.opened]

    def load_known(self, store: Store) -> dict[str, KnownFile]:
        """What is known of all files that are there or were there."""
        inside = store.transcripts.find_in_folders([spell_path(one) for one in self.listed])
        return inside | (store.transcripts.find_files(self.named) if self.named else {})

    def note(self, store: Store) -> None:
        """Note of which folders all is known, now that it was read."""
        if self.hashes or self.is_first:
            store.transcripts.note_listed(self.hashes, self.find_known)

    def find_known(self, known: dict[str, KnownFile]) -> set[str]:
        """Folders all of whose files are known as they are listed, and none is thought to be there that is not."""
        there: dict[str, set[str]] = {}
        for path, one in known.items():
            if not one.is_gone:
                there.setdefault(os.path.dirname(path), set()).add(path)
        sure = set()
        for folder, entries in self.listed.items():
            name, files = spell_path(folder), to_files(folder, entries)
            is_known = all(is_unchanged(file, known.get(file.name)) for file in files)
            if name in self.hashes and is_known and there.get(name, set()) == {file.name for file in files}:
                sure.add(name)
        return sure


def find_changed_folders(store: Store, found: FoundFiles) -> ChangedFolders:
    """Folders below the roots that list anything else than was noted of them, and those that are no more."""
    noted = store.transcripts.load_listed()
    readers = sign_readers()
    entries: dict[str, Sequence[Entry]] = {folder: some for folder, some in found.folders.items() if some[0][0]}
    there = {spell_path(folder) for folder in entries}
    roots = [root for root in found.roots if root not in STORED_ROOTS]
    closed = tuple(f"{path}/" for path, _ in found.closed)
    missing = [one for one in noted or () if one not in there and is_at(one, roots)]
    gone = [one for one in missing if not f"{one}/".startswith(closed)]
    entries |= dict.fromkeys(gone, ())
    signs = {folder: sign_folder(some, readers) for folder, some in entries.items()}
    changed = {
        folder: some
        for folder, some in entries.items()
        if noted is None or noted.get(spell_path(folder)) != signs[folder] or not is_plain(some)
    }
    hashes = {spell_path(folder): signs[folder] for folder, some in changed.items() if is_plain(some)}
    opened = (one.name if one.is_object else spell_path(one.path) for one in found.opened)
    named = dict.fromkeys([*opened, *found.remote, *(roots if noted is None else ())])
    return ChangedFolders(found=found, listed=changed, hashes=hashes, named=tuple(named), is_first=noted is None)


def is_plain(entries: Sequence[Entry]) -> bool:
    """Whether the names of all files tell what they are: what others hold is only known once they are opened."""
    return all(name.endswith(ENDING) for name, *_ in entries)


def is_at(folder: str, roots: Sequence[str]) -> bool:
    """Whether a folder is one of the roots or below one."""
    return any(folder == root or folder.startswith(f"{root.rstrip('/')}/") for root in roots)


def sign_readers() -> bytes:
    """A hash of the versions of all that read files."""
    readers = [(name, build_version(name)) for name in ("", *sorted(list_names("sources")))]
    return hash_values(readers).encode()


def sign_folder(entries: Sequence[Entry], readers: bytes) -> bytes:
    return blake2b(sign_entries(list(entries)) + readers, digest_size=16).digest()


def is_unchanged(file: File, known: KnownFile | None) -> bool:
    """Whether the folder lists the file just as it was when it was read, by readers like ours.

    What a plugin read that is no longer installed stays as it is: nobody here could read it better.
    """
    if known is None:
        return False
    if known.source and known.source not in list_names("sources"):
        return True
    is_same = (file.inode, file.size, file.mtime_ns) == (known.place.inode, known.place.size, known.place.mtime_ns)
    return is_same and known.version == build_version(known.source)
