"""`/api/v1/keys` and `/api/v1/log`: the keys of a tenant, and what was done with them."""

from typing import Annotated, Any

from litestar import Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from assay.server import keys
from assay.server.access import Visitor
from assay.server.api.answers import ERRORS, READS, TAGGED, AnyRequest, answer, answer_change
from assay.server.hall import Hall
from assay.server.replies import Refusal
from assay.server.threads import run_in_thread
from assay.types import Deed, Scope
from assay.types.access import AuditLog, Keyring, NewKey, TenantKeys


class KeyRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key that somebody wants."""

    name: Annotated[str, Meta(min_length=1, max_length=60)]
    scope: Scope = "ingest"


@get("/api/v1/keys", responses=READS, response_headers=TAGGED)
@run_in_thread
def list_keys(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Keyring]:
    """List the tenant's keys, those that were revoked too."""
    store = hall.open_store(visitor)
    found = TenantKeys(tenant=hall.name_tenant(visitor), keys=store.keys.list_keys())
    return answer(request, store, Keyring(tenants=[found]))


@post("/api/v1/keys", status_code=201, responses=ERRORS)
@run_in_thread
def add_key(
    data: JSONBody[KeyRequest], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]
) -> Response[NewKey]:
    """Make a key to the same tenant; it is shown this once."""
    store = hall.open_store(visitor)
    return answer_change(keys.make_key(store, hall.name_tenant(visitor), data.name, data.scope, visitor.name), 201)


@delete("/api/v1/keys/{key:str}", status_code=200, responses=ERRORS)
@run_in_thread
def revoke_key(key: FromPath[str], hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[Keyring]:
    """Let a key open nothing any more."""
    store = hall.open_store(visitor)
    deed = Deed(at=keys.format_now(), who=visitor.name, kind="key_revoked", about=key[:64])
    if not store.keys.revoke_key(key, deed):
        raise Refusal(404, "there is no such key that still opens something")
    hall.access.forget()
    found = TenantKeys(tenant=hall.name_tenant(visitor), keys=store.keys.list_keys())
    return answer_change(Keyring(tenants=[found]))


@get("/api/v1/log", responses=READS, response_headers=TAGGED)
@run_in_thread
def tell_log(request: AnyRequest, hall: NamedDependency[Hall], visitor: NamedDependency[Visitor]) -> Response[AuditLog]:
    """Tell the last lines of the tenant's audit log."""
    store = hall.open_store(visitor)
    return answer(request, store, AuditLog(tenant=hall.name_tenant(visitor), deeds=store.keys.list_deeds()))


HANDLERS: list[Any] = [list_keys, add_key, revoke_key, tell_log]
