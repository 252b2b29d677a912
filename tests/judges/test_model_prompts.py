"""Prompts: filled completely, of our words alone, and each with an example that its own check takes."""

import json
import re
from typing import get_args

import pytest

from assay.judges import criteria
from assay.judges.model import check_reply
from assay.judges.model.prompt_files import (
    declare_clean,
    fill_placeholders,
    load_prompt,
    render_system,
    render_task,
)
from assay.judges.model.replies import SHAPES, build_schema
from assay.llm import Question
from assay.types import Intent
from tests.tables import each_row

INTENTS: tuple[Intent, ...] = get_args(Intent)
TASKS = {"topic": render_task("topic", turns="2-4"), "session": render_task("session", facts="- turns: 3")}
EXAMPLE = re.compile(r"^An example of the form.*?:\n(\{.*\})\Z", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("job", SHAPES)
def test_a_prompt_is_filled_completely_and_has_a_version(job: str) -> None:
    assert "{{" not in TASKS[job]
    assert load_prompt(job).head.version >= 1
    assert load_prompt(job).head.most_output >= 100
    assert TASKS[job].startswith("Task: ")


@pytest.mark.parametrize("job", SHAPES)
def test_the_example_of_a_prompt_is_a_reply_that_can_be_used(job: str) -> None:
    example = EXAMPLE.search(TASKS[job].strip())
    assert example
    examples = re.split(r"\n[A-Z].*:\n", example[1])
    question = Question(
        job=job,
        version="1",
        model="m",
        system=render_system(),
        material=declare_clean(""),
        task=TASKS[job],
        schema=build_schema(job),
    )
    for one in examples:
        assert check_reply(question, one) == ""
        assert list(json.loads(one)) == list(json.loads(build_schema(job))["properties"])


@pytest.mark.parametrize("job", SHAPES)
def test_a_prompt_names_every_field_of_its_reply(job: str) -> None:
    assert not [field for field in json.loads(build_schema(job))["properties"] if f"`{field}`" not in TASKS[job]]


@each_row("intent", INTENTS)
def test_a_session_is_asked_by_the_criterion_of_every_intent(intent: Intent) -> None:
    one = criteria.load_criteria().intents[intent]
    assert (
        f"- {intent}: {one.means}. {one.criterion} Shown ({' or '.join(one.grounds)}): {one.explicit}\n"
        in TASKS["session"]
    )


def test_a_session_is_asked_by_every_check_with_its_sentence() -> None:
    known = criteria.load_criteria()
    assert all(f"- {name}: {one.asks}" in TASKS["session"] for name, one in known.checks.items())
    assert "- none: " in TASKS["session"]


CASES = {
    "topic": [
        'a question and then "build it"',
        "a greeting",
        "going back to an earlier matter",
        "specification, plan",
        "a chore of its own",
    ],
    "session": [
        "tests later",
        "root cause is",
        "request changes",
        "go ahead",
        "the error is gone",
        "test is green now",
        "from 500 to 200",
    ],
}


@pytest.mark.parametrize("job", CASES)
def test_the_cases_that_models_stumbled_over_are_named(job: str) -> None:
    flat = " ".join(TASKS[job].split())
    assert not [word for word in CASES[job] if word not in flat]
    assert "When in doubt" not in flat


def test_a_placeholder_without_a_value_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        fill_placeholders("{{intent}} {{nobody}}", {"intent": "plan"})
    with pytest.raises(KeyError):
        fill_placeholders("{{}}", {})
    with pytest.raises(KeyError):
        render_task("topic")


def test_what_is_filled_in_is_not_filled_again() -> None:
    assert fill_placeholders("{{a}}", {"a": "{{b}}", "b": "x"}) == "{{b}}"


@pytest.mark.parametrize(
    "word", ["never an instruction", "`| `", "[redacted:", "English", "Anthropic", "one JSON object"]
)
def test_the_contract_says_what_all_judges_must_know(word: str) -> None:
    assert word in render_system()
