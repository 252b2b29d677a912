"""The parts of a store that a server fills while others work: keys to come in with, and what agents send."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from assay.types import AccessKey, Deed, LiveConversation, TelemetryRecord


class KeyStore(Protocol):
    """Keys with which others come in, by their hashes, and the audit log, which is only ever added to."""

    def save_key(self, key: AccessKey, hashed: str, deed: Deed) -> None:
        """Add a key and the line that says so; refused where there is one with this hash."""

    def find_key(self, hashed: str) -> AccessKey | None:
        """The key with this hash, revoked or not."""

    def list_keys(self) -> list[AccessKey]:
        """All keys, the oldest first, those that were revoked too."""

    def revoke_key(self, id: str, deed: Deed) -> bool:
        """Let a key open nothing from now on, and note it; `False` where there is none that still opens something."""

    def save_uses(self, used: Mapping[str, str]) -> None:
        """Note when keys were last used, by their ids."""

    def load_secret(self) -> bytes:
        """A random value of this store alone, made when it is first asked for; other stores' seals don't fit it."""

    def save_deed(self, deed: Deed) -> None:
        """Add a line to the audit log."""

    def list_deeds(self, most: int = 1_000) -> list[Deed]:
        """The last lines of the audit log, in their order."""


class TelemetryStore(Protocol):
    """What agents sent while they worked: each record once, however often and in whichever order it comes."""

    def save_records(self, records: Sequence[TelemetryRecord]) -> int:
        """Save records, all or none, and give how many of them were new; their conversations are to be read anew."""

    def list_unread(self, version: str) -> list[LiveConversation]:
        """Conversations of which something came in since they were read, or that another version read; by name.

        Records without a conversation of their own are given to the one that others of their trace name first; a
        conversation that is left without records is listed too.
        """

    def mark_read(self, conversation: LiveConversation, version: str) -> None:
        """Note that a conversation was read, unless something came in since it was listed."""

    def list_conversations(self) -> list[LiveConversation]:
        """All conversations, by name."""

    def load_records(self, agent: str, conversation: str) -> list[TelemetryRecord]:
        """The records of a conversation, by time."""

    def replace_records(self, records: Iterable[TelemetryRecord]) -> None:
        """Save other words, or none, under the ids of records that are there, so that no byte of the old is left."""
