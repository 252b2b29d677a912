"""Workers that ask a model keep to one limit for any 24 hours of a store, however many ask and whoever is killed."""

import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assay.config import Config, Model
from assay.llm import ModelCall, Question, QuestionResult
from assay.pipeline.cost import CostLimit, SharedCostLimit, find_price
from assay.pipeline.inputs import find_files
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.pipeline.working import StoreWorker
from assay.stores import Store, open_store
from assay.testing.claude_code import write_lines
from assay.testing.models import FakeModel, ModelServer
from assay.types import CleanText, Usage
from tests.llm.judging import agreeable, talk

PRICED = Model(input_usd=1.0, output_usd=10.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


def make_question(name: str) -> Question:
    words = CleanText("weave " * 100)
    return Question(
        job="topic", version="1", model="loom", system=words, material=words, task=CleanText(name), schema=b"{}"
    )


def make_call(cost: float, at: str = "") -> ModelCall:
    moment = at or datetime.now(UTC).isoformat(timespec="milliseconds")
    return ModelCall(at=moment, model="loom", usage=Usage(), seconds=1, outcome="ok", cost_usd=cost)


def open_purse(store: Store, limit: float) -> SharedCostLimit:
    model = FakeModel(lambda *_: "")
    return SharedCostLimit(limit, find_price("loom", PRICED), 1.0, model, store.work)


def find_dearest() -> float:
    purse = CostLimit(1.0, find_price("loom", PRICED), 1.0, FakeModel(lambda *_: ""))
    assert purse.cost
    return purse.dearest(make_question("a"), purse.cost)


def test_many_who_ask_at_once_set_aside_no_more_than_the_limit(store: Store):
    purses = [open_purse(store, 5.5 * find_dearest()) for _ in range(4)]
    taken: list[str] = []

    def ask(n: int) -> None:
        taken.extend(f"{n}-{k}" for k in range(4) if purses[n].reserve(make_question(f"{n}-{k}")))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(taken) == 5


def test_what_a_call_cost_counts_until_it_is_kept_and_from_then_on_with_the_calls(store: Store):
    dearest = find_dearest()
    one, other = (open_purse(store, 2.1 * dearest) for _ in range(2))
    question, half = make_question("a"), make_call(0.5 * dearest)
    assert one.reserve(question)
    one.record(question, half)
    assert other.reserve(make_question("b"))
    assert not other.reserve(make_question("c"))
    assert not one.reserve(question)  # with guidance: half is paid, a whole call more is too much
    store.answers.save_answer(
        QuestionResult(key=question.key, job="topic", version="1", text="", calls=(half,)), "fake"
    )
    one.release(question.key)
    other.record(make_question("b"), make_call(0.5 * dearest))
    assert other.reserve(make_question("c"))


def test_what_somebody_who_was_killed_had_under_way_counts_as_spent(store: Store):
    limit = 1.5 * find_dearest()
    assert open_purse(store, limit).reserve(make_question("a"))
    assert not open_purse(store, limit).reserve(make_question("a"))


@pytest.mark.parametrize(("hours", "asked"), [(23, False), (25, True)])
def test_a_worker_asks_nothing_once_the_limit_of_the_last_24_hours_is_spent(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hours: int, asked: bool
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    write_lines(tmp_path / "in" / "t.jsonl", *talk("t"))
    scan(store, find_files([tmp_path / "in"]), 1, ignore_progress)
    ago = (datetime.now(UTC) - timedelta(hours=hours)).isoformat(timespec="milliseconds")
    before = QuestionResult(key="before", job="topic", version="1", text="", calls=(make_call(1.0, ago),))
    store.answers.save_answer(before, "anthropic")
    with ModelServer(agreeable) as service:
        config = Config(judge="anthropic", fallback="offline", model=Model(url=service.url, max_cost=1.0))
        StoreWorker(store, config, asks=True).work()
        assert bool(service.calls) is asked
    assert store.work.reserve_cost("rest", 0.9, 1.0, ago[:4], ago) is False
    released = store.work.reserve_cost("rest", 0.5, 1.0, datetime.now(UTC).isoformat(timespec="milliseconds"), "z")
    assert released, "nothing is set aside any more"
