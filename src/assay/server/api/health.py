"""`/healthz`, `/readyz` and `/metrics`: for whoever watches over the server."""

import asyncio

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec

from assay.errors import AssayError
from assay.server.hall import Hall
from assay.server.tenants import HOME
from assay.types import Document


class HealthView(Document, frozen=True, kw_only=True, tag="health"):
    """Whether a server is alive, or ready to serve."""

    status: str
    """`ok`, `leaving` or `not ready`."""


@get("/healthz", sync_to_thread=False)
def tell_alive() -> HealthView:
    """Tell that the server runs."""
    return HealthView(status="ok")


@get("/readyz", responses={503: ResponseSpec(HealthView, description="It would not.")})
async def tell_ready(hall: NamedDependency[Hall]) -> Response[HealthView]:
    """Tell whether requests would be served now: the store answers, and not too much waits for it."""
    status = "leaving" if hall.leaving.is_set() else "ok" if await asyncio.to_thread(is_ready, hall) else "not ready"
    return Response(HealthView(status=status), status_code=200 if status == "ok" else 503)


def is_ready(hall: NamedDependency[Hall]) -> bool:
    limits = hall.settings.limits
    if hall.receiver.writer.count_waiting() >= limits.waiting_records:
        return False
    try:
        store = hall.stores.find(HOME)
        return store is not None and store.keys.find_key("") is None
    except AssayError:
        return False


@get("/metrics", sync_to_thread=False, include_in_schema=False)
def tell_figures(hall: NamedDependency[Hall]) -> Response[bytes]:
    """Tell what the server counts of itself."""
    return Response(hall.figures.render().encode(), media_type="text/plain; version=0.0.4")


HANDLERS = [tell_alive, tell_ready, tell_figures]
