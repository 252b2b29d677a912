"""`/login`, `/logout` and `/assets`: the way in and out, style and script."""

import math
from typing import Annotated, Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, QueryParameter, URLEncodedBody
from msgspec import Struct

from assay.server.access import COOKIE
from assay.server.api.answers import AnyRequest
from assay.server.hall import Hall
from assay.server.pages.answers import go_to, is_own_address
from assay.server.pages.refusals import PAGE_HEADERS, show_bare
from assay.server.replies import Refusal
from assay.web.assets import load_assets
from assay.web.html import HTML
from assay.web.pages.entrance import render_login

FOR_GOOD = "public, max-age=31536000, immutable"
LONGEST = 30 * 86_400
"""Seconds that a browser stays logged in; a key that is revoked opens nothing from that moment on."""


class Entry(Struct, frozen=True, kw_only=True):
    """What somebody typed to come in."""

    key: str = ""
    next: str = "/"


@get("/login", include_in_schema=False)
async def ask_for_key(
    next: Annotated[str, QueryParameter(max_length=2_000)] = "/",
) -> Response[bytes]:
    """Ask for a key."""
    return Response(show_bare(render_login(next)), media_type=HTML, headers=PAGE_HEADERS)


@post("/login", include_in_schema=False)
async def log_in(
    request: AnyRequest,
    data: URLEncodedBody[Entry],
    hall: NamedDependency[Hall],
) -> Response[Any]:
    """Let whoever has a key in: their browser keeps it where no script can read it."""
    address = str((request.scope.get("client") or ("unknown",))[0])
    try:
        visitor = await hall.access.open_with(data.key.strip(), address)
        if not visitor.may("read"):
            raise Refusal(403, "this key may only send telemetry; it takes one with the scope read or admin")
    except Refusal as refusal:
        if wait_s := hall.access.failures.take(address):
            raise Refusal(429, "too many requests; try again", retry_s=max(1, math.ceil(wait_s))) from None
        shown = show_bare(render_login(data.next, refusal.why))
        return Response(shown, status_code=refusal.status, media_type=HTML, headers=PAGE_HEADERS)
    target = data.next if is_own_address(data.next) and not data.next.startswith("/log") else "/"
    return go_to(target, {"set-cookie": bake_cookie(request, data.key.strip(), LONGEST)})


@post("/logout", include_in_schema=False)
async def log_out(request: AnyRequest) -> Response[Any]:
    """Forget the key."""
    return go_to("/login", {"set-cookie": bake_cookie(request, "", 0)})


def bake_cookie(request: AnyRequest, key: str, seconds: int) -> str:
    """A cookie that goes to this server alone, never along with what another site asks for."""
    is_safe = "https" in (request.scope["scheme"], request.headers.get("x-forwarded-proto", ""))
    secure = "; Secure" if is_safe else ""
    return f"{COOKIE}={key}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"


@get("/assets/{name:str}", include_in_schema=False)
async def send_asset(request: AnyRequest, name: FromPath[str]) -> Response[bytes]:
    """Style or script; its name changes with what it holds."""
    found = load_assets().get(name)
    if found is None:
        raise Refusal(404, "there is no such file")
    tag = f'"{found.name}"'
    headers = {"cache-control": FOR_GOOD, "etag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(b"", status_code=304, headers=headers)
    return Response(found.body, media_type=found.media_type, headers=headers)


HANDLERS: list[Any] = [ask_for_key, log_in, log_out, send_asset]
