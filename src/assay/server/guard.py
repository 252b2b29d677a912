"""The door: every request passes here first, and every answer leaves with the same strict headers."""

import math
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from msgspec import Struct

from assay.errors import AssayError
from assay.server.access import Visitor, check_host, check_origin, read_cookie
from assay.server.hall import Hall
from assay.server.limits import RateLimit
from assay.server.pages.refusals import PAGE_HEADERS, PAGE_NAMES, build_page_refusal, is_page, wants_page
from assay.server.replies import RECEIVER, Refusal, build_refusal, read_kind
from assay.types import Scope

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

VISITOR = "assay.visitor"
"""Where an application finds who sent a request."""
OPEN = frozenset({"/healthz", "/readyz"})
"""Paths that tell nothing of anybody, so that whoever watches over the server may ask."""
TO_ALL = ("/login", "/assets/")
"""What pages are that nobody needs a key for: the way in, style and script."""
ONCE = frozenset({"host", "authorization", "content-length", "content-type", "content-encoding", "origin", "cookie"})
"""Headers of which a second one can only be meant to mislead."""
HEADERS = [
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"vary", b"authorization, cookie"),
]
NO_STORE = (b"cache-control", b"no-store")
LONGEST_TARGET = 4_096
SHIPPED = re.compile(r"/api/v1/machines/[^/]+/sessions/?")
"""Where a machine's sessions come in, and where whoever sends them learns what is there."""


class RequestLine(Struct, frozen=True, kw_only=True):
    """What the log says of a request: nothing that somebody wrote into it."""

    route: str
    method: str
    status: int
    ms: float
    visitor: Visitor | None


class Guard:
    """An application behind its door."""

    def __init__(self, app: App, hall: Hall, tell: Callable[[RequestLine], None]) -> None:
        self.app = app
        self.hall = hall
        self.access = hall.access
        self.figures = hall.figures
        self.settings = hall.settings
        self.tell = tell
        limits = hall.settings.limits
        self.requests = RateLimit(limits.key_rate, limits.key_burst)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await Passage(self, scope, send).pass_through(receive)

    async def admit(self, scope: Message, headers: dict[str, str]) -> Visitor | None:
        """Let a request in, or refuse it; gives who sent it, if that matters."""
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > LONGEST_TARGET:
            raise Refusal(414, "the address is too long")
        check_host(headers.get("host", ""), self.settings)
        reads = scope["method"] in ("GET", "HEAD")
        check_origin(headers, may_follow=reads and is_page(scope["path"]))
        if scope["path"] in OPEN or scope["path"].startswith(TO_ALL):
            return None
        address = find_address(scope)
        try:
            visitor = await self.find_visitor(scope, headers, address)
        except Refusal:
            self.refuse_many(self.access.failures.take(address))
            raise
        self.refuse_many(self.requests.take(visitor.name))
        needed = find_scope(scope["method"], scope["path"])
        if not visitor.may(needed):
            raise Refusal(403, f"this key may not do that; it takes one with the scope {needed}")
        return visitor

    async def find_visitor(self, scope: Message, headers: dict[str, str], address: str) -> Visitor:
        """Who sent a request: pages, and what they listen to, know them by a cookie as well."""
        by_cookie = is_page(scope["path"]) or (scope["method"], scope["path"]) == ("GET", "/api/v1/events")
        if by_cookie and "authorization" not in headers and (key := read_cookie(headers)):
            return await self.access.open_with(key, address)
        return await self.access.admit(headers, address)

    def refuse_many(self, wait_s: float) -> None:
        if wait_s:
            raise Refusal(429, "too many requests; try again", retry_s=max(1, math.ceil(wait_s)))


