"""Whether a server may start: its store, its keys, and its port."""

from collections.abc import Callable
from contextlib import closing

from assay.errors import AssayError, BadInput
from assay.server.connections import open_socket
from assay.server.settings import ServerSettings
from assay.stores import has_store, list_tenants, open_store, show_address, to_tenant_url
from assay.types import Document, Row

NO_KEY = "anybody can reach this address, and there is no key yet: `assay keys add NAME` makes one"


class ServerCheck(Row, frozen=True, kw_only=True):
    """One thing that a server needs."""

    what: str
    is_ok: bool
    says: str


class ServerCheckup(Document, frozen=True, kw_only=True, tag="server_check"):
    """`assay serve --check --json`."""

    address: str
    needs_key: bool
    checks: list[ServerCheck]


def check_server(settings: ServerSettings) -> ServerCheckup:
    """Look at all that a server needs, and change nothing but a store's version."""
    checks = [try_check("store", settings, check_store), try_check("keys", settings, check_keys)]
    checks.append(try_check("port", settings, check_port))
    return ServerCheckup(address=name_address(settings), needs_key=settings.needs_key, checks=checks)


def name_address(settings: ServerSettings) -> str:
    return f"http://{settings.host}:{settings.port}"


def try_check(what: str, settings: ServerSettings, check: Callable[[ServerSettings], str]) -> ServerCheck:
    try:
        return ServerCheck(what=what, is_ok=True, says=check(settings))
    except AssayError as error:
        return ServerCheck(what=what, is_ok=False, says=str(error))


def check_store(settings: ServerSettings) -> str:
    """That the store can be opened, or made."""
    if not has_store(settings.store):
        return f"{show_address(settings.store)} will be made"
    with closing(open_store(settings.store)) as store:
        store.keys.find_key("")
        return store.where


def check_keys(settings: ServerSettings) -> str:
    """That somebody has a key, where one is needed."""
    found = count_keys(settings.store)
    if settings.needs_key and not found:
        raise BadInput(NO_KEY)
    return f"{found} open something" if settings.needs_key else "none is needed on this machine"


def count_keys(url: str) -> int:
    """How many keys of all tenants were not revoked."""
    total = 0
    for tenant in list_tenants(url):
        if has_store(there := to_tenant_url(url, tenant)):
            with closing(open_store(there)) as store:
                total += sum(one.revoked_at is None for one in store.keys.list_keys())
    return total


def check_port(settings: ServerSettings) -> str:
    """That the port is free."""
    open_socket(settings).close()
    return f"{settings.port} is free"
