"""The part of a store by which workers know what to leave for later, and what they saw sealed."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from msgspec import Struct

from assay.stores.contract.told import StreamName
from assay.types import StreamSummary


class Wait(Struct, frozen=True, kw_only=True):
    """Why a stream that is not done is not looked at just now."""

    agent: str
    stream: str
    state: str
    """Which state of the stream this is about: one that has changed since waits for nothing."""
    noted_at: float
    due_at: float
    tries: int = 0
    """How often somebody began with it and did not come to an end."""
    why: str = ""

    @property
    def name(self) -> StreamName:
        return self.agent, self.stream


class KeptSeal(Struct, frozen=True, kw_only=True):
    """What was last seen of how a session was sealed."""

    agent: str
    id: str
    signal: str
    """Empty while it is open."""
    at: str
    ended_at: str
    """When it had last been active by then."""
    opened: int = 0
    """How often it went on after it was sealed."""

    @property
    def name(self) -> StreamName:
        return self.agent, self.id


class WorkStore(Protocol):
    """What is left for later; what there is to do at all is seen from all the other parts."""

    def hold(self, part: str) -> AbstractContextManager[bool]:
        """Be the only one who works on a part of the store; `False` where somebody else does.

        Whoever is killed holds nothing any more.
        """

    def load_waits(self) -> dict[StreamName, Wait]:
        """All that waits, by stream."""

    def save_waits(self, waits: Sequence[Wait]) -> None:
        """Save waits in place of those of the same streams."""

    def drop_waits(self, names: Iterable[StreamName]) -> None:
        """Have these streams wait for nothing."""

    def load_seals(self, names: Iterable[StreamName]) -> dict[StreamName, KeptSeal]:
        """What was last seen of these sessions, by name."""

    def save_seals(self, seals: Sequence[KeptSeal]) -> None:
        """Save seals in place of what was seen of the same sessions before."""

    def count_opened(self) -> int:
        """How many sessions went on after they were sealed."""

    def list_recent(self, since: str, most: int) -> list[StreamSummary]:
        """Streams that were active since a time, those of the last activity first; each conversation once."""

    def count_unread(self, version: str) -> int:
        """How many conversations are to be read anew."""

    def sum_costs(self, since: str) -> float:
        """What calls to models cost since a time, as far as their price is known."""

    def reserve_cost(self, id: str, usd: float, limit: float, since: str, at: str) -> bool:
        """Set aside what a call may cost, in place of what was under this id; `False` where the limit does not reach.

        What calls since a time did cost and what others set aside since counts; older reservations are dropped.
        """

    def settle_cost(self, id: str, usd: float) -> None:
        """Have what was set aside be what it cost, until that is kept with the call."""

    def release_costs(self, ids: Iterable[str]) -> None:
        """Set nothing aside any more: what it cost is kept with the calls."""
