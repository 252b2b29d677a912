"""What was made of turns is kept whole, dropped when it is stale, and never in the way of what people said."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.stores import JoinedSession, Store, open_store
from assay.testing.claude_code import build_conversation, encode_lines, write_lines
from assay.types import AuditDraw, PersonCorrection, PersonVerdict
from tests.stores.make_cuts import ONE, TURNS, cut, part, read, write_streams


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_streams(tmp_path / "in")


@pytest.fixture
def store(store_url: str, folder: Path) -> Iterator[Store]:
    with closing(open_store(store_url)) as opened:
        read(opened, folder)
        yield opened


def waiting(store: Store, version: str = "v", *roots: Path) -> list[str]:
    return [one.id for one in store.sessions.list_uncut(version, [str(root) for root in roots] if roots else None)]


def test_a_stream_waits_until_it_is_cut_in_this_version(store: Store, folder: Path):
    assert waiting(store) == ["one", "two"]
    assert waiting(store, "v", folder / "two.jsonl") == ["two"]
    assert store.sessions.save_cuts([cut(store, "one", part("one"))]) == {ONE}
    assert (waiting(store), waiting(store, "w")) == (["two"], ["one", "two"])
    assert [(one.segment.id, one.turns) for one in store.sessions.list_segments(None)] == [("one0", TURNS)]
    assert store.sessions.list_segments([str(folder / "two.jsonl")]) == []


def add_stream(store: Store, folder: Path) -> None:
    write_lines(folder / "three.jsonl", *build_conversation("three", 2))
    read(store, folder)


def grow_stream(store: Store, folder: Path) -> None:
    with (folder / "one.jsonl").open("ab") as file:
        file.write(encode_lines(build_conversation("one", 1, start=100)))
    read(store, folder)


def split_stream(store: Store, _: Path) -> None:
    store.corrections.save_correction(PersonCorrection(kind="split", turn="t"), ONE)


def cut_otherwise(store: Store, _: Path) -> None:
    store.sessions.save_cuts([cut(store, "one", part("one"), version="")])


@pytest.mark.parametrize(
    ("change", "waits"),
    [(add_stream, ["three"]), (grow_stream, ["one"]), (split_stream, ["one"]), (cut_otherwise, ["one"])],
)
def test_that_all_is_cut_is_noted_until_it_is_not(
    change: Callable[[Store, Path], None], waits: list[str], store: Store, folder: Path
):
    store.sessions.note_cut("v")
    assert waiting(store) == ["one", "two"]
    store.sessions.save_cuts([cut(store, name, part(name)) for name in ("one", "two")])
    store.sessions.note_cut("v")
    assert (waiting(store), waiting(store, "w")) == ([], ["one", "two"])
    change(store, folder)
    store.sessions.note_cut("v")
    assert waiting(store) == waits


def test_what_is_read_while_a_store_is_held_is_of_one_moment(store: Store):
    with store.holding():
        assert store.corrections.load_corrections() == []
        store.corrections.save_correction(PersonCorrection(kind="split", turn="t"), ONE)
        with store.holding():
            assert store.corrections.load_corrections() == []
    assert len(store.corrections.load_corrections()) == 1


def list_kept(store: Store) -> list[tuple[str, bytes]]:
    return [(one.segment.id, one.judged) for one in store.sessions.list_segments(None)]


def test_a_cut_of_another_version_is_brought_back_with_all_that_was_judged(store: Store):
    plain = [cut(store, "one", part("one", judged=b"[1]"), part("one", 1)), cut(store, "two", part("two"))]
    store.sessions.save_cuts(plain)
    before = store.sessions.list_segments(None)
    store.sessions.save_cuts([cut(store, "one", part("one", judged=b"[2]"), version="w")])
    assert (waiting(store, "w"), list_kept(store)) == (["two"], [("one0", b"[2]"), ("two0", b"{}")])
    assert (waiting(store), store.sessions.list_segments(None)) == ([], before)
    assert (waiting(store, "w"), list_kept(store)[0]) == (["two"], ("one0", b"[2]"))


def test_a_cut_that_is_set_aside_goes_with_what_it_was_cut_from(store: Store, folder: Path):
    store.sessions.save_cuts([cut(store, "one", part("one")), cut(store, "two", part("two"))])
    store.sessions.save_cuts([cut(store, name, part(name), version="w") for name in ("one", "two")])
    with (folder / "one.jsonl").open("ab") as file:
        file.write(encode_lines(build_conversation("one", 1, start=100)))
    read(store, folder)
    store.corrections.save_correction(PersonCorrection(kind="split", turn="t"), ("claude-code", "two"))
    assert waiting(store) == ["one", "two"]


def test_what_should_be_judged_again_is_not_hidden_by_what_was_before(store: Store):
    store.sessions.save_cuts([cut(store, "one", part("one"))])
    store.sessions.save_cuts([cut(store, "one", part("one"), version="w")])
    store.sessions.save_cuts([cut(store, "one", part("one", judged=b"[3]"), version="")])
    assert (waiting(store), list_kept(store)) == (["one", "two"], [("one0", b"[3]")])


def test_a_stream_that_grew_waits_again_and_what_was_judged_of_it_stays(store: Store, folder: Path):
    store.sessions.save_cuts([cut(store, "one", part("one"), part("one", 1)), cut(store, "two", part("two"))])
    with (folder / "one.jsonl").open("ab") as file:
        file.write(encode_lines(build_conversation("one", 1, start=100)))
    read(store, folder)
    assert waiting(store) == ["one"]
    assert store.sessions.load_inputs([ONE]) == {ONE: {"hash 0", "hash 1"}}
    again = [part("one", judged=b""), part("one", 1, b"[1]"), part("one", 2)]
    assert store.sessions.save_cuts([cut(store, "one", *again)]) == {ONE}
    kept = [(one.segment.id, one.judged) for one in store.sessions.list_segments([str(folder / "one.jsonl")])]
    assert kept == [("one0", b"{}"), ("one1", b"[1]"), ("one2", b"{}")]


def test_a_stream_is_not_cut_by_what_it_was(store: Store, folder: Path):
    old = cut(store, "one", part("one"))
    with (folder / "one.jsonl").open("ab") as file:
        file.write(encode_lines(build_conversation("one", 1, start=100)))
    read(store, folder)
    assert store.sessions.save_cuts([old, cut(store, "two", part("two"))]) == {("claude-code", "two")}
    assert waiting(store) == ["one"]


def test_a_split_that_came_meanwhile_is_not_overlooked(store: Store):
    old = cut(store, "one", part("one"))
    store.corrections.save_correction(PersonCorrection(kind="split", turn="t"), ONE)
    assert store.sessions.save_cuts([old]) == set()
    assert store.sessions.save_cuts([cut(store, "one", part("one"))]) == {ONE}


def test_what_is_not_known_any_more_is_not_taken_as_known(store: Store):
    assert store.sessions.save_cuts([cut(store, "one", part("one", judged=b""))]) == set()
    assert store.sessions.list_segments(None) == []


def test_nobody_cuts_a_stream_that_is_not_there(store: Store):
    assert store.sessions.save_cuts([replace(cut(store, "one"), stream="three")]) == set()


def test_a_stream_may_have_no_segments(store: Store):
    assert store.sessions.save_cuts([cut(store, "one")]) == {ONE}
    assert waiting(store) == ["two"]


def test_corrections_are_kept_in_order(store: Store):
    told = [
        PersonCorrection(kind="rename", turn="b", title="Wool", at="2"),
        PersonCorrection(kind="split", turn="a", at="1"),
        PersonCorrection(kind="merge", turn="a", into="b", at="3"),
        PersonCorrection(kind="rename", turn="b", title="\x1b[31m'; DROP TABLE corrections; --", at="4"),
    ]
    for one in told:
        store.corrections.save_correction(one)
    assert store.corrections.load_corrections() == told


def test_a_session_of_several_segments_replaces_the_one_that_began_alike(store: Store):
    old, new = (JoinedSession(agent="codex", id="a", input=one, judged=one.encode()) for one in ("old", "new"))
    store.sessions.save_joined([old])
    store.sessions.save_joined([new])
    assert store.sessions.load_joined([("codex", "a"), ("codex", "b"), ("claude-code", "a")]) == {("codex", "a"): new}


def test_segments_are_found_by_id_in_order_of_time(store: Store):
    store.sessions.save_cuts([cut(store, "one", part("one", 3), part("one", 1)), cut(store, "two", part("two", 2))])
    assert [one.id for one in store.sessions.find_segments(["one3", "two2", "one1", "none"])] == [
        "one1",
        "two2",
        "one3",
    ]


def test_how_the_last_report_was_made_takes_the_place_of_the_one_before(store: Store):
    assert store.sessions.load_last_report() == b""
    for how in (b"old", b"new"):
        store.sessions.save_last_report(how)
    assert store.sessions.load_last_report() == b"new"


def test_thousands_of_segments_are_looked_up_at_once(store: Store):
    store.sessions.save_cuts([cut(store, "one", part("one"))])
    assert [one.id for one in store.sessions.find_segments(f"one{n}" for n in range(70_000))] == ["one0"]


# --- how sessions ended, by a person's word -------------------------------------------------------


def test_verdicts_are_kept_by_their_time_and_all_of_them(store: Store):
    told = [
        PersonVerdict(turn="a", verdict="landed", why="\x1b[31m'; DROP TABLE verdicts; --", at="2026-03-02", turns=4),
        PersonVerdict(turn="b", verdict="unclear", at="2026-03-01", is_sampled=True),
        PersonVerdict(turn="a", verdict="none", at="2026-03-02"),
        PersonVerdict(turn="a", verdict="landed", at="2026-03-02"),
    ]
    store.corrections.save_verdicts(told[:1])
    store.corrections.save_verdicts(told[1:])
    assert store.corrections.load_verdicts() == [told[1], told[0], *told[2:]]
    assert store.corrections.load_corrections() == []


def test_the_seed_of_draws_never_changes(store: Store):
    assert store.corrections.load_draw() is None
    assert store.corrections.save_draw(AuditDraw(seed="wool", wanted=20)) == AuditDraw(seed="wool", wanted=20)
    assert store.corrections.save_draw(AuditDraw(seed="silk", wanted=40)) == AuditDraw(seed="wool", wanted=40)
    store.sessions.save_last_report(b"how")
    assert store.corrections.load_draw() == AuditDraw(seed="wool", wanted=40)
    assert store.sessions.load_last_report() == b"how"
