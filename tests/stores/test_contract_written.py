"""The store knows which scores stand in whose project."""

import pytest

from assay.stores import UPLOADED, RemoteProject, Store, WrittenRow

HERE = RemoteProject(host="langfuse.example", project="loom")
OTHERS = [
    RemoteProject(host="langfuse.example", project="mill"),
    RemoteProject(host="elsewhere.example", project="loom"),
]
MONDAY, TUESDAY = "2026-11-09T09:00:00+00:00", "2026-11-10T09:00:00+00:00"


def test_what_was_kept_is_known(store: Store):
    store.written.save_row(HERE, WrittenRow(id="one", digest="d-1"), MONDAY)
    store.written.save_row(HERE, WrittenRow(id="two", digest="d-2"), TUESDAY)
    assert store.written.load_digests(HERE, ["two", "one", "one", "three"]) == {"one": "d-1", "two": "d-2"}
    tally = store.written.count_scores(HERE)
    assert (tally.scores, tally.last_at) == (2, TUESDAY)


def test_what_is_written_anew_takes_the_place_of_what_was(store: Store):
    store.written.save_row(HERE, WrittenRow(id="one", digest="d-1"), MONDAY)
    store.written.save_row(HERE, WrittenRow(id="one", digest="d-2"), TUESDAY)
    assert store.written.load_digests(HERE, ["one"]) == {"one": "d-2"}
    assert store.written.count_scores(HERE).scores == 1


@pytest.mark.parametrize("other", OTHERS, ids=["another project", "another server"])
def test_another_project_has_scores_of_its_own(store: Store, other: RemoteProject):
    store.written.save_row(HERE, WrittenRow(id="one", digest="d-1"), MONDAY)
    assert store.written.load_digests(other, ["one"]) == {}
    assert (store.written.count_scores(other).scores, store.written.count_scores(other).last_at) == (0, "")
    store.written.save_row(other, WrittenRow(id="one", digest="d-9"), TUESDAY)
    assert store.written.load_digests(HERE, ["one"]) == {"one": "d-1"}


def test_thousands_are_looked_up_at_once(store: Store):
    store.written.save_row(HERE, WrittenRow(id="n4999", digest="d"), MONDAY)
    assert store.written.load_digests(HERE, (f"n{n}" for n in range(5000))) == {"n4999": "d"}


def test_rows_are_found_by_their_session_and_forgotten_by_their_ids(store: Store):
    rows = [
        WrittenRow(
            id=f"{session}-{n}", digest="d", session=session, subject="a1", name="n", family="f", environment="e"
        )
        for session in ("s", "t")
        for n in range(2)
    ]
    for row in rows:
        store.written.save_row(HERE, row, MONDAY)
    assert store.written.list_rows(HERE, ["t", "none"]) == rows[2:]
    store.written.forget_rows(HERE, ["s-0", "t-1"])
    assert [row.id for row in store.written.list_rows(HERE)] == ["s-1", "t-0"]
    assert store.written.list_rows(OTHERS[0]) == []


def test_traces_that_were_sent_are_no_scores(store: Store):
    store.written.save_row(HERE, WrittenRow(id="one", digest="d", family=UPLOADED), MONDAY)
    assert store.written.count_scores(HERE).scores == 0
