"""What became of sessions' lines is kept by session, one row each."""

from assay.stores import Fate, Store

LOOM = Fate(agent="codex", id="a", input="lines", seen="tip", final_at=1_800_000_000, found=b"{}", is_told=True)


def test_a_fate_is_given_back_as_it_was_kept(store: Store):
    store.rework.save_fates([LOOM, Fate(agent="claude-code", id="a")])
    assert store.rework.load_fates([("codex", "a"), ("codex", "b"), ("claude-code", "a")]) == {
        ("codex", "a"): LOOM,
        ("claude-code", "a"): Fate(agent="claude-code", id="a"),
    }


def test_a_later_fate_takes_the_place_of_the_one_before(store: Store):
    later = Fate(agent="codex", id="a", input="others")
    store.rework.save_fates([LOOM])
    store.rework.save_fates([later])
    assert store.rework.load_fates([LOOM.name]) == {LOOM.name: later}


def test_many_are_kept_and_found(store: Store):
    many = [Fate(agent="codex", id=f"{n:06}") for n in range(1200)]
    store.rework.save_fates(many)
    assert len(store.rework.load_fates(one.name for one in many)) == 1200
    store.rework.save_fates([])
