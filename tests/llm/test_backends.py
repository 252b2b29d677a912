"""Both HTTP backends, against a stand-in on a real socket."""

import asyncio
import importlib
import json
import socket
import time

import pytest

from assay.config import Model as Settings
from assay.errors import ModelBusy, ModelRefused, ModelUnavailable
from assay.llm import PaidRefusal
from assay.testing.models import (
    BrokenReply,
    DribbledReply,
    EarlyStop,
    ErrorStatus,
    ModelServer,
    RawBody,
    SlowReply,
    reply_in_turn,
)
from assay.types import CleanText
from tests.llm.questions import ENV, FITS, KEY, MATERIAL, SCHEMA, ask, connect, question, to

HTTP = ["anthropic", "openai"]
LONG = CleanText("a turn with many words\n" * 1_000)
both = pytest.mark.parametrize("backend", HTTP)


def says(*replies):
    return ModelServer(reply_in_turn(*replies))


@both
def test_an_answer_comes_with_its_model_and_tokens(backend):
    with says(FITS) as service:
        answer = ask(backend, service.url)
    assert json.loads(answer.text) == FITS
    assert answer.model == "model-1"
    assert answer.usage.input > 20
    assert answer.usage.output > 3


@both
def test_a_question_is_sent_with_its_schema_and_temperature_0_and_nothing_is_said_twice(backend):
    with says(FITS) as service:
        ask(backend, service.url)
    (request,) = service.calls
    assert request.job == "session"
    assert request.body["temperature"] == 0
    sent = json.dumps(request.body)
    assert json.dumps(SCHEMA) in sent
    for text in (question().system, question().task, json.dumps(MATERIAL)[1:-1]):
        assert sent.count(text) == 1


@both
def test_further_votes_are_asked_at_temperature_0_too(backend):
    with says(FITS) as service:
        ask(backend, service.url, question(sample=1))
    assert service.calls[0].body["temperature"] == 0


@both
@pytest.mark.parametrize("reply", ['```json\n{"verdict": "pass", "turn": 2}\n```', '\n{"verdict": "pass", "turn": 2} '])
def test_a_reply_loses_its_wrapping(backend, reply):
    with says(reply) as service:
        assert json.loads(ask(backend, service.url).text) == FITS


@both
def test_an_object_in_the_middle_of_prose_is_no_answer(backend):
    prose = 'The transcript says {"verdict": "pass", "turn": 2}, so that is it.'
    with says(prose) as service:
        assert ask(backend, service.url).text == prose


@both
def test_nothing_said_is_an_empty_answer(backend):
    with says("") as service:
        assert ask(backend, service.url).text == ""


FAILURES = [
    (ErrorStatus(401), ModelUnavailable, "_API_KEY"),
    (ErrorStatus(403), ModelUnavailable, "_API_KEY"),
    (ErrorStatus(404, "no model of this name"), ModelUnavailable, "model.name"),
    (ErrorStatus(400, "Your credit balance is too low"), ModelUnavailable, "credit balance"),
    (ErrorStatus(429, "You exceeded your current quota"), ModelUnavailable, "quota"),
    (ErrorStatus(400, "prompt is too long: 250000 tokens > 200000"), ModelRefused, "too long"),
    (ErrorStatus(413), ModelRefused, "too long"),
    (ErrorStatus(400, "messages: odd"), ModelRefused, "messages: odd"),
    (ErrorStatus(408), ModelBusy, "408"),
    (ErrorStatus(409), ModelBusy, "409"),
    (ErrorStatus(429), ModelBusy, "too much to do"),
    (ErrorStatus(500), ModelBusy, "500"),
    (ErrorStatus(503), ModelBusy, "503"),
    (ErrorStatus(529), ModelBusy, "too much to do"),
    (BrokenReply(), ModelBusy, "dropped"),
    (RawBody(b"{not JSON"), ModelBusy, "no reply"),
    (RawBody(b"<html>gateway</html>", "text/html"), ModelBusy, "no reply"),
    (RawBody(b'{"content": 5, "choices": 5}'), ModelBusy, "no reply"),
    (EarlyStop("refusal"), PaidRefusal, "declined"),
    (EarlyStop("max_tokens", '{"verdict": "pa'), PaidRefusal, "cut off at 200 tokens"),
]


@both
@pytest.mark.parametrize(("reply", "kind", "why"), FAILURES, ids=lambda value: repr(value)[:40])
def test_every_failure_says_whether_to_ask_again(backend, reply, kind, why):
    with says(reply) as service, pytest.raises(kind) as failed:
        ask(backend, service.url)
    assert type(failed.value) is kind
    assert why in str(failed.value)
    assert len(str(failed.value)) < 400
    assert len(service.calls) == 1


