"""Hunks with the hashes of their lines, which are made when somebody asks for them."""

from functools import cached_property

from assay.sessions.rework.history import Change, Hunk
from assay.types.lines import packed_text


class Block:
    """A hunk and its file before and after; a line that tells nothing has an empty hash."""

    def __init__(self, old: str, new: str, hunk: Hunk) -> None:
        self.old = old or new
        self.new = new or old
        self.is_new_file = not old
        self.hunk = hunk

    @cached_property
    def removed(self) -> list[bytes]:
        return [packed_text(line) for line in self.hunk.removed]

    @cached_property
    def added(self) -> list[bytes]:
        return [packed_text(line) for line in self.hunk.added]


def blocks_of(change: Change) -> list[Block]:
    return [Block(file.old, file.new, hunk) for file in change.files for hunk in file.hunks]
