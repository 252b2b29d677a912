"""What became of sessions' lines, as far as it was looked for."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from assay.stores.contract.told import StreamName


class Fate(Struct, frozen=True, kw_only=True):
    """What is known of the lines of one session."""

    agent: str
    id: str
    input: str = ""
    """Hash of its lines, of the repository and of the rules."""
    seen: str = ""
    """What of the repository was looked at, and on which day."""
    final_at: int | None = None
    """From this time on, in seconds, it can't turn any more."""
    found: bytes = b""
    is_told: bool = False
    """The last report said that it crushed."""

    @property
    def name(self) -> StreamName:
        return self.agent, self.id


class ReworkStore(Protocol):
    """What became of sessions' lines, as far as it was looked for, and what people were last told of it."""

    def load_fates(self, names: Iterable[StreamName]) -> dict[StreamName, Fate]:
        """What is stored of these sessions, by name."""

    def save_fates(self, fates: Sequence[Fate]) -> None:
        """Save fates in place of what was stored of the same sessions."""
