"""Sessions as they were told, kept: what a report said of them, in rows, so that only what changed is told anew.

Sessions are kept in *neighbourhoods*: all whose telling may depend on each other (a folder, and folders that share a
repository, a plan or a person's merge) are in one. A neighbourhood is told as a whole, and replaced as a whole.
Whatever changes a stream, its cut, or what people say of it notes the stream as changed, in the same transaction.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from assay.types import LedgerLine

StreamName = tuple[str, str]
"""Agent and id of a stream; also of a session, by the id of its first segment."""


class StreamPlace(Struct, frozen=True, kw_only=True, array_like=True):
    """Where a stream was worked: what decides which neighbourhood it is in."""

    agent: str
    stream: str
    folders: tuple[tuple[str, int, bool], ...] = ()
    """Of each folder, how many of its segments, and whether in a branch."""
    continues: tuple[str, ...] = ()
    """Streams whose plans opened segments of it."""

    @property
    def name(self) -> StreamName:
        return self.agent, self.stream


class Neighbourhood(Struct, frozen=True, kw_only=True):
    """Streams that are told together."""

    name: str
    nodes: tuple[str, ...]
    """The folders and streams that it is made of, by how they are called."""
    key: str = ""
    """Hash of what else its telling depends on."""
    told_at: float = 0.0
    valid_until: float = 0.0
    """Seconds between which it may be told like this, both included."""
    folders: tuple[tuple[str, int, bool], ...] = ()


class CommitDeed(Struct, frozen=True, kw_only=True):
    """What a session has to do with a commit, given by how its id begins."""

    commit: str
    how: str
    """`names`, `wrote`, `undoes`, or, for what depends on others' deeds, `wants`."""
    agent: str
    id: str
    began_at: str = ""


class ToldRow(Struct, frozen=True, kw_only=True):
    """One session as it was told."""

    agent: str
    id: str
    folder: str
    began_at: str
    ended_at: str
    crushed: bool | None
    obstacle: str
    """The kind of reason that held it back; empty for none."""
    is_news: bool
    """The last report said otherwise of whether it crushed."""
    is_answered: bool
    ages: bytes
    """Of its lines; empty where none was followed."""
    body: bytes
    """The session as JSON."""
    work: bytes
    """What others may need to know of it."""
    input: bytes = b""
    """Hash of all that it was told from; empty where that is not known."""

    @property
    def name(self) -> StreamName:
        return self.agent, self.id


class ToldNeighbourhood(Struct, frozen=True, kw_only=True):
    """All that was told of one neighbourhood."""

    about: Neighbourhood
    tally: bytes
    places: Sequence[StreamPlace]
    rows: Sequence[ToldRow]
    ledger: Sequence[tuple[StreamName, Sequence[tuple[LedgerLine, bytes]]]]
    """Of each session its lines, in order, each as JSON too."""
    deeds: Sequence[CommitDeed]
    """Of all sessions."""
    same: Mapping[StreamName, bool] = {}
    """Sessions that stay as they are kept, and whether they are news."""
    months: bytes = b""
    """What the tally is the sum of."""


class KeptNeighbourhood(Struct, frozen=True, kw_only=True):
    """What was kept of a neighbourhood, as far as it tells what may stay."""

    rows: dict[StreamName, tuple[bytes, bool | None]] = {}
    """Of each session the hash of all that it was told from, and whether it crushed."""
    months: bytes = b""


class ToldLine(Struct, frozen=True, kw_only=True):
    """A line of the ledger, where it stands, and as JSON."""

    at: str
    session: str
    effect: str
    stream: str
    n: int
    agent: str
    """Of the session that it stands in, as is `id`."""
    id: str
    line: bytes


class CountedStream(Struct, frozen=True, kw_only=True):
    """A stream that reports count among those which sessions were cut from."""

    agent: str
    id: str
    folder: str
    began_at: str
    ended_at: str
    is_shipped: bool
    """By another machine: it is listed for each session that stands in it, and counts once."""


PlacedRow = tuple[tuple[str, ...], bytes]
"""A row as JSON, and its place in the list: rows that come in later move no other to another place."""


class ToldChoice(Struct, frozen=True, kw_only=True):
    """Which told sessions are wanted; empty is all."""

    since: str = ""
    until: str = ""
    folders: tuple[str, ...] | None = None
    names: tuple[StreamName, ...] | None = None
    obstacle: str = ""
    only_answered: bool = False
    only_lost: bool = False
    """Those of which the last report said that they crushed, and which did not."""
    crushed: bool | None = None
    """Those that did, or did not; `None` is all."""


