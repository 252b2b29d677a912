"""Anthropic's Messages API through its SDK, or any server that speaks it.

All judges of a session share one cached prefix: the system prompt and the transcript. Whatever differs must therefore
stand behind them, and a schema given to the service stands in front: so the schema is told in words where there is a
prefix worth sharing, and enforced (as the one tool the model has to call) where there is none, in a batch, and when a
reply has to be given again.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from assay.config import Model as Settings
from assay.errors import ModelBusy, ModelError, ModelRefused, ModelUnavailable
from assay.llm.contract import AbsentModel, Answer, PaidRefusal, Question
from assay.llm.wire import (
    ACCOUNT,
    TEMPERATURE,
    UnsupportedParameter,
    Wire,
    build_status_error,
    decode_reply,
    import_sdk,
    render_task,
    sanitize_error,
    strip_fence,
)
from assay.types import CleanText, Usage

SERVICE = "https://api.anthropic.com"
MODEL = "claude-haiku-4-5"
ACCESS = "set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN) to a key that may use it"
CHARS_PER_TOKEN = 3.5
CACHES_FROM = {"haiku-4-5": 4096, "opus-4-5": 4096, "opus-4-6": 4096, "haiku": 2048, "sonnet-4-6": 2048}
"""The shortest prefix that is cached, by a part of the model's name; the first that fits."""
CACHES_FROM_ELSE = 1024
OPTIONAL = ("temperature", "tool_choice")
"""What some models refuse; left out from the moment a refusal names it."""
TAKES_TEMPERATURE = re.compile(r"claude-(3|haiku-4|sonnet-4|opus-4(?!-[7-9]))")
"""Known to; in a batch a refusal comes too late to leave it out."""
STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}


class CacheWrites(Struct):
    ephemeral_1h_input_tokens: int | None = None