@both
def test_a_refusal_that_was_paid_for_says_what_it_cost(backend):
    with says(EarlyStop("max_tokens", "half a word")) as service, pytest.raises(PaidRefusal) as failed:
        ask(backend, service.url)
    assert failed.value.answer.usage.input > 20


@both
@pytest.mark.parametrize(
    ("headers", "wait_s"), [({"retry-after": "7"}, 7.0), ({"retry-after-ms": "1500"}, 1.5), ({}, 1.0)]
)
def test_a_crowded_service_says_how_long_to_wait(backend, headers, wait_s):
    with says(ErrorStatus(429, headers=headers)) as service, pytest.raises(ModelBusy) as failed:
        ask(backend, service.url)
    assert failed.value.wait_s == wait_s


@both
@pytest.mark.parametrize("reply", [SlowReply(30, FITS), DribbledReply()])
def test_a_service_that_comes_to_no_end_is_left_after_the_timeout(backend, reply):
    importlib.import_module(backend)  # which takes its time
    with says(reply) as service:
        began = time.monotonic()
        with pytest.raises(ModelBusy, match=r"within 0\.5 s"):
            ask(backend, service.url, timeout_s=0.5)
    assert time.monotonic() - began < 7


@both
def test_nobody_at_the_address_answers_nobody(backend):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(ModelUnavailable, match="can't be reached"):
        ask(backend, f"http://127.0.0.1:{port}")


@both
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 529])
def test_no_message_tells_the_key_or_the_words_of_the_question(backend, status):
    echo = f"Bad key {KEY} in request: {MATERIAL}"
    with says(ErrorStatus(status, echo)) as service, pytest.raises(Exception) as failed:  # noqa: PT011
        ask(backend, service.url)
    assert KEY not in str(failed.value)
    assert "the loom was mended" not in str(failed.value)
    assert service.calls


@both
def test_a_message_of_a_service_is_one_short_line(backend):
    with (
        says(ErrorStatus(400, "bad\n\x1b[31mred\x07 " + "x" * 5_000)) as service,
        pytest.raises(ModelRefused) as failed,
    ):
        ask(backend, service.url)
    assert str(failed.value).isprintable()
    assert len(str(failed.value)) < 300


@both
def test_a_parameter_that_a_model_refuses_is_done_without_from_then_on(backend):
    def picky(job, text):
        refused = "temperature" in service.calls[-1].body
        return ErrorStatus(400, "`temperature` is deprecated for this model.") if refused else FITS

    with ModelServer(picky) as service:
        assert json.loads(ask(backend, service.url).text) == FITS
    assert len(service.calls) == 2


def test_without_a_package_the_message_says_what_to_install(monkeypatch):
    import sys

    for package in HTTP:
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ModelUnavailable, match=rf"pip install 'assay\[{package}\]'"):
            connect(package, Settings(), ENV)


@pytest.mark.parametrize(("backend", "variable"), [("anthropic", "ANTHROPIC_API_KEY"), ("openai", "OPENAI_API_KEY")])
def test_without_a_key_the_message_names_the_variable(backend, variable):
    with pytest.raises(ModelUnavailable, match=variable):
        connect(backend, Settings(), {})


@both
def test_a_service_of_ones_own_needs_no_key(backend):
    with says(FITS) as service:
        url = f"{service.url}/v1"
        model = connect(backend, Settings(url=url, name="m"), {})

        async def run():
            try:
                return await model.ask(question())
            finally:
                await model.close()

        assert json.loads(asyncio.run(run()).text) == FITS


# --- anthropic ------------------------------------------------------------------------------------


def to_the_service_itself(url: str):
    """As if the stand-in were Anthropic's own address, where prefixes are cached."""
    model = to("anthropic", url, name="claude-haiku-4-5")
    model.caches_from = 4096
    return model


def ask_itself(url: str, *questions):
    async def run():
        model = to_the_service_itself(url)
        try:
            return [await model.ask(one) for one in questions]
        finally:
            await model.close()

    return asyncio.run(run())


def test_judges_of_a_session_read_one_cached_prefix():
    with says(FITS) as service:
        answers = ask_itself(
            service.url, *(question(material=LONG, job=job, task=CleanText(f"{job}?")) for job in ("topic", "session"))
        )
    first, second = (answer.usage for answer in answers)
    assert first.cache_write > 5_000
    assert second.cache_read == first.cache_write
    assert second.cache_write == 0
    assert second.input < 200
    marked = [
        block for call in service.calls for block in call.body["messages"][0]["content"] if "cache_control" in block
    ]
    assert [block["text"] for block in marked] == [LONG, LONG]
    assert not any("tools" in call.body for call in service.calls)