class ToldStore(Protocol):
    """Sessions as they were told, in neighbourhoods."""

    def load_view(self) -> bytes:
        """Under which settings sessions were told last; empty for none."""

    def begin_view(self, view: bytes) -> None:
        """Drop all that was told, for another view: every stream that is cut is noted as changed."""

    def list_changed(self) -> tuple[list[StreamName], int]:
        """Streams that changed since they were told, and the number of the last change."""

    def has_changes(self) -> bool:
        """Whether any stream changed since it was told."""

    def load_standing(self) -> bytes:
        """The report that was kept last; empty for none."""

    def save_standing(self, report: bytes) -> None:
        """Keep a report in place of the last."""

    def find_streams(self, turns: Iterable[str]) -> dict[str, StreamName]:
        """The streams that hold turns, by the ids of these."""

    def list_neighbourhoods(self) -> list[Neighbourhood]:
        """All that were told, without their sessions."""

    def load_tallies(self) -> Iterator[bytes]:
        """What was counted in each neighbourhood."""

    def load_kept(self, name: str) -> KeptNeighbourhood:
        """What was kept of a neighbourhood; nothing where there is none of this name."""

    def list_places(self, names: Sequence[str]) -> list[StreamPlace]:
        """The streams of neighbourhoods."""

    def find_places(self, names: Iterable[StreamName]) -> dict[StreamName, StreamPlace]:
        """Where streams were worked."""

    def list_continuing(self) -> list[StreamPlace]:
        """Streams that go on with the plans of others."""

    def find_neighbourhoods(self, names: Iterable[StreamName]) -> dict[StreamName, str]:
        """In which neighbourhood streams were told."""

    def save_told(self, told: ToldNeighbourhood, instead_of: Iterable[str], known: int) -> None:
        """Keep a neighbourhood in place of others; what is noted as changed of its streams up to `known` is done."""

    def drop_neighbourhoods(self, names: Iterable[str]) -> None:
        """Drop neighbourhoods with all that was told of them."""

    def settle_changes(self, names: Iterable[StreamName], known: int) -> None:
        """Note that changes of streams up to a number are told."""

    def list_deeds(self, commits: Iterable[str], hows: Sequence[str]) -> list[tuple[CommitDeed, str]]:
        """What sessions have to do with commits, with their neighbourhoods; in order of time."""

    def list_own_deeds(self, neighbourhoods: Sequence[str]) -> set[CommitDeed]:
        """What the sessions of neighbourhoods have to do with commits."""

    def load_works(self, names: Iterable[StreamName]) -> list[bytes]:
        """What others need to know of sessions, in order of time."""

    def list_works(self, since: str, until: str, but_in: Collection[str] = ()) -> list[bytes]:
        """The same of all sessions that ended between two times, but for those in some neighbourhoods."""

    def list_ids(self, choice: ToldChoice) -> list[str]:
        """Ids of sessions, in order of time."""

    def find_begun(self, prefix: str) -> list[tuple[StreamName, str]]:
        """Sessions with a segment whose id begins so, in order of time, each with the id of that segment."""

    def find_in_stream(self, stream: StreamName) -> list[StreamName]:
        """Sessions that stand in a stream, wholly or in part, in order of time."""

    def find_last(self) -> StreamName | None:
        """The session that ended last; of several the first."""

    def list_ages(self, choice: ToldChoice) -> Iterator[bytes]:
        """The ages of their lines, of those that have any."""

    def list_bodies(self, choice: ToldChoice, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """Sessions as JSON, in order of time."""

    def list_ledger(self, choice: ToldChoice, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
        """Their lines of the ledger as JSON, in order of time."""

    def load_beside(self, names: Sequence[StreamName]) -> dict[StreamName, tuple[bytes, list[bytes]]]:
        """Of sessions, the ages of their lines, and their lines of the ledger as JSON."""

    def list_newest(self, choice: ToldChoice, after: Sequence[str], limit: int) -> list[PlacedRow]:
        """Sessions as JSON, the newest first, from behind a place on; an empty one is before them all."""

    def list_newest_lines(self, choice: ToldChoice, after: Sequence[str], limit: int) -> list[PlacedRow]:
        """Their lines of the ledger in the same way."""

    def list_digests(self) -> Iterator[tuple[str, str]]:
        """Of all sessions in order of time, when each began and what tells how it was told from any other way."""

    def list_rows(self, first: str = "", behind: str = "") -> Iterator[tuple[ToldRow, int]]:
        """Sessions that began between two times, in order, without `work`; each with its commits that went on."""

    def list_lines(self, first: str = "", behind: str = "") -> Iterator[ToldLine]:
        """Lines of the ledger between two times, in order."""

    def list_counted_streams(self, roots: Sequence[str] | None) -> Iterator[CountedStream]:
        """The streams below paths that reports count, in order of time; shipped ones where they are among these."""

    def count_ledger(self) -> int:
        """How many lines the ledger has."""

    def list_news(self, choice: ToldChoice) -> list[tuple[StreamName, bool]]:
        """Sessions of which the last report said otherwise of whether they crushed, and whether they did."""

    def has_outside(self, roots: Sequence[str]) -> bool:
        """Whether any file that was read lies outside of paths."""