class AnthropicTokens(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheWrites | None = None


class TokenCount(Struct):
    input_tokens: int


class AnthropicMessage(Struct):
    """What we read of a reply."""

    content: list[dict[str, Any]]
    model: str = ""
    stop_reason: str | None = None
    usage: AnthropicTokens = msgspec.field(default_factory=AnthropicTokens)


class AnthropicProblem(Struct):
    type: str = ""
    message: str = ""


class BatchFailure(Struct):
    error: AnthropicProblem = msgspec.field(default_factory=AnthropicProblem)


class BatchResult(Struct):
    type: str
    message: AnthropicMessage | None = None
    error: BatchFailure = msgspec.field(default_factory=BatchFailure)


class BatchLine(Struct):
    """One result of a batch."""

    custom_id: str
    result: BatchResult


class BatchStatus(Struct):
    id: str
    processing_status: str = ""


def connect(settings: Settings, env: Mapping[str, str]) -> "Anthropic":
    """Connects to the service that the settings and the environment name."""
    sdk = import_sdk("anthropic")
    url = find_url(settings, env)
    key, token = env.get("ANTHROPIC_API_KEY"), env.get("ANTHROPIC_AUTH_TOKEN")
    if not key and not token and url == SERVICE:
        raise ModelUnavailable(f"no key for {url}; set ANTHROPIC_API_KEY")
    client = sdk.AsyncAnthropic(
        **({"auth_token": token} if token and not key else {"api_key": key or "none"}),
        base_url=url,
        max_retries=0,
        timeout=settings.timeout_s,
        open_telemetry=False,  # spans would be one more way out
    )
    return Anthropic(Wire(sdk, client, url, ACCESS, settings.timeout_s), settings.name or MODEL)


def describe_model(settings: Settings, env: Mapping[str, str]) -> AbsentModel:
    """The model that would be asked."""
    where, model = ACCOUNT.sub("//", find_url(settings, env)), settings.name or MODEL
    caches_from = find_cache_minimum(model) if where == SERVICE else None
    return AbsentModel(backend=Anthropic.backend, model=model, where=where, caches_from=caches_from)


def find_url(settings: Settings, env: Mapping[str, str]) -> str:
    return (settings.url or env.get("ANTHROPIC_BASE_URL") or SERVICE).rstrip("/").removesuffix("/v1")


class Anthropic:
    """A connection to Anthropic's service, or to one that speaks as it does."""

    backend = "anthropic"
    batch_share = 0.5
    room = 1

    def __init__(self, wire: Wire, model: str) -> None:
        self.wire = wire
        self.model = model
        self.where = wire.where
        self.caches_from = find_cache_minimum(model) if self.where == SERVICE else None
        self.parameters = set(OPTIONAL)

    async def ask(self, question: Question) -> Answer:
        while True:
            body = self.build_body(question, enforced=bool(question.guidance) or not self.has_shared_prefix(question))
            try:
                reply = await self.wire.post("/v1/messages", body, question, self.parameters & body.keys())
            except UnsupportedParameter as one:
                self.parameters.discard(one.name)
            else:
                return build_answer(decode_reply(reply, AnthropicMessage, self.where), question, self.model)

    async def count_tokens(self, text: CleanText) -> int:
        """Tokens of a text, by the service's own count."""
        body = {"model": self.model, "messages": [{"role": "user", "content": text}]}
        return decode_reply(
            await self.wire.post("/v1/messages/count_tokens", body), TokenCount, self.where
        ).input_tokens

    def has_shared_prefix(self, question: Question) -> bool:
        """Whether the prefix is long enough to be cached for the other judges."""
        tokens = (len(question.system) + len(question.material)) / CHARS_PER_TOKEN
        return not question.is_alone and self.caches_from is not None and tokens >= self.caches_from

    def build_body(self, question: Question, *, enforced: bool) -> dict[str, Any]:
        """The request: the schema as a tool that must be called, or in words behind a prefix to be cached."""
        enforced = enforced and "tool_choice" in self.parameters
        material: dict[str, object] = {"type": "text", "text": question.material}
        told = {"type": "text", "text": render_task(question, schema=not enforced)}
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": question.most_output,
            "system": [{"type": "text", "text": question.system}],
            "messages": [{"role": "user", "content": [material, told]}],
        }
        if "temperature" in self.parameters:
            body["temperature"] = TEMPERATURE
        if enforced:
            schema = msgspec.json.decode(question.schema)
            body["tools"] = [{"name": question.job, "description": "Takes your answer.", "input_schema": schema}]
            body["tool_choice"] = {"type": "tool", "name": question.job}
        else:
            material["cache_control"] = {"type": "ephemeral"}
        return body

    async def submit(self, questions: Sequence[Question]) -> str:
        if not TAKES_TEMPERATURE.search(self.model):
            self.parameters.discard("temperature")
        requests = [{"custom_id": one.key, "params": self.build_body(one, enforced=True)} for one in questions]
        reply = await self.wire.post("/v1/messages/batches", {"requests": requests})
        return decode_reply(reply, BatchStatus, self.where).id

    async def collect(self, id: str) -> dict[str, Answer | ModelError] | None:
        try:
            batch = decode_reply(await self.wire.get(f"/v1/messages/batches/{id}"), BatchStatus, self.where)
            if batch.processing_status != "ended":
                return None
            lines = (await self.wire.get(f"/v1/messages/batches/{id}/results")).splitlines()
        except ModelUnavailable as error:
            if "(404)" in str(error):
                raise ModelRefused(f"{self.where} knows no batch {id} any more") from None
            raise
        found = (decode_reply(line, BatchLine, self.where) for line in lines if line.strip())
        return {line.custom_id: self.read_result(line.result) for line in found}

    def read_result(self, result: BatchResult) -> Answer | ModelError:
        """What became of one question of a batch."""
        if result.type == "succeeded" and result.message:
            try:
                return build_answer(result.message, None, self.model)
            except PaidRefusal as refusal:
                return refusal
        if result.type == "errored":
            problem = result.error.error
            said = sanitize_error(problem.message, None, "")
            return build_status_error(STATUS_OF.get(problem.type, 500), said, {}, self.where, ACCESS)
        return ModelBusy(f"the batch was {result.type} before this was answered")

    async def close(self) -> None:
        await self.wire.close()


def find_cache_minimum(model: str) -> int:
    """The fewest tokens of a prefix that the service caches for a model."""
    return next((tokens for part, tokens in CACHES_FROM.items() if part in model), CACHES_FROM_ELSE)


def build_answer(message: AnthropicMessage, question: Question | None, model: str) -> Answer:
    """The reply in a message; raises when there is none although it was paid for."""
    handed = [block.get("input") for block in message.content if block.get("type") == "tool_use"]
    said = "".join(str(block.get("text", "")) for block in message.content if block.get("type") == "text")
    text = msgspec.json.encode(handed[0]).decode() if handed else strip_fence(said)
    answer = Answer(text=text, usage=build_usage(message.usage), model=message.model or model)
    if message.stop_reason == "refusal":
        raise PaidRefusal("the model declined to answer", answer)
    if message.stop_reason == "max_tokens":
        most = f" at {question.most_output} tokens" if question else ""
        raise PaidRefusal(f"the reply was cut off{most}", answer)
    if message.stop_reason == "model_context_window_exceeded":
        raise PaidRefusal("too long for the model", answer)
    return answer


def build_usage(tokens: AnthropicTokens) -> Usage:
    return Usage(
        input=tokens.input_tokens or 0,
        output=tokens.output_tokens or 0,
        cache_read=tokens.cache_read_input_tokens or 0,
        cache_write=tokens.cache_creation_input_tokens or 0,
        cache_write_1h=(tokens.cache_creation and tokens.cache_creation.ephemeral_1h_input_tokens) or 0,
    )
