"""Files by the names they have below the folder that most of them share."""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct

from assay.sessions.rendering.frame import SPARE, named, one_line
from assay.types import Turn

FEWEST_PARTS = 3
"""Of a folder's name that are worth leaving out."""
MOST = 0.6
"""The share of files that makes a folder theirs."""
LONGEST = 120


class Names(Struct, frozen=True):
    """How files are named."""

    folder: str = ""
    """The folder they share, with its last slash."""

    def short(self, path: str, most: int = LONGEST) -> str:
        """A file's name on one line; what is cut off is its beginning."""
        path = path.removeprefix(self.folder) or path
        flat = one_line(path[-most - SPARE :], most + SPARE)
        return flat if len(flat) <= most else f"…{flat[-most:]}"

    def told(self) -> list[str]:
        """What a reader must know of it."""
        return ["- files are named from:", *named([self.folder], 300)] if self.folder else []


def names(turns: Iterable[Turn]) -> Names:
    """The names of all files that were read or written."""
    given = list(dict.fromkeys(paths(turns)))
    folders = Counter(folder for path in given for folder in above(path))
    shared = [folder for folder, n in folders.items() if n >= MOST * len(given) and folder.count("/") > FEWEST_PARTS]
    return Names(max(shared, key=lambda folder: (len(folder), folder), default="")) if len(given) > 1 else Names()


def paths(turns: Iterable[Turn]) -> Iterator[str]:
    for turn in turns:
        for call in turn.calls:
            yield from (edit.path for edit in call.edits if edit.path.startswith("/"))
            if call.kind in ("read", "edit") and call.target.startswith("/"):
                yield call.target


def above(path: str) -> Iterator[str]:
    """The folders a file stands in, each with its last slash."""
    at = path.rfind("/", 0, 4_096)
    while at > 0:
        yield path[: at + 1]
        at = path.rfind("/", 0, at)
