"""Who may come in to a server, and what was done there."""

from typing import Literal

from assay.types.value import Document, Row

Scope = Literal["ingest", "read", "admin"]
"""What a key opens: sending telemetry; reading; reading, marking, deleting and making keys."""
DeedKind = Literal[
    "key_made", "key_revoked", "words_deleted", "session_marked", "session_corrected", "audit_answered",
    "machine_dropped",
]  # fmt: skip


class AccessKey(Row, frozen=True, kw_only=True):
    """A key as it may be shown: all but the key itself, of which only a hash is kept."""

    id: str
    """How its hash begins."""
    name: str
    """What people call it."""
    scope: Scope
    made_at: str
    used_at: str | None = None
    """When it last opened something, to about a minute."""
    revoked_at: str | None = None


class Deed(Row, frozen=True, kw_only=True):
    """A line of the audit log: what was done, when, and who did it."""

    at: str
    who: str
    """A person on the machine, a key by its id, or a rule such as retention."""
    kind: DeedKind
    about: str
    """The id of a key, session or stream, or what else it was done to."""
    count: int = 1
    """To how many."""


class NewKey(Document, frozen=True, kw_only=True, tag="key"):
    """A key that was just made."""

    tenant: str
    token: str
    """The key itself: it is kept nowhere, and shown this once."""
    sha256: str
    """Its hash, as `keys` of a tenant in `assay.toml` has it."""
    key: AccessKey


class TenantKeys(Row, frozen=True, kw_only=True):
    """The keys of one tenant."""

    tenant: str
    keys: list[AccessKey]


class Keyring(Document, frozen=True, kw_only=True, tag="keys"):
    """The keys of some tenants."""

    tenants: list[TenantKeys]


class AuditLog(Document, frozen=True, kw_only=True, tag="audit_log"):
    """What was done in a tenant's store, oldest first."""

    tenant: str
    deeds: list[Deed]
