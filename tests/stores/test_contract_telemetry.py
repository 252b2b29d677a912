"""The store keeps telemetry: each record once, and what must be read anew."""

from concurrent.futures import ThreadPoolExecutor

from assay.stores import Store
from assay.types import TelemetryRecord


def make_record(n: int, conversation: str = "c", trace: str = "", words: str = "") -> TelemetryRecord:
    name = f"{conversation}{trace}{n}"
    said = {"n": n, "prompt": words} if words else {"n": n}
    return TelemetryRecord(
        id=name, agent="loom", conversation=conversation, trace=trace, order=1000 + n, attributes=said
    )


def list_unread(store: Store, version: str = "1") -> list[tuple[str, int]]:
    return [(one.id, one.records) for one in store.telemetry.list_unread(version)]


def read_all(store: Store, version: str = "1") -> None:
    for one in store.telemetry.list_unread(version):
        store.telemetry.mark_read(one, version)


def test_records_come_back_as_they_were_by_time(store: Store):
    records = [make_record(n, words="a \x00 \ue000 \u20ac word") for n in (3, 1, 2)]
    assert store.telemetry.save_records(records) == 3
    assert store.telemetry.load_records("loom", "c") == sorted(records, key=lambda one: one.order)
    assert store.telemetry.load_records("loom", "d") == store.telemetry.load_records("mill", "c") == []


def test_what_is_sent_again_is_kept_once(store: Store):
    assert store.telemetry.save_records([make_record(1), make_record(1), make_record(2)]) == 2
    read_all(store)
    assert store.telemetry.save_records([make_record(2), make_record(1)]) == 0
    assert list_unread(store) == []
    assert store.telemetry.save_records([make_record(1), make_record(3)]) == 1
    assert list_unread(store) == [("c", 3)]
    assert store.telemetry.save_records([]) == 0


def test_conversations_are_told_apart_and_read_anew_when_something_came_in(store: Store):
    store.telemetry.save_records([make_record(1, "a"), make_record(1, "b"), make_record(2, "a")])
    assert list_unread(store) == [("a", 2), ("b", 1)]
    read_all(store)
    assert list_unread(store) == []
    assert list_unread(store, "2") == [("a", 2), ("b", 1)]
    store.telemetry.save_records([make_record(2, "b")])
    assert list_unread(store) == [("b", 2)]
    assert [(one.agent, one.id) for one in store.telemetry.list_conversations()] == [("loom", "a"), ("loom", "b")]


def test_what_came_in_while_a_conversation_was_read_is_read_too(store: Store):
    store.telemetry.save_records([make_record(1)])
    (listed,) = store.telemetry.list_unread("1")
    store.telemetry.save_records([make_record(2)])
    store.telemetry.mark_read(listed, "1")
    assert list_unread(store) == [("c", 2)]


def test_records_without_a_conversation_go_to_the_one_their_trace_names(store: Store):
    store.telemetry.save_records([make_record(1, "", "t1"), make_record(2, "", "t2")])
    assert list_unread(store) == [("trace-t1", 1), ("trace-t2", 1)]
    read_all(store)
    store.telemetry.save_records([make_record(3, "c", "t1")])
    assert list_unread(store) == [("c", 2), ("trace-t1", 0)]
    assert [(one.order, one.conversation) for one in store.telemetry.load_records("loom", "c")] == [
        (1001, "c"),
        (1003, "c"),
    ]
    read_all(store)
    assert store.telemetry.save_records([make_record(1, "", "t1")]) == 0
    assert [one.id for one in store.telemetry.list_conversations()] == ["c", "trace-t2"]
    assert store.telemetry.save_records([make_record(4, "", "t1")]) == 1
    assert list_unread(store) == [("c", 3), ("trace-t1", 0)]


def test_words_that_were_replaced_are_gone_and_do_not_come_back(store: Store):
    record = make_record(1, words="velvet")
    store.telemetry.save_records([record])
    read_all(store)
    store.telemetry.replace_records([make_record(1)])
    assert store.telemetry.load_records("loom", "c") == [make_record(1)]
    assert store.telemetry.save_records([record]) == 0
    assert store.telemetry.load_records("loom", "c") == [make_record(1)]
    assert list_unread(store) == []


def test_many_senders_at_once_lose_and_double_nothing(store: Store):
    batches = [[make_record(n, f"c{n % 3}") for n in range(start, start + 20)] for start in range(0, 100, 10)]
    with ThreadPoolExecutor(4) as pool:
        new = list(pool.map(store.telemetry.save_records, [*batches, *reversed(batches)]))
    assert sum(new) == 110
    assert [one.records for one in store.telemetry.list_conversations()] == [37, 37, 36]
    assert sum(len(store.telemetry.load_records("loom", f"c{n}")) for n in range(3)) == 110
