"""The application: every route, behind the guard."""

import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from litestar import Litestar, Request, Response
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from assay import __version__
from assay.errors import AssayError, BadInput, StoreError
from assay.server.api import (
    conversations,
    evaluations,
    events,
    health,
    keys,
    machines,
    marks,
    reports,
    sources,
    telemetry,
)
from assay.server.api.answers import find_visitor
from assay.server.guard import App, Guard, RequestLine
from assay.server.hall import Hall
from assay.server.pages import (
    advise,
    audit,
    compare,
    deeds,
    entrance,
    judges,
    live,
    overview,
    privacy,
    quality,
    rework,
    session,
    sessions,
    team,
)
from assay.server.pages import evaluations as evaluation_pages
from assay.server.pages.refusals import PAGE_HEADERS, build_page_refusal, wants_page
from assay.server.replies import JSON, Refusal, build_error, build_refusal, read_kind
from assay.server.settings import ServerSettings

AnyRequest = Request[Any, Any, Any]
API = (telemetry, health, reports, conversations, marks, keys, evaluations, events, sources, machines)
PAGES = (
    entrance,
    overview,
    sessions,
    session,
    deeds,
    live,
    audit,
    advise,
    quality,
    rework,
    compare,
    evaluation_pages,
    team,
    judges,
    privacy,
)
HANDLERS = [one for module in (*API, *PAGES) for one in module.HANDLERS]


class Server:
    """An application with its parts, to be served by uvicorn or asked by a test."""

    def __init__(
        self,
        settings: ServerSettings,
        tell: Callable[[RequestLine], None] = lambda _: None,
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.hall = Hall(settings, report)
        self.litestar = build_litestar(self.hall)
        self.guard = Guard(cast(App, self.litestar), self.hall, tell)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.guard(scope, receive, send)


def build_litestar(hall: Hall) -> Litestar:
    """Every route of a server."""
    return Litestar(
        route_handlers=[*HANDLERS],
        dependencies={
            "hall": Provide(lambda: hall, sync_to_thread=False),
            "visitor": Provide(find_visitor, sync_to_thread=False),
            **reports.DEPENDENCIES,
        },
        exception_handlers={
            Refusal: answer_refusal,
            StoreError: partial(answer_outage, hall),
            BadInput: answer_bad_input,
            AssayError: partial(answer_outage, hall),
            RecursionError: answer_depth,
            HTTPException: partial(answer_http, hall),
            Exception: partial(answer_bug, hall),
        },
        openapi_config=OpenAPIConfig(
            title="Assay",
            version=__version__,
            path="/api/v1/openapi",
            render_plugins=[JsonRenderPlugin()],
            use_handler_docstrings=True,
            components=Components(security_schemes={"key": SecurityScheme(type="http", scheme="bearer")}),
            security=[{"key": []}, {}],
        ),
        request_max_body_size=hall.settings.limits.json_bytes,
        lifespan=[hall.live],
        logging_config=None,
        debug=False,
    )


def answer(request: AnyRequest, status: int, why: str, headers: dict[str, str] | None = None) -> Response[bytes]:
    """That a request is not served: as a page where one was wanted."""
    path = request.scope["path"]
    if wants_page(path, request.headers):
        shown = build_page_refusal(Refusal(status, why), path)
        told = (headers or {}) | PAGE_HEADERS
        return Response(shown.body, status_code=status, media_type=shown.media_type, headers=told)
    return Response(build_error(status, why), status_code=status, media_type=JSON, headers=headers)


def answer_refusal(request: AnyRequest, refusal: Refusal) -> Response[bytes]:
    if wants_page(request.scope["path"], request.headers):
        return answer(request, refusal.status, refusal.why, dict(refusal.headers))
    reply = build_refusal(refusal, request.scope["path"], read_kind(request.headers.get("content-type", "")))
    return Response(reply.body, status_code=reply.status, media_type=reply.media_type, headers=dict(refusal.headers))


def answer_outage(hall: Hall, request: AnyRequest, error: AssayError) -> Response[bytes]:
    """What a store says can name places: it goes to the log of the server, not to whoever asks."""
    hall.report(str(error))
    return answer(request, 503, "the store can't be reached at the moment; try again", {"retry-after": "5"})


def answer_bad_input(request: AnyRequest, error: BadInput) -> Response[bytes]:
    return answer(request, 400, str(error).partition("\n")[0])


def answer_bug(hall: Hall, request: AnyRequest, error: Exception) -> Response[bytes]:
    """A bug of ours: its traceback goes to the log, redacted, and whoever asks learns nothing of it."""
    hall.report("".join(traceback.format_exception(error)))
    return answer(request, 500, "something is wrong with the server; its log says what")


def answer_depth(request: AnyRequest, _: RecursionError) -> Response[bytes]:
    return answer(request, 400, "the request is nested too deeply")


def answer_http(hall: Hall, request: AnyRequest, error: HTTPException) -> Response[bytes]:
    """What the framework refuses: no such route or method, a value of the wrong kind."""
    if error.status_code >= 500:
        return answer_bug(hall, request, error)
    headers = {"allow": error.headers["allow"]} if error.headers and "allow" in error.headers else None
    return answer(request, error.status_code, explain_http(error), headers)


def explain_http(error: HTTPException) -> str:
    """What is wrong with a request, without any of its own words."""
    if error.status_code == 404:
        return "there is nothing at this address; /api/v1/openapi lists what there is"
    if error.status_code == 405:
        return "this address is asked in another way"
    extra = error.extra if isinstance(error.extra, list) else []
    named = [str(one.get("key")) for one in extra if isinstance(one, dict) and one.get("key")]
    return f"check {', '.join(named)}" if named else "the request can't be understood"
