"""A real small model behind a real server: what it says is worth little, but all the way there and back is real."""

import json
from collections.abc import Iterator

import msgspec
import pytest

from assay.judges.model.replies import SHAPES, build_schema
from assay.llm import Question
from assay.types import CleanText
from tests.llm.questions import ask, ask_many, question, to
from tests.llm.real import bounded, small_model

pytestmark = pytest.mark.outside


def judging(job: str) -> Question:
    """A short question with a judge's own schema, as far as a small model comes to an end with it."""
    small = json.dumps(bounded(json.loads(build_schema(job)))).encode()
    return question(job=job, task=CleanText("Fill in the form."), schema=small, most_output=1_000)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with small_model() as served:
        yield served


@pytest.mark.parametrize("job", SHAPES)
def test_a_real_model_gives_what_a_judge_reads_through_openai(url, job):
    answer = ask("openai", url, judging(job), name="", timeout_s=180)
    assert msgspec.json.decode(answer.text, type=SHAPES[job])
    assert "model.gguf" in answer.model
    assert answer.usage.output > 5
    assert answer.usage.input + answer.usage.cache_read > 20


@pytest.mark.parametrize("job", SHAPES)
def test_a_real_model_gives_what_a_judge_reads_through_anthropic(job):
    asked = judging(job)
    with small_model(json.loads(asked.schema)) as served:
        answer = ask("anthropic", served, asked, name="any", timeout_s=180)
    assert msgspec.json.decode(answer.text, type=SHAPES[job])
    assert "model.gguf" in answer.model
    assert answer.usage.output > 5
    assert answer.usage.input + answer.usage.cache_read > 20


@pytest.mark.parametrize("backend", ["anthropic", "openai"])
def test_too_long_for_a_real_model_is_refused(url, backend):
    (asked,) = ask_many(to(backend, url, timeout_s=180), [question(material=CleanText("word " * 6_000))])
    assert asked.trouble == "refused"
    assert "too long" in asked.why
