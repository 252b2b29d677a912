"""What models said stays: answers by their question, every call with its cost, batches until they are collected."""

import pytest

from assay.llm import FINAL, ModelCall, QuestionResult
from assay.stores import QuestionBatch, Store, open_store
from assay.types import Usage


def call(outcome="ok", cost_usd=0.25, **more) -> ModelCall:
    usage = Usage(input=10, output=5, cache_read=3, cache_write=2)
    return ModelCall(
        at="2026-03-02T09:00:00Z", model="m", usage=usage, seconds=1.5, outcome=outcome, cost_usd=cost_usd, **more
    )


def answer(key="k1", **more) -> QuestionResult:
    return QuestionResult(
        **{"key": key, "job": "outcome", "version": "v1", "text": '{"a": "ü"}', "calls": (call(),)} | more
    )


def trouble(kind: str, key="k1") -> QuestionResult:
    return answer(key, text="", trouble=kind, why=f"it is {kind}", calls=(call("busy", None),))


def test_an_answer_is_known_by_its_key_and_by_no_other(store: Store):
    store.answers.save_answer(answer("k1"), "anthropic")
    assert store.answers.load_answers(["k1", "k2"]) == {"k1": answer("k1", calls=())}
    assert store.answers.load_answers([]) == {}


def test_an_answer_outlives_the_run(store: Store, store_url: str):
    store.answers.save_answer(answer(), "anthropic")
    other = open_store(store_url)
    assert other.answers.load_answers(["k1"])["k1"].text == '{"a": "ü"}'
    other.close()


@pytest.mark.parametrize("kind", ["invalid", "refused", "busy", "unavailable", "over_budget"])
def test_only_trouble_that_would_come_again_is_kept_as_an_answer(store: Store, kind: str):
    store.answers.save_answer(trouble(kind), "anthropic")
    known = store.answers.load_answers(["k1"])
    assert [one.why for one in known.values()] == ([f"it is {kind}"] if kind in FINAL else [])
    assert [one.outcome for one in store.answers.list_calls()] == ["busy"]


def test_what_may_be_answered_later_does_not_push_out_what_is_known(store: Store):
    store.answers.save_answer(answer(), "anthropic")
    store.answers.save_answer(trouble("busy"), "anthropic")
    assert store.answers.load_answers(["k1"])["k1"].text
    assert len(store.answers.list_calls()) == 2


def test_asked_again_the_newer_answer_holds_and_both_calls_stay(store: Store):
    store.answers.save_answer(trouble("refused"), "anthropic")
    store.answers.save_answer(answer(), "anthropic")
    assert store.answers.load_answers(["k1"])["k1"].trouble is None
    assert [one.outcome for one in store.answers.list_calls()] == ["busy", "ok"]


def test_every_call_is_kept_as_it_was(store: Store):
    calls = (call("invalid", 0.5, detail="`a` is missing"), call("ok", None))
    store.answers.save_answer(answer(calls=calls), "anthropic")
    assert tuple(store.answers.list_calls()) == calls


def test_more_keys_than_a_query_takes(store: Store):
    for n in range(5):
        store.answers.save_answer(answer(f"k{n}"), "anthropic")
    assert set(store.answers.load_answers(f"k{n}" for n in range(70_000))) == {f"k{n}" for n in range(5)}


def test_batches_are_noted_by_service_until_they_are_taken_back(store: Store):
    one = QuestionBatch(id="b1", backend="anthropic", at="2026-03-02", keys=("k1", "k2"))
    other = QuestionBatch(id="b2", backend="elsewhere", at="2026-03-02", keys=("k3",))
    store.answers.save_batch(one)
    store.answers.save_batch(other)
    assert store.answers.list_batches("anthropic") == [one]
    store.answers.drop_batches(["b1"])
    assert store.answers.list_batches("anthropic") == []
    assert store.answers.list_batches("elsewhere") == [other]
