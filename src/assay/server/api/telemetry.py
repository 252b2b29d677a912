"""`/v1/logs`, `/v1/metrics` and `/v1/traces`: OTLP, as its exporters send it."""

from typing import Any, cast

from litestar import Request, Response, post
from litestar.di import NamedDependency
from litestar.handlers import HTTPRouteHandler

from assay.server.access import Visitor
from assay.server.guard import VISITOR, read_headers
from assay.server.hall import Hall
from assay.types.telemetry import Signal

AnyRequest = Request[Any, Any, Any]


def build_handler(signal: Signal) -> HTTPRouteHandler:
    """The handler of one signal."""

    @post(f"/v1/{signal}", name=signal, status_code=200, include_in_schema=False, request_max_body_size=None)
    async def receive(request: AnyRequest, hall: NamedDependency[Hall]) -> Response[bytes]:
        visitor = cast(Visitor, request.scope[VISITOR])  # type: ignore[literal-required]
        headers = read_headers(cast(Any, request.scope))
        reply = await hall.receiver.receive(signal, visitor, headers, request.stream())
        return Response(reply.body, status_code=reply.status, media_type=reply.media_type)

    return receive


HANDLERS = [build_handler("logs"), build_handler("metrics"), build_handler("traces")]
