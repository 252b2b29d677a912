"""What goes to a vendor's service through its SDK, and what comes back: tasks in words, replies, and errors that say
whether to ask later, never again, or nobody at all."""

import asyncio
import importlib
import re
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from assay.errors import ModelBusy, ModelError, ModelRefused, ModelUnavailable
from assay.llm.contract import Question
from assay.retry import parse_retry_after

T = TypeVar("T")
PARTICULAR = (400, 422, 500, 501)
"""Statuses with which servers refuse a parameter they don't know."""
ACCOUNT = re.compile(r"//[^/?#]*@")
"""A name and a password in an address: they are sent, never told."""
FENCED = re.compile(r"\s*```[a-zA-Z]*[ \t]*\n(.*?)\n?[ \t]*```\s*", re.DOTALL)
TEMPERATURE = 0.0
"""Of every call, further votes too: what flips at 0 is what a vote is there to show."""
MOST_SAID = 200
LONGEST_ECHO = 16
"""Characters in a row that an error may share with the question before it is taken for an echo of it."""
CROWDED_S = 1.0
"""The least wait when a service has too many requests and does not say for how long."""
CROWDED = (429, 529)
LATER = (408, 409, 425)
NO_ACCESS = (401, 402, 403)
UNPAID = re.compile(
    r"credit balance|insufficient_quota|exceeded your current quota|billing_|spend limit", re.IGNORECASE
)
TOO_LONG = re.compile(
    r"too (long|large|many tokens)|context.{0,20}(length|window|size)|maximum context|exceed.{0,40}(context|tokens)",
    re.IGNORECASE,
)


class UnsupportedParameter(Exception):
    """A server does not take a parameter that can be done without."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Wire:
    """A client of a vendor's SDK; `client` and `sdk` are alike for Anthropic and OpenAI."""

    def __init__(self, sdk: ModuleType, client: Any, where: str, access: str, timeout_s: float) -> None:
        self.sdk = sdk
        self.client = client
        self.where = ACCOUNT.sub("//", where)
        self.access = access
        """What to do when the service does not let us in."""
        self.timeout_s = timeout_s

    async def post(
        self, path: str, body: object, question: Question | None = None, optional: Collection[str] = ()
    ) -> str:
        """The body of a reply; raises `Unsupported` when a refusal names one of the `optional` parameters."""
        return await self.send(self.client.post(path, body=body, cast_to=str), question, optional)

    async def get(self, path: str) -> str:
        return await self.send(self.client.get(path, cast_to=str), None, ())

    async def send(self, request: Any, question: Question | None, optional: Collection[str]) -> str:
        try:
            async with asyncio.timeout(self.timeout_s):  # the SDK's own holds for each read, not for all of them
                return str(await request)
        except (TimeoutError, self.sdk.APITimeoutError):
            raise ModelBusy(f"{self.where} gave no answer within {self.timeout_s:g} s") from None
        except self.sdk.APIConnectionError as error:
            if type(error.__cause__).__name__ == "ConnectError":
                raise ModelUnavailable(f"{self.where} can't be reached; check the network and model.url") from None
            raise ModelBusy(f"{self.where} dropped the connection") from None
        except self.sdk.APIStatusError as error:
            status, text, headers = error.status_code, read_error_body(error.body), error.response.headers
            named = (
                [one for one in optional if one in text] if status in PARTICULAR and not TOO_LONG.search(text) else []
            )
            if named:
                raise UnsupportedParameter(named[0]) from None
            said = sanitize_error(text, question, str(getattr(self.client, "api_key", "") or ""))
            raise build_status_error(status, said, headers, self.where, self.access) from None

    async def close(self) -> None:
        await self.client.close()


def import_sdk(package: str) -> ModuleType:
    """The SDK called `package`, which an extra of ours installs."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ModelUnavailable(f"the {package} package is not installed; pip install 'assay[{package}]'") from None


def read_error_body(body: object) -> str:
    """A service's own words in the body of an error, with its kind."""
    if isinstance(body, str):
        return body
    if not isinstance(body, dict):
        return ""
    inner = body.get("error", body)
    if not isinstance(inner, dict):
        return str(inner)
    words = [inner.get(name) for name in ("message", "detail", "type", "code", "param")]
    return " ".join(str(word) for word in words if isinstance(word, str | int | list) and word)


def decode_reply(text: str, kind: type[T], where: str) -> T:
    """The body of a reply as `kind`; one of another form came through a broken line."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.ValidationError, msgspec.DecodeError):
        raise ModelBusy(f"{where} sent what is no reply") from None


# --- words ------------------------------------------------------------------------------------


def render_task(question: Question, *, schema: bool) -> str:
    """What is asked, with the schema in words where nothing else tells it, and what was wrong before."""
    parts: list[str] = [question.task]
    if schema:
        parts.append(
            f"Reply with nothing but one JSON object, the {question.job}, that fits this JSON Schema:\n"
            + question.schema.decode("utf-8")
        )
    if question.guidance:
        parts.append(question.guidance)
    return "\n\n".join(parts)


def strip_fence(reply: str) -> str:
    """A reply without a code fence around all of it; an object somewhere inside prose is left there."""
    fenced = FENCED.fullmatch(reply)
    return (fenced[1] if fenced else reply).strip()


# --- errors -----------------------------------------------------------------------------------


def build_status_error(status: int, said: str, headers: Mapping[str, str], where: str, access: str) -> ModelError:
    """The error for an HTTP status; `access` says which variable holds the key."""
    told = f": {said}" if said else ""
    if UNPAID.search(said):
        return ModelUnavailable(f"{where} answers nobody on this account ({status}){told}")
    if status in NO_ACCESS:
        return ModelUnavailable(f"{where} does not let us in ({status}); {access}")
    if status == 404:
        return ModelUnavailable(f"{where} knows no such model or address (404){told}; check model.name and model.url")
    if status in CROWDED:
        wait_s = parse_retry_after(headers)
        return ModelBusy(f"{where} has too much to do ({status})", CROWDED_S if wait_s is None else wait_s)
    if status in LATER or status >= 500:
        return ModelBusy(f"{where} failed ({status}){told}", parse_retry_after(headers))
    if status == 413 or TOO_LONG.search(said):
        return ModelRefused(f"too long for {where} ({status}){told}")
    return ModelRefused(f"{where} does not take the request ({status}){told}")


def shorten_line(text: str) -> str:
    """Foreign words for a message: one line, no control characters, never long."""
    plain = flatten_text(text)
    return plain if len(plain) <= MOST_SAID else f"{plain[: MOST_SAID - 1]}…"


def flatten_text(text: str) -> str:
    """The beginning of a text, with every gap as one space."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[: 20 * MOST_SAID]).split())


def sanitize_error(text: str, question: Question | None, key: str) -> str:
    """A service's own words on what went wrong; nothing when they hold the key or echo the question."""
    if key and key in text:
        return ""
    said = flatten_text(text)
    if question:
        asked = " ".join(f"{question.system} {question.material} {question.task} {question.guidance}".split())
        if any(said[i : i + LONGEST_ECHO] in asked for i in range(len(said) - LONGEST_ECHO + 1)):
            return ""
    return shorten_line(said)
