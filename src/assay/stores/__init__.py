"""Stores keep what was read and judged, and what models and people said of it.

A store is a module or package here (or an entry point `assay.stores`) with `SCHEMES`, `open_store(url)` and
`has_store(url)`. All of them pass the same tests (`tests/stores/test_contract_*.py`).

- `contract`: what a store can do, and the records that go in and come out; addresses as they may be shown
- `sql/`: the store in a SQLite file, or in PostgreSQL

Everybody else imports this package alone: `open_store` finds the store that a URL names, and only then imports it.
Takes and gives `assay.types` values, the records of `contract`, and answers of `llm`; imports types, errors, plugins,
`llm` and `sessions`. Stores do not know each other.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast
from urllib.parse import parse_qsl, urlsplit

from platformdirs import user_data_path

from assay.errors import BadInput
from assay.plugins import list_names, load_module
from assay.stores.contract import (
    UPLOADED,
    AnswerStore,
    CorrectionStore,
    CutStream,
    FileTally,
    JoinedSession,
    QuestionBatch,
    RemoteProject,
    SessionStore,
    SettledStream,
    Store,
    StoredSegment,
    StoreModule,
    StreamFiles,
    StreamPieces,
    TableRows,
    TranscriptStore,
    WrittenRow,
    WrittenStore,
    WrittenTally,
)
from assay.stores.contract.addresses import FILE_URL, show_address
from assay.stores.contract.fates import Fate, ReworkStore
from assay.stores.contract.live import KeyStore, TelemetryStore
from assay.stores.contract.promotions import PromotionStore
from assay.stores.contract.shipped import Machine, ShippedPart, ShippedRow, ShippedStore
from assay.stores.contract.told import (
    CommitDeed,
    CountedStream,
    KeptNeighbourhood,
    Neighbourhood,
    StreamName,
    StreamPlace,
    ToldChoice,
    ToldLine,
    ToldNeighbourhood,
    ToldRow,
    ToldStore,
)
from assay.stores.contract.work import KeptSeal, Wait, WorkStore

__all__ = [
    "FILE_URL",
    "UPLOADED",
    "AnswerStore",
    "CommitDeed",
    "CorrectionStore",
    "CountedStream",
    "CutStream",
    "Fate",
    "FileTally",
    "JoinedSession",
    "KeptNeighbourhood",
    "KeptSeal",
    "KeyStore",
    "Machine",
    "Neighbourhood",
    "PromotionStore",
    "QuestionBatch",
    "RemoteProject",
    "ReworkStore",
    "SessionStore",
    "SettledStream",
    "ShippedPart",
    "ShippedRow",
    "ShippedStore",
    "Store",
    "StoreModule",
    "StoredSegment",
    "StreamFiles",
    "StreamName",
    "StreamPieces",
    "StreamPlace",
    "TableRows",
    "TelemetryStore",
    "ToldChoice",
    "ToldLine",
    "ToldNeighbourhood",
    "ToldRow",
    "ToldStore",
    "TranscriptStore",
    "Wait",
    "WorkStore",
    "WrittenRow",
    "WrittenStore",
    "WrittenTally",
    "find_queue_address",
    "find_tenant",
    "has_store",
    "list_schemes",
    "list_tenants",
    "open_existing_store",
    "open_store",
    "pick_store_url",
    "show_address",
    "to_tenant_url",
]


OWN: Final = "own"
"""The tenant of a store that nobody shares."""


def open_store(url: str) -> Store:
    """Open the store at a URL, made or brought up to date where needed."""
    return find_store_module(url).open_store(url)


def open_existing_store(url: str) -> Store:
    """Open the store at a URL if there is one."""
    if not has_store(url):
        raise BadInput(f"there is no store at {show_address(url)} yet; run `assay score` first")
    return open_store(url)


def has_store(url: str) -> bool:
    """Whether there is a store at a URL; looking makes none."""
    return find_store_module(url).has_store(url)


def find_store_module(url: str) -> StoreModule:
    """The module that serves URLs of this scheme."""
    scheme = url.partition("://")[0]
    for module in list_store_modules():
        if scheme in module.SCHEMES:
            return module
    raise BadInput(f"no store for {scheme}://; there are: {', '.join(list_schemes())}")


def list_store_modules() -> list[StoreModule]:
    modules = [load_module("stores", name) for name in list_names("stores")]
    return [cast(StoreModule, module) for module in modules if hasattr(module, "SCHEMES")]


def list_schemes() -> list[str]:
    return sorted(scheme for module in list_store_modules() for scheme in module.SCHEMES)


def pick_store_url(given: str | None, env: Mapping[str, str]) -> str:
    """The URL of the store to use: of a path or URL that was given (`Config.store` too), else of the user's own."""
    chosen = given or env.get("ASSAY_STORE") or str(user_data_path("assay") / "assay.db")
    if chosen.startswith(FILE_URL):
        chosen = chosen.removeprefix(FILE_URL)
    elif "://" in chosen:
        if chosen.partition("://")[0] in list_schemes():
            return chosen
        known = " or ".join(f"{scheme}:///" for scheme in list_schemes())
        scheme, _, address = chosen.partition("://")
        address = address.rpartition("@")[2].partition("?")[0]  # what is cut off may hold a password
        raise BadInput(f"--store {scheme}://{address}: only a file path or {known} is known to this version")
    try:
        path = Path(chosen).expanduser()
    except RuntimeError as error:
        raise BadInput(f"--store {chosen}: {error}") from None
    if path.is_dir():
        raise BadInput(f"--store {chosen}: is a folder; give the path of a file in it, such as {path / 'assay.db'}")
    return f"{FILE_URL}{os.path.abspath(path)}"


def to_tenant_url(url: str, tenant: str) -> str:
    """The URL of a tenant's own store: what one tenant keeps lies nowhere in another's."""
    module = find_store_module(url)
    if not hasattr(module, "to_tenant_url"):
        raise BadInput(f"{show_address(url)}: such a store keeps no tenants apart; use SQLite or PostgreSQL")
    return str(module.to_tenant_url(url, tenant))


def find_queue_address(url: str) -> str | None:
    """The address of the database in which the work on stores is handed out; `None` where one process does it all."""
    module = find_store_module(url)
    found: str | None = module.find_queue_address(url) if hasattr(module, "find_queue_address") else None
    return found


def list_tenants(url: str) -> list[str]:
    """Names of the tenants that have a store beside the one at a URL, or are it."""
    module = find_store_module(url)
    return list(module.list_tenants(url)) if hasattr(module, "list_tenants") else []


def find_tenant(url: str) -> str:
    """The tenant whose store a URL names."""
    asked = parse_qsl(urlsplit(url).query) if "://" in url and not url.startswith(FILE_URL) else []
    return next((value for name, value in asked if name == "tenant"), OWN)
