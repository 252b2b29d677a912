"""Chat completions through OpenAI's SDK: the service itself, or any endpoint that speaks the same.

Endpoints differ in what they take. The strictest way is tried first; what a refusal names is done without from then
on: a JSON schema, then JSON mode with the schema in words, then words alone.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Struct

from assay.config import Model as Settings
from assay.errors import ModelUnavailable
from assay.llm import wording
from assay.llm.contract import Answer, PaidRefusal, Question
from assay.llm.wire import Unsupported, Wire, decoded, installed
from assay.types import Usage

SERVICE = "https://api.openai.com/v1"
MODEL = "gpt-5-mini"
ACCESS = "set OPENAI_API_KEY to a key that may use it"
FORMAT = ("response_format", "json_schema")
REFUSABLE = ("temperature", "reasoning_effort", "max_tokens", "max_completion_tokens")
THINKING = 4
"""What a model thinks counts as output: so many times the room of the reply is left for both."""


class Said(Struct):
    content: str | None = None
    refusal: str | None = None


class Choice(Struct):
    message: Said
    finish_reason: str | None = None


class Cached(Struct):
    cached_tokens: int | None = None


class Tokens(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: Cached | None = None


class Completion(Struct):
    """What we read of a reply."""

    choices: list[Choice]
    model: str = ""
    usage: Tokens | None = None


class Listed(Struct):
    id: str


class Listing(Struct):
    data: list[Listed] = []


def connect(settings: Settings, env: Mapping[str, str]) -> "OpenAI":
    """A way to the endpoint that the settings and the environment name."""
    sdk = installed("openai")
    url = (settings.url or env.get("OPENAI_BASE_URL") or SERVICE).rstrip("/")
    key = env.get("OPENAI_API_KEY")
    if not key and url == SERVICE:
        raise ModelUnavailable(f"no key for {url}; set OPENAI_API_KEY")
    access: dict[str, Any] = {"api_key": key or "none", "base_url": url, "max_retries": 0}
    model = settings.name or (MODEL if url == SERVICE else served(sdk, access, url))
    client = sdk.AsyncOpenAI(**access, timeout=settings.timeout_s)
    return OpenAI(Wire(sdk, client, url, ACCESS, settings.timeout_s), model)


def served(sdk: ModuleType, access: Mapping[str, Any], url: str) -> str:
    """The model that an endpoint of one's own offers."""
    try:
        with sdk.OpenAI(**access, timeout=10.0) as client:
            listing = msgspec.json.decode(client.get("/models", cast_to=str), type=Listing)
    except (sdk.APIError, msgspec.MsgspecError):
        raise ModelUnavailable(f"{url} does not say which models it has; check model.url, or set model.name") from None
    if not listing.data:
        raise ModelUnavailable(f"{url} has no model; set model.name")
    return listing.data[0].id


class OpenAI:
    """A connection."""

    backend = "openai"
    caches_from = None
    """A schema stands in front of the prompt here, so judges with different schemas share no prefix."""

    def __init__(self, wire: Wire, model: str) -> None:
        self.wire = wire
        self.model = model
        self.where = wire.where
        own = self.where == SERVICE
        self.limit = "max_completion_tokens" if own else "max_tokens"
        self.forms = ["json_schema", "json_object"]
        self.extras = ["temperature", *(["reasoning_effort"] if own else [])]

    async def ask(self, question: Question) -> Answer:
        while True:
            body = self.body(question)
            optional = [*(FORMAT if "response_format" in body else ()), *(name for name in REFUSABLE if name in body)]
            try:
                reply = await self.wire.post("/chat/completions", body, question, optional)
            except Unsupported as one:
                self.leave_out(one.name, body)
            else:
                return answer_of(decoded(reply, Completion, self.where), question, self.model)

    @property
    def room(self) -> int:
        return 1 if self.limit == "max_tokens" else THINKING

    def body(self, question: Question) -> dict[str, Any]:
        form = self.forms[0] if self.forms else ""
        told = f"{question.material}\n\n{wording.task(question, schema=form != 'json_schema')}"
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "system", "content": question.system}, {"role": "user", "content": told}],
        }
        if self.limit:
            body[self.limit] = question.most_output * self.room
        if "temperature" in self.extras:
            body["temperature"] = wording.TEMPERATURE
        if "reasoning_effort" in self.extras:
            body["reasoning_effort"] = "low"
        if form == "json_schema":
            schema = msgspec.json.decode(question.schema)
            body["response_format"] = {
                "type": form,
                "json_schema": {"name": question.job, "strict": True, "schema": schema},
            }
        elif form:
            body["response_format"] = {"type": form}
        return body

    def leave_out(self, name: str, sent: Mapping[str, Any]) -> None:
        """Goes on without a parameter that was refused; another call may have been told the same."""
        if name in FORMAT:
            self.forms = [form for form in self.forms if form != sent["response_format"]["type"]]
        elif name == self.limit:
            self.limit = "max_completion_tokens" if name == "max_tokens" else ""
        elif name in self.extras:
            self.extras.remove(name)

    async def close(self) -> None:
        await self.wire.close()


def answer_of(completion: Completion, question: Question, model: str) -> Answer:
    """The reply in a completion; raises when there is none although it was paid for."""
    choice = completion.choices[0] if completion.choices else Choice(message=Said())
    text = wording.unwrapped(choice.message.content or "")
    answer = Answer(text=text, usage=usage_of(completion.usage or Tokens()), model=completion.model or model)
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise PaidRefusal("the model declined to answer", answer)
    if choice.finish_reason == "length":
        raise PaidRefusal(f"the reply was cut off at {question.most_output} tokens", answer)
    return answer


def usage_of(tokens: Tokens) -> Usage:
    cached = (tokens.prompt_tokens_details and tokens.prompt_tokens_details.cached_tokens) or 0
    return Usage(
        input=max(0, (tokens.prompt_tokens or 0) - cached), output=tokens.completion_tokens or 0, cache_read=cached
    )
