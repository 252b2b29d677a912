"""The store knows which scores stand in whose project."""

import pytest

from assay.stores import RemoteProject, Store

HERE = RemoteProject(host="langfuse.example", project="loom")
OTHERS = [
    RemoteProject(host="langfuse.example", project="mill"),
    RemoteProject(host="elsewhere.example", project="loom"),
]
MONDAY, TUESDAY = "2026-11-09T09:00:00+00:00", "2026-11-10T09:00:00+00:00"


def test_what_was_kept_is_known(store: Store):
    store.written.save_digest(HERE, "one", "d-1", MONDAY)
    store.written.save_digest(HERE, "two", "d-2", TUESDAY)
    assert store.written.load_digests(HERE, ["two", "one", "one", "three"]) == {"one": "d-1", "two": "d-2"}
    tally = store.written.count_scores(HERE)
    assert (tally.scores, tally.last_at) == (2, TUESDAY)


def test_what_is_written_anew_takes_the_place_of_what_was(store: Store):
    store.written.save_digest(HERE, "one", "d-1", MONDAY)
    store.written.save_digest(HERE, "one", "d-2", TUESDAY)
    assert store.written.load_digests(HERE, ["one"]) == {"one": "d-2"}
    assert store.written.count_scores(HERE).scores == 1


@pytest.mark.parametrize("other", OTHERS, ids=["another project", "another server"])
def test_another_project_has_scores_of_its_own(store: Store, other: RemoteProject):
    store.written.save_digest(HERE, "one", "d-1", MONDAY)
    assert store.written.load_digests(other, ["one"]) == {}
    assert (store.written.count_scores(other).scores, store.written.count_scores(other).last_at) == (0, "")
    store.written.save_digest(other, "one", "d-9", TUESDAY)
    assert store.written.load_digests(HERE, ["one"]) == {"one": "d-1"}


def test_thousands_are_looked_up_at_once(store: Store):
    store.written.save_digest(HERE, "n4999", "d", MONDAY)
    assert store.written.load_digests(HERE, (f"n{n}" for n in range(5000))) == {"n4999": "d"}
