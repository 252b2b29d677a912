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
from assay.llm.contract import AbsentModel, Answer, PaidRefusal, Question
from assay.llm.wire import (
    ACCOUNT,
    TEMPERATURE,
    UnsupportedParameter,
    Wire,
    decode_reply,
    import_sdk,
    render_task,
    strip_fence,
)
from assay.types import Usage

SERVICE = "https://api.openai.com/v1"
MODEL = "gpt-5-mini"
ACCESS = "set OPENAI_API_KEY to a key that may use it"
FORMAT = ("response_format", "json_schema")
REFUSABLE = ("temperature", "reasoning_effort", "max_tokens", "max_completion_tokens")
THINKING = 4
"""What a model thinks counts as output: so many times the room of the reply is left for both."""


class ChatMessage(Struct):
    content: str | None = None
    refusal: str | None = None


class CompletionChoice(Struct):
    message: ChatMessage
    finish_reason: str | None = None


class CachedTokens(Struct):
    cached_tokens: int | None = None


class OpenAITokens(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: CachedTokens | None = None


class Completion(Struct):
    """What we read of a reply."""

    choices: list[CompletionChoice]
    model: str = ""
    usage: OpenAITokens | None = None


class ListedModel(Struct):
    id: str


class ModelListing(Struct):
    data: list[ListedModel] = []


def connect(settings: Settings, env: Mapping[str, str]) -> "OpenAI":
    """Connects to the endpoint that the settings and the environment name."""
    sdk = import_sdk("openai")
    url = find_url(settings, env)
    key = env.get("OPENAI_API_KEY")
    if not key and url == SERVICE:
        raise ModelUnavailable(f"no key for {url}; set OPENAI_API_KEY")
    access: dict[str, Any] = {"api_key": key or "none", "base_url": url, "max_retries": 0}
    model = settings.name or (MODEL if url == SERVICE else find_served_model(sdk, access, url))
    client = sdk.AsyncOpenAI(**access, timeout=settings.timeout_s)
    return OpenAI(Wire(sdk, client, url, ACCESS, settings.timeout_s), model)


def describe_model(settings: Settings, env: Mapping[str, str]) -> AbsentModel:
    """The model that would be asked; which one an endpoint of one's own has, only that endpoint can say."""
    url = find_url(settings, env)
    model = settings.name or (MODEL if url == SERVICE else connect(settings, env).model)
    return AbsentModel(backend=OpenAI.backend, model=model, where=ACCOUNT.sub("//", url))


def find_url(settings: Settings, env: Mapping[str, str]) -> str:
    return (settings.url or env.get("OPENAI_BASE_URL") or SERVICE).rstrip("/")


def find_served_model(sdk: ModuleType, access: Mapping[str, Any], url: str) -> str:
    """The first model that an endpoint of one's own lists."""
    try:
        with sdk.OpenAI(**access, timeout=10.0) as client:
            listing = msgspec.json.decode(client.get("/models", cast_to=str), type=ModelListing)
    except (sdk.APIError, msgspec.MsgspecError):
        raise ModelUnavailable(
            f"{url} does not say which models it has; check --model-url (model.url), or give --model (model.name)"
        ) from None
    if not listing.data:
        raise ModelUnavailable(f"{url} has no model; give --model (model.name)")
    return listing.data[0].id


class OpenAI:
    """A connection to OpenAI's service, or to an endpoint that speaks as it does."""

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
            body = self.build_body(question)
            optional = [*(FORMAT if "response_format" in body else ()), *(name for name in REFUSABLE if name in body)]
            try:
                reply = await self.wire.post("/chat/completions", body, question, optional)
            except UnsupportedParameter as one:
                self.leave_out(one.name, body)
            else:
                return build_answer(decode_reply(reply, Completion, self.where), question, self.model)

    @property
    def room(self) -> int:
        return 1 if self.limit == "max_tokens" else THINKING

    def build_body(self, question: Question) -> dict[str, Any]:
        form = self.forms[0] if self.forms else ""
        told = f"{question.material}\n\n{render_task(question, schema=form != 'json_schema')}"
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "system", "content": question.system}, {"role": "user", "content": told}],
        }
        if self.limit:
            body[self.limit] = question.most_output * self.room
        if "temperature" in self.extras:
            body["temperature"] = TEMPERATURE
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


def build_answer(completion: Completion, question: Question, model: str) -> Answer:
    """The reply in a completion; raises when there is none although it was paid for."""
    choice = completion.choices[0] if completion.choices else CompletionChoice(message=ChatMessage())
    text = strip_fence(choice.message.content or "")
    answer = Answer(text=text, usage=build_usage(completion.usage or OpenAITokens()), model=completion.model or model)
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise PaidRefusal("the model declined to answer", answer)
    if choice.finish_reason == "length":
        raise PaidRefusal(f"the reply was cut off at {question.most_output} tokens", answer)
    return answer


def build_usage(tokens: OpenAITokens) -> Usage:
    cached = (tokens.prompt_tokens_details and tokens.prompt_tokens_details.cached_tokens) or 0
    return Usage(
        input=max(0, (tokens.prompt_tokens or 0) - cached), output=tokens.completion_tokens or 0, cache_read=cached
    )
