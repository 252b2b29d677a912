"""What the tests of this room ask."""

import asyncio
import json
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from assay.config import Model as Settings
from assay.llm import Backend, ModelCall, Question, QuestionResult
from assay.llm.client import Patience, ask_all
from assay.plugins import load_module
from assay.types import CleanText

T = TypeVar("T")
KEY = "sk-not-a-key-5f1c"
ENV = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["pass", "fail"]}, "turn": {"type": "integer"}},
    "required": ["verdict", "turn"],
    "additionalProperties": False,
}
FITS = {"verdict": "pass", "turn": 2}
MATERIAL = "[1] the person wants the loom mended\n[2] the loom was mended, tests passed"


def question(**changed: Any) -> Question:
    given: dict[str, Any] = {
        "job": "session",
        "version": "v1",
        "model": "m",
        "system": CleanText("You judge what became of a goal, and nothing else."),
        "material": CleanText(MATERIAL),
        "task": CleanText("Was the goal reached?"),
        "schema": json.dumps(SCHEMA).encode(),
        "most_output": 200,
    }
    return Question(**given | changed)


def several(count: int) -> list[Question]:
    return [question(material=CleanText(f"{MATERIAL} ({number})")) for number in range(count)]


def check(question: Question, text: str) -> str:
    """What the judges' own check does, for the schema above."""
    try:
        reply = json.loads(text)
    except ValueError:
        return "the reply is no JSON"
    if not isinstance(reply, dict) or set(reply) != {"verdict", "turn"}:
        return "verdict and turn are wanted, and nothing else"
    return "" if reply["verdict"] in ("pass", "fail") else "verdict must be pass or fail"


class Purse:
    """A budget that counts calls."""

    def __init__(self, calls: int = 1_000_000) -> None:
        self.left = calls
        self.paid: list[ModelCall] = []

    def reserve(self, question: Question) -> bool:
        self.left -= 1
        return self.left >= 0

    def record(self, question: Question, call: ModelCall) -> None:
        self.paid.append(call)


class Watch:
    """A clock that goes on when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def patience(self, tries: int = 3) -> Patience:
        return Patience(tries, self.sleep, self.clock)


def connect(backend: str, settings: Settings, env: Mapping[str, str]) -> Backend:
    model: Backend = load_module("llm", backend.replace("-", "_")).connect(settings, env)
    return model


def to(backend: str, url: str, **settings: Any) -> Backend:
    """A connection to a stand-in."""
    given = {"name": "model-1", "timeout_s": 5.0, **settings}
    return connect(backend, Settings(url=f"{url}/v1" if backend == "openai" else url, **given), ENV)


async def closing(model: Backend, work: Coroutine[Any, Any, T]) -> T:
    try:
        return await work
    finally:
        await model.close()


def ask(backend: str, url: str, asked: Question | None = None, **settings: Any) -> Any:
    """One call; what came of it, or what was raised."""

    async def run() -> Any:
        model = to(backend, url, **settings)
        return await closing(model, model.ask(asked or question()))

    return asyncio.run(run())


def ask_many(
    model: Backend,
    questions: Sequence[Question],
    *,
    at_once: int = 4,
    patience: Patience | None = None,
    purse: Any = None,
) -> list[QuestionResult]:
    """What became of all, in the order in which it was known."""
    done: list[QuestionResult] = []
    work = ask_all(
        model,
        questions,
        at_once=at_once,
        patience=patience or Watch().patience(),
        check=check,
        budget=purse or Purse(),
        done=done.append,
    )
    asyncio.run(closing(model, work))
    return done
