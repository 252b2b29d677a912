"""What `claude -p --output-format json` prints, told apart: an answer, or which kind of trouble.

An error comes with `subtype` success, a run with a schema may come without structured output and without an error,
and where the program itself fails, nothing is printed at all.
"""

import re
from typing import Any

import msgspec
from msgspec import Struct

from assay.errors import ModelBusy, ModelError, ModelRefused, ModelUnavailable
from assay.llm import wording
from assay.llm.contract import Answer, PaidRefusal, Question
from assay.llm.troubles import by_status, quotable
from assay.types import Usage

WHERE = "claude"
ACCESS = "run `claude` and log in, or set ANTHROPIC_API_KEY"
STATUS = re.compile(r"API Error: (\d{3})\b")
NO_LOGIN = re.compile(r"/login|Invalid API key|OAuth token", re.IGNORECASE)
USED_UP = re.compile(r"(usage|session|weekly|hit your).{0,20} limit", re.IGNORECASE)
"""A subscription's limit holds for hours: no use to try again now."""
NO_WAY = re.compile(r"ECONNREFUSED|ENOTFOUND|EAI_AGAIN|CERT_|certificate", re.IGNORECASE)
ENDINGS = {
    "error_max_turns": "it took too many turns",
    "error_max_budget_usd": "it reached its budget",
    "error_max_structured_output_retries": "no reply fitted the schema, however often it tried",
}


class Spent(Struct, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_creation_ephemeral_1h_input_tokens: int = msgspec.field(default=0, name="cacheCreationEphemeral1hInputTokens")


class Tokens(Struct):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class Envelope(Struct, kw_only=True):
    """What we read of a result; versions differ in all but a few fields."""

    type: str
    is_error: bool = False
    subtype: str = ""
    result: str = ""
    structured_output: dict[str, Any] | None = None
    total_cost_usd: float | None = None
    usage: Tokens = msgspec.field(default_factory=Tokens)
    models: dict[str, Spent] = msgspec.field(default_factory=dict, name="modelUsage")
    stop_reason: str | None = None
    terminal_reason: str | None = None
    api_error: str | None = None
    api_error_status: int | None = None


def read(out: bytes, err: bytes, code: int, question: Question, model: str) -> Answer:
    """The answer in what the program printed; raises the trouble that it tells of."""
    envelope = enveloped(out)
    if envelope is None:
        said = quotable((err or out).decode("utf-8", "replace"), question, "")
        if code > 0:
            raise ModelUnavailable(f"{WHERE} gave up (exit code {code}){f': {said}' if said else ''}")
        raise ModelBusy(f"{WHERE} printed no result")
    answer = answer_of(envelope, model)
    if not envelope.is_error and envelope.subtype in ("success", ""):
        return answer
    raise trouble(envelope, answer, question)


def enveloped(out: bytes) -> Envelope | None:
    """The last result among what was printed: one object, a list of messages, or one message in a line."""
    for text in (out, *reversed(out.splitlines())):
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        messages = found if isinstance(found, list) else [found]
        for message in reversed(messages):
            if isinstance(message, dict) and message.get("type") == "result":
                try:
                    return msgspec.convert(message, Envelope)
                except msgspec.ValidationError:
                    return None
    return None


def answer_of(envelope: Envelope, model: str) -> Answer:
    """What was said and spent; `result` repeats the structured output, or stands in for it."""
    if envelope.structured_output is not None:
        text = msgspec.json.encode(envelope.structured_output).decode()
    else:
        text = wording.unwrapped(envelope.result)
    names = sorted(envelope.models, key=lambda name: -envelope.models[name].output_tokens)
    return Answer(
        text=text,
        usage=usage_of(envelope),
        model=names[0] if names else model,
        cost_usd=envelope.total_cost_usd,
    )


def usage_of(envelope: Envelope) -> Usage:
    """Tokens of all requests; the plain usage leaves out those of attempts that came to nothing."""
    if not envelope.models:
        plain = envelope.usage
        return Usage(
            input=plain.input_tokens,
            output=plain.output_tokens,
            cache_read=plain.cache_read_input_tokens,
            cache_write=plain.cache_creation_input_tokens,
        )
    spent = envelope.models.values()
    return Usage(
        input=sum(one.input_tokens for one in spent),
        output=sum(one.output_tokens for one in spent),
        cache_read=sum(one.cache_read_input_tokens for one in spent),
        cache_write=sum(one.cache_creation_input_tokens for one in spent),
        cache_write_1h=sum(one.cache_creation_ephemeral_1h_input_tokens for one in spent),
    )


def trouble(envelope: Envelope, answer: Answer, question: Question) -> ModelError:
    """Which trouble an error is."""
    if ending := ENDINGS.get(envelope.subtype):
        return PaidRefusal(f"{WHERE} ended without an answer: {ending}", answer)
    if envelope.stop_reason == "refusal":
        return PaidRefusal("the model declined to answer", answer)
    if envelope.api_error == "max_output_tokens":
        return PaidRefusal(f"the reply was cut off at {question.most_output} tokens", answer)
    said = quotable(envelope.result, question, "")
    if envelope.terminal_reason == "prompt_too_long":
        return ModelRefused(f"too long for {WHERE}: {said}")
    if envelope.api_error == "connection_failed" and NO_WAY.search(envelope.result):
        return ModelUnavailable(f"{WHERE} can't reach its service: {said}")
    if USED_UP.search(envelope.result):
        return ModelUnavailable(f"{WHERE}: {said}")
    told = STATUS.search(envelope.result)
    if status := envelope.api_error_status or (int(told[1]) if told else None):
        return by_status(status, said, {}, WHERE, ACCESS)
    if NO_LOGIN.search(envelope.result):
        return ModelUnavailable(f"{WHERE} is not logged in; {ACCESS}")
    return ModelBusy(f"{WHERE} failed: {said}")
