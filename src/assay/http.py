"""One patient client for services on the net: every wait and every retry for them is here.

RemoteError (an AssayError)  a service gave no usable answer
├── ServiceUnreachable  no connection, or the line went dead, however often it was tried
├── ServiceBusy         429 or 5xx, however often it was tried; `wait_s` is what it asked for
├── RequestRefused      4xx: this request won't be answered; `status` and `said` tell what it said
│   ├── AccessDenied    401 or 403: no request with these keys will be
│   └── PathNotFound    404: no such thing, or not in this version of the service
└── GarbledAnswer       an answer that is not what it should be

Every message names the service and the path, never a key. An outage is waited for once: after a request that was
given up, the next ones are tried once each, and after `MOST_GIVEN_UP` in a row nothing is sent for a while.
"""

import random
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import httpx
import msgspec
from msgspec import Struct

from assay.errors import AssayError, BadInput
from assay.retry import double_wait, parse_retry_after

MINUTE_S = 60.0
MOST_SAID, MOST_READ = 300, 20_000
MOST_GIVEN_UP, REST_S, SHORT_S = 4, 60.0, 10.0
"""Requests given up in a row before the service is left alone, for how long, and how long each of them may take."""
RETRIED = frozenset({429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
TURNED_AWAY = frozenset({429, 503})
"""The request was not looked at, so even one that must not be sent twice may be sent again."""
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

Params = Mapping[str, str | int]
T = TypeVar("T")


class RemoteError(AssayError):
    """A service gave no usable answer."""


class ServiceUnreachable(RemoteError):
    """No connection to the service."""


class ServiceBusy(RemoteError):
    """The service is overloaded, broken for now, or wants fewer requests."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


class RequestRefused(RemoteError):
    """The service won't answer this request."""

    def __init__(self, why: str, status: int = 400, said: str = "") -> None:
        super().__init__(why)
        self.status = status
        self.said = said


class AccessDenied(RequestRefused):
    """The keys are wrong, or may not do this."""


class PathNotFound(RequestRefused):
    """Nothing stands at this path."""


class GarbledAnswer(RemoteError):
    """An answer of another form than promised."""


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How long to wait for one answer, and how often to ask."""

    timeout_s: float = 60.0
    tries: int = 5
    first_wait_s: float = 0.5
    most_wait_s: float = 90.0
    """A service that asks for more is given up."""
    patience_s: float = 90.0
    """After this long a request that failed is not repeated."""


class Clock(Struct, frozen=True, kw_only=True):
    """Time, as far as waiting needs it; tests bring their own."""

    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random
    """From 0 to 1: two clients that were turned away together shall not come back together."""


class HttpAnswer(Struct, frozen=True, kw_only=True):
    """What came back of a request that was accepted."""

    status: int
    body: bytes
    where: str


class HttpRequest(Struct, frozen=True, kw_only=True):
    """What is asked of a service."""

    method: str
    path: str
    params: Params | None = None
    body: Any = None
    bucket: str = ""
    is_repeatable: bool = True


class Pace:
    """At most so many requests in any minute; 0 means no limit."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self.per_minute = per_minute
        self.clock = clock
        self.sent: deque[float] = deque(maxlen=max(per_minute, 1))

    def wait(self) -> None:
        """Returns when the next request may go."""
        if not self.per_minute:
            return
        if len(self.sent) == self.per_minute and (left := self.sent[0] + MINUTE_S - self.clock.now()) > 0:
            self.clock.sleep(left)
        self.sent.append(self.clock.now())


class Http:
    """Requests to one service, repeated while that can help; with a name and a secret, or with a token or none."""

    def __init__(
        self,
        base: str,
        keys: tuple[str, str] | str,
        *,
        policy: RetryPolicy | None = None,
        clock: Clock | None = None,
        per_minute: Mapping[str, int] | None = None,
        transport: httpx.BaseTransport | None = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        self.base = parse_address(base)
        self.host = urlsplit(self.base).netloc
        self.policy = policy or RetryPolicy()
        self.clock = clock or Clock()
        self.paces = {bucket: Pace(most, self.clock) for bucket, most in (per_minute or {}).items()}
        self.secret = keys if isinstance(keys, str) else keys[1]
        self.clean = clean
        """What the service says goes through it before anybody is told."""
        self.headers: dict[str, str] = {}
        """Sent with every body."""
        self.given_up = 0
        """Requests in a row to which there was no answer."""
        self.trouble = ""
        self.rests_until = 0.0
        self.client = httpx.Client(
            base_url=self.base,
            auth=None if isinstance(keys, str) else keys,
            headers={"Authorization": f"Bearer {keys}"} if keys and isinstance(keys, str) else {},
            timeout=self.policy.timeout_s,
            transport=transport,
            follow_redirects=False,
        )

    def close(self) -> None:
        """Closes all connections to the service."""
        self.client.close()

    def get(self, path: str, params: Params | None = None, bucket: str = "") -> HttpAnswer:
        """Asks for what stands at a path."""
        return self.send("GET", path, params=params or {}, bucket=bucket)

    def post(self, path: str, body: Any, *, bucket: str = "", is_repeatable: bool = True) -> HttpAnswer:
        """Hands a body in; where sending it twice would make two of it, it is only repeated if it never arrived."""
        return self.send("POST", path, body=body, bucket=bucket, is_repeatable=is_repeatable)

    def patch(self, path: str, body: Any, bucket: str = "") -> HttpAnswer:
        """Changes what stands at a path."""
        return self.send("PATCH", path, body=body, bucket=bucket)

    def delete(self, path: str, bucket: str = "") -> HttpAnswer:
        """Removes what stands at a path."""
        return self.send("DELETE", path, bucket=bucket)

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Any = None,
        bucket: str = "",
        is_repeatable: bool = True,
    ) -> HttpAnswer:
        """Sends one request, with its retries; raises a `RemoteError`."""
        asked = HttpRequest(
            method=method, path=path, params=params, body=body, bucket=bucket, is_repeatable=is_repeatable
        )
        where = f"{method} {self.host}{path}"
        if self.given_up >= MOST_GIVEN_UP and self.clock.now() < self.rests_until:
            raise ServiceUnreachable(f"{where}: not sent, for {self.given_up} before it had no answer: {self.trouble}")
        try:
            found = self.try_often(asked, where)
        except (ServiceBusy, ServiceUnreachable) as error:
            self.given_up += 1
            self.trouble = str(error)
            self.rests_until = self.clock.now() + REST_S
            raise
        except RequestRefused:
            self.given_up = 0
            raise
        self.given_up = 0
        return found

    def try_often(self, asked: HttpRequest, where: str) -> HttpAnswer:
        """Sends one request until there is an answer; while the service seems to be away, once."""
        body = asked.body
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        headers = {} if asked.body is None else {"Content-Type": "application/json", **self.headers}
        timeout_s = min(self.policy.timeout_s, SHORT_S) if self.given_up else self.policy.timeout_s
        began = self.clock.now()
        for left in reversed(range(1 if self.given_up else self.policy.tries)):
            if pace := self.paces.get(asked.bucket):
                pace.wait()
            try:
                request = self.client.build_request(
                    asked.method,
                    asked.path,
                    params=asked.params or None,
                    content=content,
                    headers=headers,
                    timeout=timeout_s,
                )
                response = self.client.send(request)
            except httpx.TransportError as error:
                is_late = self.clock.now() - began > self.policy.patience_s
                if not left or is_late or not (asked.is_repeatable or isinstance(error, NOT_SENT)):
                    raise ServiceUnreachable(
                        f"{where}: {describe_transport_error(error)}; is the address right, and is it running?"
                    ) from None
                wait_s = self.back_off(left)
            else:
                if response.is_success:
                    return HttpAnswer(status=response.status_code, body=response.content, where=where)
                may_repeat = asked.is_repeatable or was_not_carried_out(response)
                wait_s = self.pick_wait(response, where, left if may_repeat else 0)
            self.clock.sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    def pick_wait(self, response: httpx.Response, where: str, left: int) -> float:
        """Seconds to wait before asking again; raises where that is no use."""
        status, said = response.status_code, self.read_error_text(response)
        if status not in RETRIED:
            raise build_refusal(status, where, said, self.redact_keys(response.headers.get("location", "")))
        asked_s = parse_retry_after(response.headers)
        wait_s = self.back_off(left) if asked_s is None else asked_s
        if not left or wait_s > self.policy.most_wait_s:
            waiting = f"it asks to wait {asked_s:.0f} s" if asked_s else "try again later"
            raise ServiceBusy(f"{where}: answered {status} {said}; {waiting}", asked_s)
        return wait_s

    def back_off(self, left: int) -> float:
        """Seconds to wait where the service names none: twice as long after each try, somewhat spread."""
        waits = self.policy
        return double_wait(waits.tries - left, waits.first_wait_s, waits.most_wait_s, self.clock.jitter())

    def read_error_text(self, response: httpx.Response) -> str:
        """What the service said, on one line, without our key or anybody's; cut only then, for half a key is none."""
        said = response.content[:MOST_READ].decode("utf-8", "replace")
        try:
            message = msgspec.json.decode(response.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            message = None
        if isinstance(message, dict) and message.get("kind") == "error":
            said = str(message.get("error"))
        elif isinstance(message, dict) and isinstance(message.get("message"), str):
            detail = message.get("error")
            said = message["message"] + (f" {msgspec.json.encode(detail).decode()}" if detail else "")
        return " ".join(self.redact_keys(said[:MOST_READ]).split())[:MOST_SAID]

    def redact_keys(self, said: str) -> str:
        """What a service said, without keys."""
        return self.clean(said.replace(self.secret, "***") if self.secret else said)


def parse_address(given: str) -> str:
    """A service's address without a path's last slash, a query or a key in it."""
    try:
        parts = urlsplit(given.strip())
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise BadInput("the address of the service can't be read; give one such as https://host.example") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        said = re.sub(r"//[^/@]*@", "//***@", given.strip())[:100]
        raise BadInput(f"{said!r} is no address of a service; give one such as https://host.example")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return urlunsplit((parts.scheme, f"{host}{port}", parts.path.rstrip("/"), "", ""))


def build_refusal(status: int, where: str, said: str, location: str) -> RequestRefused:
    """The error for an answer that more tries won't change."""
    why = f"{where}: answered {status} {said}".rstrip()
    if status in (401, 403):
        return AccessDenied(f"{why}; check the keys and that they belong to this host", status, said)
    if status == 404:
        return PathNotFound(why, status, said)
    if 300 <= status < 400:
        return RequestRefused(f"{why}; it leads to {location[:200]!r}: give that host instead", status, said)
    return RequestRefused(why, status, said)


def was_not_carried_out(response: httpx.Response) -> bool:
    """Whether a request that was turned down was surely not carried out."""
    return response.status_code in TURNED_AWAY


def describe_transport_error(error: httpx.TransportError) -> str:
    """Why there was no answer, in a few words."""
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()
    return f"{kind} ({' '.join(str(error).split())[:120]})" if str(error) else kind


def decode_answer(answer: HttpAnswer, kind: type[T]) -> T:
    """An answer's body as the type it should have."""
    try:
        return msgspec.json.decode(answer.body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        said = str(error)[:160]
    raise GarbledAnswer(f"{answer.where}: an answer of another form than promised ({said}); is it the right address?")
