"""The stores of tenants: each is opened by itself, and a request only ever gets that of its own tenant."""

import time
from threading import Lock

from assay.stores import Store, list_tenants, open_store, to_tenant_url

HOME = ""
"""Whoever needs no key: the store that the server was given."""
MOST_OPEN = 64
LISTED_S = 1.0
"""How long it is believed which tenants there are: whoever makes names up has nothing looked up for each."""


class TenantStores:
    """Open stores by their tenants; those that were not used for longest are closed when there are many."""

    def __init__(self, url: str, most: int = MOST_OPEN) -> None:
        self.url = url
        self.most = most
        self.lock = Lock()
        self.opened: dict[str, Store] = {}
        self.used_at: dict[str, float] = {}
        self.names: frozenset[str] = frozenset()
        self.listed_at = float("-inf")

    def find(self, tenant: str) -> Store | None:
        """The store of a tenant, if there is one: nobody makes a tenant by asking for it."""
        store = self.find_open(tenant)  # without the lock: opening another one may take long
        if store is None:
            with self.lock:
                store = self.find_open(tenant) or self.open(tenant)
        return store

    def find_open(self, tenant: str) -> Store | None:
        """The store of a tenant if it is open already: nobody waits for that."""
        store = self.opened.get(tenant)
        if store is not None:
            self.used_at[tenant] = time.monotonic()
        return store

    def open(self, tenant: str) -> Store | None:
        """Open the store of a tenant that is there, and close one that nobody used for long."""
        if tenant and not self.is_known(tenant):
            return None
        store = self.opened[tenant] = open_store(to_tenant_url(self.url, tenant) if tenant else self.url)
        self.used_at[tenant] = time.monotonic()
        while len(self.opened) > self.most:
            oldest = min(self.opened, key=lambda one: self.used_at.get(one, 0.0))
            self.opened.pop(oldest).close()
        return store

    def is_known(self, tenant: str) -> bool:
        """Whether a tenant has a store; they are listed anew at most every second."""
        if tenant not in self.names and time.monotonic() - self.listed_at > LISTED_S:
            self.names, self.listed_at = frozenset(list_tenants(self.url)), time.monotonic()
        return tenant in self.names

    def close(self) -> None:
        """Close all of them."""
        with self.lock:
            while self.opened:
                self.opened.popitem()[1].close()
