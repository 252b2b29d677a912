"""Requests through a vendor's SDK: its ways to connect and sign, our reading of what comes back."""

import asyncio
import importlib
import re
from collections.abc import Collection
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from assay.errors import ModelBusy, ModelUnavailable
from assay.llm.contract import Question
from assay.llm.troubles import TOO_LONG, by_status, quotable

PARTICULAR = (400, 422, 500, 501)
"""Statuses with which servers refuse a parameter they don't know."""
ACCOUNT = re.compile(r"//[^/?#]*@")
"""A name and a password in an address: they are sent, never told."""


T = TypeVar("T")


class Unsupported(Exception):
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
            status, text, headers = error.status_code, told(error.body), error.response.headers
            named = (
                [one for one in optional if one in text] if status in PARTICULAR and not TOO_LONG.search(text) else []
            )
            if named:
                raise Unsupported(named[0]) from None
            said = quotable(text, question, str(getattr(self.client, "api_key", "") or ""))
            raise by_status(status, said, headers, self.where, self.access) from None

    async def close(self) -> None:
        await self.client.close()


def installed(package: str) -> ModuleType:
    """An SDK that comes with an extra of ours."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise ModelUnavailable(f"the {package} package is not installed; pip install 'assay[{package}]'") from None


def told(body: object) -> str:
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


def decoded(text: str, kind: type[T], where: str) -> T:
    """A reply as far as we read it; one that is no such thing came through a broken line."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.ValidationError, msgspec.DecodeError):
        raise ModelBusy(f"{where} sent what is no reply") from None
