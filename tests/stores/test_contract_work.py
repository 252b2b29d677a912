"""The store knows what workers leave for later, and what they saw sealed."""

from assay.llm.contract import ModelCall, QuestionResult
from assay.stores import KeptSeal, Store, Wait
from assay.types import TelemetryRecord, Usage


def make_wait(stream: str, **more: object) -> Wait:
    return Wait(**{"agent": "otel", "stream": stream, "state": "7", "noted_at": 1.5, "due_at": 9.25, **more})  # type: ignore[arg-type]


def make_seal(id: str, **more: object) -> KeptSeal:
    return KeptSeal(**{"agent": "otel", "id": id, "signal": "commit", "at": "b", "ended_at": "a", **more})  # type: ignore[arg-type]


def test_waits_are_kept_by_stream_until_they_are_dropped(store: Store):
    one, other = make_wait("a"), make_wait("b \x00 €", tries=3, why="it was tried three times")
    store.work.save_waits([one, other])
    store.work.save_waits([make_wait("a", tries=1)])
    assert store.work.load_waits() == {("otel", "a"): make_wait("a", tries=1), other.name: other}
    store.work.drop_waits([("otel", "a"), ("otel", "nobody")])
    store.work.drop_waits([])
    store.work.save_waits([])
    assert [*store.work.load_waits()] == [other.name]


def test_seals_are_kept_by_session_with_how_often_each_was_opened_again(store: Store):
    store.work.save_seals([make_seal("a"), make_seal("b", opened=2)])
    store.work.save_seals([make_seal("a", signal="", opened=1)])
    store.work.save_seals([])
    assert store.work.load_seals([("otel", "a"), ("otel", "c")]) == {("otel", "a"): make_seal("a", signal="", opened=1)}
    assert store.work.count_opened() == 2


def test_conversations_to_be_read_are_counted(store: Store):
    store.telemetry.save_records([TelemetryRecord(id=str(n), agent="loom", conversation=f"c{n}") for n in range(3)])
    assert store.work.count_unread("1") == 3
    store.telemetry.mark_read(store.telemetry.list_unread("1")[0], "1")
    assert store.work.count_unread("1") == 2
    assert store.work.count_unread("2") == 3


def test_what_models_cost_is_summed_from_a_time_on(store: Store):
    for n, cost in enumerate((0.25, None, 0.5)):
        call = ModelCall(
            at=f"2026-03-0{n + 1}T00:00:00+00:00", model="m", usage=Usage(), seconds=1, outcome="ok", cost_usd=cost
        )
        store.answers.save_answer(QuestionResult(key=str(n), job="j", version="v", text="", calls=(call,)), "b")
    assert store.work.sum_costs("2026-03-01") == 0.75
    assert store.work.sum_costs("2026-03-02") == 0.5
    assert store.work.sum_costs("2026-04-01") == 0.0


DAY, LATER, NEXT_DAY = "2026-03-01T00:00:00.000+00:00", "2026-03-01T09:00:00.000+00:00", "2026-03-02T00:00:00.000+00:00"


def keep_call(store: Store, key: str, at: str, cost: float) -> None:
    call = ModelCall(at=at, model="m", usage=Usage(), seconds=1, outcome="ok", cost_usd=cost)
    store.answers.save_answer(QuestionResult(key=key, job="j", version="v", text="", calls=(call,)), "b")


def test_what_is_set_aside_counts_with_what_was_spent_until_it_is_released(store: Store):
    keep_call(store, "kept", LATER, 0.5)
    assert store.work.reserve_cost("a", 0.25, 1.0, DAY, LATER)
    assert not store.work.reserve_cost("b", 0.5, 1.0, DAY, LATER)
    assert store.work.reserve_cost("a", 0.5, 1.0, DAY, LATER)  # its own takes its own place
    store.work.settle_cost("a", 0.125)
    store.work.settle_cost("nobody", 9.0)
    assert store.work.reserve_cost("b", 0.375, 1.0, DAY, LATER)
    store.work.release_costs(["a", "nobody"])
    store.work.release_costs([])
    assert store.work.reserve_cost("c", 0.125, 1.0, DAY, LATER)
    assert not store.work.reserve_cost("d", 0.125, 1.0, DAY, LATER)


def test_what_somebody_set_aside_and_never_released_counts_for_as_long_as_a_call_would(store: Store):
    assert store.work.reserve_cost("killed", 1.0, 1.0, DAY, LATER)
    assert not store.work.reserve_cost("next", 0.5, 1.0, DAY, LATER)
    assert store.work.reserve_cost("next", 1.0, 1.0, NEXT_DAY, NEXT_DAY)