def test_a_prefix_too_short_to_be_cached_has_its_schema_enforced():
    with says(FITS) as service:
        ask_itself(service.url, question())
    (call,) = service.calls
    assert call.body["tools"][0]["input_schema"] == SCHEMA
    assert call.body["tool_choice"] == {"type": "tool", "name": "session"}
    assert "cache_control" not in json.dumps(call.body)


def test_a_reply_given_again_has_its_schema_enforced_and_is_told_what_was_wrong():
    with says(FITS) as service:
        ask_itself(service.url, question(material=LONG, guidance=CleanText("verdict was missing")))
    (call,) = service.calls
    assert call.body["tools"][0]["input_schema"] == SCHEMA
    assert "verdict was missing" in call.text


def test_a_model_that_can_not_be_made_to_call_a_tool_is_told_in_words():
    def picky(job, text):
        refused = "tool_choice" in service.calls[-1].body
        return ErrorStatus(400, "tool_choice: not with this model") if refused else FITS

    with ModelServer(picky) as service:
        assert json.loads(ask("anthropic", service.url).text) == FITS
    assert json.dumps(SCHEMA) in service.calls[-1].text


@pytest.mark.parametrize(
    ("model", "tokens"), [("claude-haiku-4-5", 4096), ("claude-haiku-4-5-20251001", 4096), ("claude-sonnet-4-5", 1024)]
)
def test_the_shortest_cached_prefix_depends_on_the_model(model, tokens):
    assert connect("anthropic", Settings(name=model), ENV).caches_from == tokens


def test_a_token_is_sent_where_there_is_no_key():
    with says(FITS) as service:
        model = connect("anthropic", Settings(url=service.url), {"ANTHROPIC_AUTH_TOKEN": "tok-1"})

        async def run():
            await model.ask(question())
            await model.close()

        asyncio.run(run())
    assert service.calls[0].headers["authorization"] == "Bearer tok-1"


# --- openai ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "refused", "form"), [
    (400, ("json_schema",), "json_object"),
    (422, ("json_schema",), "json_object"),
    (500, ("json_schema",), "json_object"),
    (400, ("json_schema", "json_object"), None),
])  # fmt: skip
def test_an_endpoint_without_schemas_gets_the_schema_in_words(status, refused, form):
    def picky(job, text):
        given = service.calls[-1].body.get("response_format", {}).get("type")
        return ErrorStatus(status, f"response_format {given} is unknown here") if given in refused else FITS

    with ModelServer(picky) as service:
        assert json.loads(ask("openai", service.url).text) == FITS
    last = service.calls[-1]
    assert last.body.get("response_format", {}).get("type") == form
    assert json.dumps(SCHEMA) in last.text
    assert len(service.calls) == len(refused) + 1


def test_what_an_endpoint_refused_once_is_not_tried_again():
    def picky(job, text):
        body = service.calls[-1].body
        return ErrorStatus(400, "response_format: no") if "response_format" in body else FITS

    async def run(url):
        model = to("openai", url)
        try:
            await asyncio.gather(*(model.ask(question()) for _ in range(4)))
            before = len(service.calls)
            await model.ask(question())
            return len(service.calls) - before
        finally:
            await model.close()

    with ModelServer(picky) as service:
        assert asyncio.run(run(service.url)) == 1


def test_a_model_that_wants_max_completion_tokens_gets_them():
    def picky(job, text):
        old = "max_tokens" in service.calls[-1].body
        why = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return ErrorStatus(400, why) if old else FITS

    with ModelServer(picky) as service:
        ask("openai", service.url)
    assert service.calls[-1].body["max_completion_tokens"] >= 200


def test_cached_tokens_are_no_input():
    with says(FITS) as service:
        usage = ask("openai", service.url).usage
    assert usage.cache_read == 3
    assert usage.input == len(json.dumps(service.calls[0].body["messages"])) // 4 - 3


def test_an_endpoint_of_ones_own_is_asked_which_model_it_has():
    with says(FITS) as service:
        assert to("openai", service.url, name="").model == "stand-in-1"


def test_an_endpoint_that_does_not_say_which_model_it_has_is_named():
    with says(FITS) as service, pytest.raises(ModelUnavailable, match=r"model\.name"):
        to("openai", f"{service.url}/elsewhere", name="")
