"""A real small model behind a real server: what it says is worth little, but all the way there and back is real."""

import json
from collections.abc import Iterator

import pytest

from tests.llm.questions import SCHEMA, ask_many, check, question, to
from tests.llm.real import small_model

SHORT = {**SCHEMA, "properties": {**SCHEMA["properties"], "turn": {"type": "integer", "enum": [1, 2]}}}
ASKED = question(schema=json.dumps(SHORT).encode(), most_output=60)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with small_model(SHORT) as served:
        yield served


@pytest.mark.parametrize("backend", ["anthropic", "openai"])
def test_a_real_model_gives_an_answer_that_fits_the_schema(url, backend):
    model = to(backend, url, name="" if backend == "openai" else "any", timeout_s=120)
    (asked,) = ask_many(model, [ASKED])
    assert asked.trouble is None
    assert check(ASKED, asked.text) == ""
    (call,) = asked.calls
    assert "model.gguf" in call.model
    assert call.usage.output > 5
    assert call.usage.input + call.usage.cache_read > 20


def test_a_real_model_keeps_to_a_schema_that_only_the_request_has():
    with small_model() as served:
        (asked,) = ask_many(to("openai", served, name="", timeout_s=120), [ASKED])
    assert check(ASKED, asked.text) == ""


def test_too_long_for_a_real_model_is_refused(url):
    for backend in ("anthropic", "openai"):
        (asked,) = ask_many(to(backend, url, timeout_s=120), [question(material="word " * 6_000)])
        assert asked.trouble == "refused"
        assert "too long" in asked.why
