"""Who comes in: by which name they call the server, from which page, with which key, and what that opens."""

import asyncio
import math
import re
import time
from collections import OrderedDict
from collections.abc import Mapping
from ipaddress import ip_address
from typing import TypeVar
from urllib.parse import urlsplit

from msgspec import Struct

from assay.server.keys import format_now, hash_token, read_tenant
from assay.server.limits import RateLimit
from assay.server.replies import Refusal
from assay.server.settings import ServerSettings, is_loopback
from assay.server.tenants import HOME, TenantStores
from assay.stores import Store
from assay.types import AccessKey, Scope

T = TypeVar("T")
OPENS: dict[Scope, frozenset[Scope]] = {
    "ingest": frozenset({"ingest"}),
    "read": frozenset({"read"}),
    "admin": frozenset({"read", "admin"}),
}
FORWARDED = frozenset({"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"})
"""What a proxy adds: then whoever asks is somewhere else, though the connection comes from this machine."""
HOST = re.compile(r"(\[[0-9a-fA-F:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::\d{1,5})?", re.ASCII)
KNOWN_S = 2.0
"""How long a key is taken for what the store said of it: that is how soon a revoked one opens nothing."""
MOST_KNOWN = 1_000
USES_S = 30.0
COOKIE = "assay-key"
"""What holds the key of whoever logged in to pages."""
WANTED = "this needs a key: send `Authorization: Bearer KEY`; `assay keys add` makes one"


class Visitor(Struct, frozen=True, kw_only=True):
    """Whoever sent a request."""

    tenant: str
    """Whose store they get; empty for the one that the server was given."""
    address: str
    key: str = ""
    """The id of their key; empty for those who need none."""
    hashed: str = ""
    """The sha256 of their key."""
    scope: Scope | None = None
    """What it opens; `None`: all."""

    def may(self, scope: Scope) -> bool:
        return self.scope is None or scope in OPENS[self.scope]

    @property
    def name(self) -> str:
        """Who they are, for the audit log and for limits."""
        return f"key {self.key}" if self.key else f"address {self.address}"


class Access:
    """Lets visitors in by their keys, and notes when each key was last used."""

    def __init__(self, settings: ServerSettings, stores: TenantStores) -> None:
        self.settings = settings
        self.stores = stores
        self.known: OrderedDict[str, tuple[float, AccessKey | None]] = OrderedDict()
        self.good: OrderedDict[str, None] = OrderedDict()
        """Keys that opened something: a flood of others is not in their way."""
        self.failures = RateLimit(settings.limits.failure_rate, settings.limits.failure_burst)
        """Of each address: keys that open nothing."""
        self.strangers = RateLimit(settings.limits.stranger_rate, settings.limits.stranger_burst)
        self.used: dict[tuple[str, str], str] = {}
        self.saved_at = time.monotonic()

    async def admit(self, headers: Mapping[str, str], address: str) -> Visitor:
        """Who sent a request with these headers; refused where a key is needed and none, or a wrong one, came."""
        given = headers.get("authorization", "")
        if not given:
            if self.settings.needs_key or not is_loopback(address) or not FORWARDED.isdisjoint(headers):
                raise Refusal(401, WANTED)
            return Visitor(tenant=HOME, address=address)
        kind, _, token = given.partition(" ")
        return await self.open_with(token.strip() if kind.lower() == "bearer" else "", address)

    async def open_with(self, token: str, address: str) -> Visitor:
        """Who comes in with a key; refused where it opens nothing."""
        tenant = read_tenant(token)
        if tenant is None:
            raise Refusal(401, WANTED)
        hashed = hash_token(token)
        key = await self.find_key(tenant, hashed)
        if key is None or key.revoked_at is not None:
            raise Refusal(401, "this key opens nothing; `assay keys add` makes another")
        self.used[tenant, key.id] = format_now()
        return Visitor(tenant=tenant, address=address, key=key.id, hashed=hashed, scope=key.scope)

    async def find_key(self, tenant: str, hashed: str) -> AccessKey | None:
        """What the tenant's store says of a key, or said a moment ago."""
        until, key = self.known.get(hashed, (0.0, None))
        if until > time.monotonic():
            return key
        if hashed not in self.good and (wait_s := self.strangers.take("all")):
            raise Refusal(429, "too many unknown keys at once; try again", retry_s=math.ceil(wait_s))
        key = await asyncio.to_thread(self.look_up, tenant, hashed)
        if key is not None and key.revoked_at is None:
            remember(self.good, hashed, None)
        remember(self.known, hashed, (time.monotonic() + KNOWN_S, key))
        return key

    async def still_opens(self, visitor: Visitor) -> bool:
        """Whether the key that let a visitor in would do so again."""
        key = await self.find_key(visitor.tenant, visitor.hashed)
        return key is not None and key.revoked_at is None

    def look_up(self, tenant: str, hashed: str) -> AccessKey | None:
        store = self.stores.find(tenant)
        return store.keys.find_key(hashed) if store else None

    def forget(self) -> None:
        """Ask the stores anew: a key was just revoked here."""
        self.known.clear()

    def take_uses(self, now: float | None = None) -> dict[str, dict[str, str]]:
        """When keys were last used, by tenant, if it is time to save it."""
        at = time.monotonic() if now is None else now
        if not self.used or at - self.saved_at < USES_S:
            return {}
        self.saved_at, used, self.used = at, self.used, {}
        found: dict[str, dict[str, str]] = {}
        for (tenant, key), when in used.items():
            found.setdefault(tenant, {})[key] = when
        return found

    def save_uses(self, uses: Mapping[str, Mapping[str, str]]) -> None:
        for tenant, used in uses.items():
            store: Store | None = self.stores.find(tenant)
            if store:
                store.keys.save_uses(used)


def remember(known: OrderedDict[str, T], name: str, value: T) -> None:
    """Keep a value, and of many only those that were kept last."""
    known[name] = value
    known.move_to_end(name)
    while len(known) > MOST_KNOWN:
        known.popitem(last=False)


# --- by which name, and from which page ---------------------------------------------------------


def check_host(given: str, settings: ServerSettings) -> None:
    """Refuse a name that is not the server's: a page of somebody's can have its own name lead to this machine."""
    found = HOST.fullmatch(given)
    name = found[1].lower().rstrip(".") if found else ""
    if not name or not is_own_name(name, settings):
        raise Refusal(403, "the server is not called so; `assay serve --allow-host NAME` lets it be")


def is_own_name(name: str, settings: ServerSettings) -> bool:
    if is_loopback(name) or name in (settings.host.lower(), *(one.lower() for one in settings.hosts)):
        return True
    return not is_loopback(settings.host) and is_address(name)


def is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def check_origin(headers: Mapping[str, str], *, may_follow: bool = False) -> None:
    """Refuse what another site's page sends, whatever it asks for; `may_follow`: unless somebody follows its link."""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    is_followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    if site not in ("none", "same-origin") and not (may_follow and is_followed):
        raise Refusal(403, "pages of other sites may not ask this server")
    if origin is not None and urlsplit_or_none(origin) != headers.get("host", "").lower():
        raise Refusal(403, "pages of other sites may not ask this server")


def read_cookie(headers: Mapping[str, str]) -> str:
    """The key of whoever logged in; empty for nobody."""
    pairs = (one.strip().partition("=") for one in headers.get("cookie", "").split(";"))
    return next((value for name, _, value in pairs if name == COOKIE), "")


def urlsplit_or_none(origin: str) -> str | None:
    """The host and port of an origin."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None
