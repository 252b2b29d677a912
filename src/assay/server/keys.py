"""Keys: random, named after their tenant, shown once; a store has only their hashes.

A key holds 256 random bits, so that nobody can guess it from its hash however fast that is: sha256 without salt does,
and is the same that `keys` of a tenant in `assay.toml` names. Slow hashes are for what people can remember.
"""

import re
import secrets
from datetime import UTC, datetime
from hashlib import sha256

from assay.errors import BadInput
from assay.reports.format import format_line
from assay.stores import Store
from assay.types import AccessKey, Deed, Scope
from assay.types.access import NewKey

TOKEN = re.compile(r"assay-key\.([a-z0-9][a-z0-9_-]{0,39})\.[A-Za-z0-9_-]{43}", re.ASCII)
ID_LENGTH = 12
LONGEST_NAME = 60


def make_key(store: Store, tenant: str, name: str, scope: Scope, who: str) -> NewKey:
    """Make a key to a tenant's store; this is the only time that anybody sees it."""
    said = " ".join(name.encode("utf-8", "replace").decode().split())
    if not said or len(said) > LONGEST_NAME:
        raise BadInput(f"give the key a name of 1 to {LONGEST_NAME} characters, such as the machine that will use it")
    token = f"assay-key.{tenant}.{secrets.token_urlsafe(32)}"
    hashed, at = hash_token(token), format_now()
    key = AccessKey(id=hashed[:ID_LENGTH], name=said, scope=scope, made_at=at)
    store.keys.save_key(key, hashed, Deed(at=at, who=who, kind="key_made", about=key.id))
    return NewKey(tenant=tenant, token=token, sha256=hashed, key=key)


def revoke_key(store: Store, id: str, who: str) -> None:
    """Let a key open nothing any more."""
    if not store.keys.revoke_key(id, Deed(at=format_now(), who=who, kind="key_revoked", about=id)):
        raise BadInput(
            f"there is no key {format_line(id, 20)} that still opens something; `assay keys list` lists them"
        )


def read_tenant(token: str) -> str | None:
    """The tenant that a key says it is of; `None` for what can't be a key."""
    found = TOKEN.fullmatch(token)
    return found[1] if found else None


def hash_token(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def format_now() -> str:
    """The time, as the audit log has it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