class Passage:
    """One request on its way through the door."""

    def __init__(self, guard: Guard, scope: Message, send: Send) -> None:
        self.guard = guard
        self.scope = scope
        self.send_on = send
        self.began = time.perf_counter()
        self.status = 500
        self.visitor: Visitor | None = None
        self.media_type = ""
        self.wants_page = False

    async def pass_through(self, receive: Receive) -> None:
        """Let the request in and the answer out; what is refused is answered here."""
        try:
            headers = read_headers(self.scope)
            self.media_type = read_kind(headers.get("content-type", ""))
            self.wants_page = wants_page(self.scope["path"], headers)
            self.visitor = await self.guard.admit(self.scope, headers)
            self.scope[VISITOR] = self.visitor
            await self.guard.app(self.scope, receive, self.send)
        except Refusal as refusal:
            await self.refuse(refusal)
        except AssayError as error:
            self.guard.hall.report(str(error))
            await self.refuse(Refusal(503, "the store can't be reached at the moment; try again", retry_s=5))
        finally:
            self.note()

    async def send(self, message: Message) -> None:
        """Let an answer out, with the headers that every one has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = [(name.lower(), value) for name, value in message.get("headers", [])]
            own = {name for name, _ in given}
            message["headers"] = [*given, *(one for one in (*HEADERS, NO_STORE) if one[0] not in own)]
        await self.send_on(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Answer that a request is not served, in the words that its sender understands."""
        headers = [*refusal.headers]
        if self.wants_page:
            reply = build_page_refusal(refusal, self.scope["path"])
            headers = [one for one in headers if one[0] != "www-authenticate"] + [*PAGE_HEADERS.items()]
        else:
            reply = build_refusal(refusal, self.scope["path"], self.media_type)
        headers = [("content-type", reply.media_type), ("content-length", str(len(reply.body))), *headers]
        encoded = [(name.encode(), value.encode()) for name, value in headers]
        await self.send({"type": "http.response.start", "status": reply.status, "headers": encoded})
        await self.send_on({"type": "http.response.body", "body": reply.body})

    def note(self) -> None:
        """Count the request, and tell the log of it."""
        took = time.perf_counter() - self.began
        route, method = name_route(self.scope["path"]), name_method(self.scope["method"])
        self.guard.figures.count("assay_http_requests_total", route=route, method=method, status=str(self.status))
        self.guard.figures.time(took)
        if self.status >= 400:
            self.guard.figures.count("assay_refusals_total", status=str(self.status))
        line = RequestLine(route=route, method=method, status=self.status, ms=took * 1000, visitor=self.visitor)
        self.guard.tell(line)


def read_headers(scope: Message) -> dict[str, str]:
    """Headers by name; one that must stand once and does not is refused."""
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1").lower()
        if name in ONCE and name in found:
            raise Refusal(400, f"the header {name} stands there twice")
        found[name] = raw_value.decode("latin-1")
    return found


def find_scope(method: str, path: str) -> Scope:
    """What a key must open for a request: new routes need `read`, or `admin` where they may change something."""
    if path.startswith(RECEIVER) or SHIPPED.fullmatch(path):
        return "ingest"
    if path == "/logout":
        return "read"
    if path.startswith(("/api/v1/keys", "/api/v1/log")):
        return "admin"
    return "read" if method in ("GET", "HEAD", "OPTIONS") else "admin"


def find_address(scope: Message) -> str:
    """Where a request comes from."""
    return str((scope.get("client") or ["unknown"])[0])


def name_method(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS") else "other"


def name_route(path: str) -> str:
    """The route of a path, without what somebody put into it."""
    if path in OPEN or path == "/metrics":
        return path
    first, *rest = path.strip("/").split("/")
    if is_page(path) and first in PAGE_NAMES:
        return f"/{first}" + ("/{id}" if rest else "")
    if first == "v1":
        return path if rest in (["logs"], ["metrics"], ["traces"]) else "other"
    known = {
        "score", "trend", "sessions", "ledger", "quality", "evaluations", "audit", "marks", "events", "keys", "log",
        "openapi", "sources", "machines",
    }  # fmt: skip
    if first == "api" and len(rest) > 1 and rest[0] == "v1" and rest[1] in known:
        return f"/api/v1/{rest[1]}" + ("/{id}" if len(rest) > 2 else "")
    return "other"
