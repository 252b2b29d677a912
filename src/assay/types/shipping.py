"""What one machine sends to a server of what it has read: sessions as they are told there, each once."""

from msgspec import Raw

from assay.types.session import LedgerLine, Session
from assay.types.turns import Turn
from assay.types.value import Document, Row

SHIPPED_ROOT = "shipped:"
"""Stands for the folder in which the transcripts would lie of what other machines ship; they stay there."""
Age = tuple[float, bool, int]
"""Of some lines: days for which they were followed, whether they were removed then, and how many they are."""


class SentSession(Row, frozen=True, kw_only=True):
    """A session on its way: as its own machine tells it, without its turns unless words may be sent."""

    session: Session
    ledger: list[LedgerLine]
    ages: list[Age]
    """What became of its lines."""
    turns: list[Turn] | None = None
    """Redacted; `None` where no words go."""


class Shipment(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Some sessions of one machine, and some that it has no longer."""

    person: str = ""
    """Whose machine it is, by a name of their choice."""
    sessions: list[Raw] = []
    """`SentSession`s."""
    withdrawn: list[tuple[str, str]] = []
    """Agents and ids."""


class ShippedLine(Row, frozen=True, kw_only=True):
    """What a server has of a session: enough to know whether it is up to date."""

    agent: str
    id: str
    digest: str
    """Of the `SentSession`, as it was sent."""
    ended_at: str
    is_forgotten: bool
    """Its words were deleted here: they are not taken again."""


class ShippedPage(Document, frozen=True, kw_only=True, tag="shipped"):
    """What a server has of a machine: `GET /api/v1/machines/NAME/sessions`."""

    words: bool
    """Whether it takes words of this tenant."""
    sessions: list[ShippedLine]
    next: str | None
    """`after` of the next page; `None` on the last."""


class ShipmentReceipt(Document, frozen=True, kw_only=True, tag="shipment"):
    """What became of a shipment; all of it is on the disk."""

    stored: int
    withdrawn: int
    words_dropped: int
    """Sessions that came with words which this tenant does not take; all else of them is stored."""
    refused: dict[str, int]
    """Why sessions were not taken, and how many."""


class MachineLine(Row, frozen=True, kw_only=True):
    """A machine that shipped sessions."""

    name: str
    person: str
    sessions: int
    shipped_at: str


class MachinesView(Document, frozen=True, kw_only=True, tag="machines"):
    """Machines that shipped sessions: `GET /api/v1/machines`."""

    machines: list[MachineLine]
