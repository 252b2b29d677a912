"""A file that is one document, as a source is given it: opened, guarded, and never written to."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from assay.types.value import to_key


class MalformedFile(Exception):
    """A file that can't be opened or unpacked; the message says why."""


class Stamp(NamedTuple):
    """What changes with a conversation: about how large it is, and when it was last written."""

    size: int
    changed: int


def to_stamp(size: Any, changed: Any) -> Stamp:
    """A stamp of what a file says: numbers that can be stored, whatever stands there."""
    kept = (one & (1 << 62) - 1 if isinstance(one, int) else to_key(repr(one)) for one in (size, changed))
    return Stamp(*kept)


class PackedFile(Protocol):
    """Text, JSON, a SQLite database or a zip archive; all raise `MalformedFile` for what they can't give."""

    @property
    def name(self) -> str:
        """The file's name."""

    @property
    def folder(self) -> str:
        """The name of the folder that it lies in."""

    @property
    def repository(self) -> str:
        """The folder that it lies in, where that is the top of a repository; else nothing."""

    @property
    def value(self) -> Any:
        """What a JSON file holds; `None` for others."""

    def list_lines(self) -> list[str]:
        """The lines of a text; none for databases and archives."""

    def query(self, sql: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Rows of a database; nothing for others, and for tables that are not there."""

    def list_members(self) -> dict[str, Stamp]:
        """Names in an archive; none for others."""

    def read_member(self, name: str) -> Any:
        """The JSON of a member of an archive."""

    def list_beside(self, *folders: str) -> list[str]:
        """Names of the JSON files in a folder that is reached from the file's own; `..` goes up."""

    def read_beside(self, *names: str) -> Any:
        """The JSON of a file that is reached from the folder of this one; `None` where it can't be read."""
