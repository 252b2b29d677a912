"""The part of a store that holds what other machines ship: sessions as they are told there, each once."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from assay.stores.contract.told import StreamName
from assay.types.shipping import MachineLine, ShippedLine


class Machine(Struct, frozen=True, kw_only=True):
    """From where sessions are shipped."""

    name: str
    person: str = ""
    key: str = ""
    """The id of the key that ships them; empty where none is needed."""
    shipped_at: str = ""


class ShippedRow(Struct, frozen=True, kw_only=True):
    """A session as it came."""

    agent: str
    id: str
    streams: tuple[str, ...] = ()
    began_at: str = ""
    ended_at: str = ""
    project: str = ""
    digest: str = ""
    has_words: bool = False
    is_forgotten: bool = False
    body: bytes = b""
    """All of it but its turns."""
    words: bytes = b""
    """Its turns; empty for none."""

    @property
    def name(self) -> StreamName:
        return self.agent, self.id


class ShippedPart(Struct, frozen=True, kw_only=True):
    """What one machine has of one month; its revision grows with every change of what is to be told of it."""

    machine: str
    month: str
    revision: int


class ShippedStore(Protocol):
    """Sessions that other machines ship."""

    def find_machine(self, name: str) -> Machine | None:
        """The machine of that name."""

    def list_machines(self) -> list[MachineLine]:
        """All machines, by name."""

    def save_sessions(self, machine: Machine, rows: Sequence[ShippedRow], withdrawn: Collection[StreamName]) -> int:
        """Put sessions in place of what they were before, and drop others; gives how many of these were there.

        A session whose words were deleted here stays marked so.
        """

    def drop_machine(self, name: str) -> int:
        """Drop all that a machine shipped; gives how many sessions that were."""

    def list_lines(self, machine: str, after: Sequence[str], limit: int) -> list[ShippedLine]:
        """What is there of a machine, by agent and id, from behind a place on."""

    def find_forgotten(self, machine: str, names: Iterable[StreamName]) -> set[StreamName]:
        """Those of a machine's sessions whose words were deleted here."""

    def list_parts(self) -> list[ShippedPart]:
        """All parts, those that are empty by now too."""

    def load_part(self, machine: str, month: str) -> list[ShippedRow]:
        """The sessions of a part that are to be told, without their turns.

        Left out is what stands in a conversation that was read here, or of which another machine knows more.
        """

    def load_words(self, name: StreamName) -> bytes:
        """The turns of a session that is to be told; empty for none."""

    def list_spoken(self, before: str) -> Iterator[tuple[str, ShippedRow]]:
        """Sessions with words that ended before a time, without their turns; each with its machine."""

    def find_relatives(self, names: Iterable[StreamName]) -> list[tuple[str, ShippedRow]]:
        """All sessions that stand in the conversations of these, those themselves included."""

    def replace_words(self, machine: str, rows: Sequence[ShippedRow]) -> None:
        """Put sessions without words in place of what they were, so that no byte of the words is left."""

    def find_sessions(self, ids: Iterable[str]) -> list[StreamName]:
        """Sessions of these ids."""

    def count_streams(self, since: str = "", until: str = "", project: str = "") -> int:
        """In how many conversations sessions stand; where some are selected, in how many theirs stand."""

    def has_sessions(self) -> bool:
        """Whether any machine shipped any."""
