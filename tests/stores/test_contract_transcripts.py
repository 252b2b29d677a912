"""Files, turns and streams as every store keeps them."""

import os
from array import array
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.pipeline import scan as scanning
from assay.pipeline.inputs import find_files
from assay.stores import SettledStream, Store, open_store
from assay.testing.claude_code import build_conversation, build_prompt, write_lines
from assay.types import FileState, Part, ReadPosition, SkippedLine


def read_into(store: Store, *paths: Path) -> scanning.Changes:
    return scanning.scan(store, find_files(paths), 1, lambda done, total: None)


def keep(store: Store, *paths: str) -> None:
    for path in paths:
        assert store.transcripts.save_file(FileState(path=path, place=ReadPosition(size=1)), None)


@pytest.mark.parametrize(
    ("root", "inside"),
    [
        ("/a/b", ["/a/b", "/a/b/c.jsonl", "/a/b/d/e.jsonl"]),
        ("/a/bc", ["/a/bc/x.jsonl"]),
        ("/a/b.jsonl", ["/a/b.jsonl"]),
        ("/a/%", ["/a/%/x.jsonl"]),
        ("/a/_", ["/a/_/x.jsonl"]),
        ("/a/it's", ["/a/it's/x.jsonl"]),
        ("/a/é", ["/a/é/x.jsonl"]),
        ("/a/\n", ["/a/\n/x.jsonl"]),
        ("/A", []),
        ("/a/nothing", []),
    ],
)
def test_a_folder_holds_what_is_below_it_and_not_its_namesakes(store: Store, root: str, inside: list[str]):
    keep(
        store, "/a/b", "/a/b/c.jsonl", "/a/b/d/e.jsonl", "/a/bc/x.jsonl", "/a/b.jsonl", "/a/b0", "/a/b-/x.jsonl",
        "/a/%/x.jsonl", "/a/_/x.jsonl", "/a/q/x.jsonl", "/a/it's/x.jsonl", "/a/é/x.jsonl", "/a/\n/x.jsonl",
    )  # fmt: skip
    assert sorted(store.transcripts.find_files([root])) == inside


def test_no_root_holds_nothing_and_the_top_holds_everything(store: Store):
    keep(store, "/a/b.jsonl", "/ü/b.jsonl")
    assert list(store.transcripts.find_files([])) == []
    assert sorted(store.transcripts.find_files(["/"])) == ["/a/b.jsonl", "/ü/b.jsonl"]
    assert sorted(store.transcripts.find_files(["/a", "/a/b.jsonl"])) == ["/a/b.jsonl"]


@pytest.mark.parametrize(
    "name",
    [b"100%.jsonl", b"a_b.jsonl", b"it's.jsonl", b'"quoted".jsonl', b"two\nlines.jsonl", b"tab\t.jsonl",
     b"\x1b[31m.jsonl", "Wölle 🧶.jsonl".encode(), b"\xff.jsonl", b"-rf.jsonl", b" .jsonl", b"[bold].jsonl"],
)  # fmt: skip
def test_any_name_a_file_can_have_is_kept_and_found_again(store: Store, tmp_path: Path, name: bytes):
    path = Path(os.fsdecode(os.path.join(os.fsencode(tmp_path / "in"), name)))
    write_lines(path, build_prompt(1))
    assert read_into(store, tmp_path / "in").new == 1
    again = read_into(store, tmp_path / "in")
    assert (again.new, again.changed, again.gone, again.bytes_read) == (0, 0, 0, 0)
    (listed,) = store.transcripts.list_streams([str(path.parent)])
    assert listed.file == str(path) or (b"\xff" in name and listed.file.startswith(f"{path.parent}/"))
    path.unlink()
    assert read_into(store, tmp_path / "in").gone == 1


def test_a_reading_that_somebody_else_overtook_is_left_out(store: Store):
    keep(store, "/a/b.jsonl")
    assert not store.transcripts.save_file(FileState(path="/a/b.jsonl", place=ReadPosition(size=2)), None)
    known = store.transcripts.find_files(["/a"])["/a/b.jsonl"]
    assert store.transcripts.save_file(
        FileState(path="/a/b.jsonl", place=ReadPosition(size=3, offset=3, mtime_ns=3)), known
    )
    assert not store.transcripts.save_file(
        FileState(path="/a/b.jsonl", place=ReadPosition(size=4, offset=4, mtime_ns=4)), known
    )
    assert store.transcripts.find_files(["/a"])["/a/b.jsonl"].place.size == 3
    store.close()


def reading(path: str, stream: str, n: int = 1, **more: object) -> FileState:
    part = Part(agent="codex", stream=stream, cwd="/loom", ended_at=f"2026-03-02T09:00:0{n}Z")
    bodies = tuple((turn, f"2026-03-02T09:00:0{turn}Z", b"turn %d" % turn) for turn in range(n))
    place = ReadPosition(size=n, offset=n, mtime_ns=n)
    made = FileState(path=path, source="codex", version="v", place=place, part=part,
                   is_stream=True, bodies=bodies, facts=b"%d" % n)  # fmt: skip
    return replace(made, **more)


def settle(store: Store) -> bool:
    return store.transcripts.save_streams([SettledStream(stream=one) for one in store.transcripts.list_unsettled()])


def test_what_was_read_of_a_file_comes_back_as_it_was_and_goes_on_from_there(store: Store):
    first = reading(
        "/a.jsonl", "one", 2, lines_read=5, lines_skipped=2, unknown={"odd": 3}, state=b"\x00state",
        skips=(SkippedLine(line=2, why="no JSON"),), tail=SkippedLine(line=6, why="still being written"),
    )  # fmt: skip
    assert store.transcripts.save_file(first, None)
    known = store.transcripts.find_files(["/"])["/a.jsonl"]
    kept = store.transcripts.load_file(known, "/a.jsonl")
    assert kept == replace(first, is_stream=False, facts=b"{}")
    more = reading("/a.jsonl", "one", 3, is_continued=True, bodies=((1, "", b"longer"), (2, "", b"new")))
    assert store.transcripts.save_file(more, known)
    again = store.transcripts.load_file(store.transcripts.find_files(["/"])["/a.jsonl"], "/a.jsonl")
    assert [body for _, _, body in again.bodies] == [b"turn 0", b"longer", b"new"]
    assert (again.skips, again.tail) == ((), None)


def test_skips_and_tallies_tell_of_each_file_below_the_roots(store: Store):
    for path in ("/a/x.jsonl", "/b/y.jsonl"):
        skip = SkippedLine(line=3, why="no JSON")
        store.transcripts.save_file(reading(path, path, lines_read=4, lines_skipped=1, skips=(skip,)), None)
    [tally] = store.transcripts.list_tallies(["/a"])
    assert (tally.path, tally.lines_read, tally.lines_skipped, tally.is_gone) == ("/a/x.jsonl", 4, 1, False)
    assert store.transcripts.list_skips(["/b"]) == [("/b/y.jsonl", 3, "no JSON")]
    store.transcripts.mark_gone([store.transcripts.find_files(["/b"])["/b/y.jsonl"].id], gone=True)
    assert store.transcripts.list_skips(["/b"]) == []
    assert [store.transcripts.count_skipped_lines([root]) for root in ("/", "/a", "/a/x.jsonl", "/b")] == [1, 1, 1, 0]
    assert store.transcripts.list_tallies(["/b"])[0].is_gone


NEAR = ("/a/x.jsonl", "/a/deep/y.jsonl", "/a-b/x.jsonl", "/a.jsonl", "/a0", "/b/x.jsonl", "langfuse://host/a")


@pytest.mark.parametrize(
    "roots",
    [
        ["/a"],
        ["/a", "/a-b"],
        ["/a", "/b", "/a0"],
        ["/"],
        ["/", "langfuse://host"],
        ["/a/x.jsonl"],
        [],
        ["/a", "/a/deep"],
    ],
)
@pytest.mark.parametrize("there", [NEAR, NEAR[:2], NEAR[:4], NEAR[:1], NEAR[5:], NEAR[:6]])
def test_as_many_streams_are_counted_as_are_listed_whether_any_lies_elsewhere(
    store: Store, there: tuple[str, ...], roots: list[str]
):
    for path in there:
        store.transcripts.save_file(reading(path, path), None)
    assert settle(store)
    listed = store.transcripts.list_streams(roots)
    assert store.transcripts.count_streams(roots) == len(listed)
    assert store.told.has_outside(roots) is (len(listed) < len(there))


def test_a_stream_of_two_files_is_listed_once_with_both_its_files(store: Store):
    for path in ("/a/x.jsonl", "/b/y.jsonl"):
        store.transcripts.save_file(reading(path, "one"), None)
    assert [(one.id, len(one.file_ids)) for one in store.transcripts.list_unsettled()] == [("one", 2)]
    assert settle(store)
    assert store.transcripts.list_unsettled() == []
    for roots in (["/a"], ["/b"], ["/"], None):
        assert [(one.id, one.files) for one in store.transcripts.list_streams(roots)] == [("one", 2)]
        assert store.transcripts.count_streams(roots) == 1
    assert store.transcripts.list_streams(["/c"]) == store.transcripts.list_streams([]) == []
    [files] = store.transcripts.list_stream_files([("codex", "one"), ("codex", "two")])
    loaded = store.transcripts.load_pieces([files])[0]
    assert [(path, bodies) for path, _, bodies in loaded.pieces] == [
        ("/a/x.jsonl", (b"turn 0",)),
        ("/b/y.jsonl", (b"turn 0",)),
    ]
    assert store.transcripts.load_stream("codex", "one") == loaded


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["one", "two"]),
        ({"since": "2026-03-02T09:00:02Z"}, ["two"]),
        ({"project": "/loom"}, ["one", "two"]),
        ({"project": "/lo"}, []),
        ({"project": "LOO"}, ["one", "two"]),
        ({"prefix": "t"}, ["two"]),
        ({"prefix": "_"}, []),
    ],
    ids=str,
)
def test_streams_are_chosen_by_time_project_and_beginning_of_the_id(
    store: Store, asked: dict[str, str], found: list[str]
):
    for n, stream in enumerate(("one", "two"), 1):
        store.transcripts.save_file(reading(f"/{stream}.jsonl", stream, n), None)
    settle(store)
    assert sorted(one.id for one in store.transcripts.list_streams(None, **asked)) == found


def test_facts_are_kept_for_streams_that_have_none(store: Store):
    store.transcripts.save_file(reading("/a.jsonl", "one", facts=b""), None)
    settle(store)
    assert store.transcripts.list_without_facts(None) == [("codex", "one")]
    for facts in (b"first", b"second"):
        store.transcripts.save_facts([(("codex", "one"), facts)])
    assert [one.facts for one in store.transcripts.list_streams(None)] == [b"first"]
    assert store.transcripts.list_without_facts(None) == []


def test_a_key_belongs_to_the_stream_in_which_it_is_most_complete(store: Store):
    for path, weight in (("/a.jsonl", 1), ("/b.jsonl", 2)):
        keys = array("q", [7, weight, 1_000 + weight, 1]).tobytes()
        store.transcripts.save_file(reading(path, path, keys=keys), None)
    settle(store)
    elsewhere = {path: store.transcripts.load_stream("codex", path).elsewhere for path in ("/a.jsonl", "/b.jsonl")}
    assert elsewhere == {"/a.jsonl": {7}, "/b.jsonl": frozenset()}


def test_streams_that_were_settled_too_late_are_settled_again(store: Store):
    store.transcripts.save_file(reading("/a.jsonl", "one"), None)
    slow = store.transcripts.list_unsettled()
    store.transcripts.save_file(reading("/b.jsonl", "two"), None)
    assert not store.transcripts.save_streams([SettledStream(stream=one, facts=b"old") for one in slow])
    assert store.transcripts.list_streams(None) == []
    assert settle(store)
    assert [(one.id, one.facts) for one in store.transcripts.list_streams(None)] == [("one", b"1"), ("two", b"1")]


def test_a_store_can_be_opened_again_and_by_several_at_once(store: Store, store_url: str):
    store.transcripts.save_file(reading("/a.jsonl", "one"), None)
    with closing(open_store(store_url)) as second:
        assert settle(second)
    assert [one.id for one in store.transcripts.list_streams(None)] == ["one"]


def test_two_stores_know_nothing_of_each_other(store: Store, fresh_url: Callable[[str], str]):
    store.transcripts.save_file(reading("/a.jsonl", "one"), None)
    with closing(open_store(fresh_url("another"))) as other:
        assert other.transcripts.find_files(["/"]) == {}


def test_files_of_a_real_scan_settle_the_same_whatever_came_between(
    store: Store, tmp_path: Path, fresh_url: Callable[[str], str]
):
    write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("one", 1))
    read_into(store, tmp_path / "in")
    write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("one", 3))
    write_lines(tmp_path / "in" / "b.jsonl", *build_conversation("one", 2, start=100))
    read_into(store, tmp_path / "in")
    with closing(open_store(fresh_url("fresh"))) as fresh:
        read_into(fresh, tmp_path / "in")
        assert store.transcripts.list_streams(None) == fresh.transcripts.list_streams(None)


def reading_of(agent: str, stream: str, *, words: str = "Mend it") -> FileState:
    """A reading of the same conversation by another source."""
    found = reading(f"/{agent}/{stream}.jsonl", stream)
    assert found.part is not None
    return replace(found, part=replace(found.part, agent=agent, asked=words, title=""))


SCRIPT, TOLD, SILENT = ("codex", "c"), ("otel", "c@codex"), ("otel", "c@claude-code")
PULLED, OLDER = ("langfuse", "c@host/project"), ("langfuse", "c")


@pytest.mark.parametrize(
    ("there", "kept"),
    [
        ([SCRIPT, TOLD, SILENT, PULLED], [SCRIPT]),
        ([TOLD, PULLED], [TOLD]),
        ([SILENT, PULLED], [PULLED]),
        ([SILENT, OLDER], [OLDER]),
        ([TOLD, OLDER], [TOLD]),
        ([PULLED, OLDER], [PULLED]),
        ([SILENT], [SILENT]),
        ([("otel", "c-2@codex"), SCRIPT], [SCRIPT, ("otel", "c-2@codex")]),
    ],
)
def test_of_the_sources_of_a_conversation_the_one_that_tells_most_is_listed(
    store: Store, there: list[tuple[str, str]], kept: list[tuple[str, str]]
):
    for agent, stream in there:
        words = "" if (agent, stream) == SILENT else "Mend it"
        store.transcripts.save_file(reading_of(agent, stream, words=words), None)
    settle(store)
    assert sorted((one.agent, one.id) for one in store.transcripts.list_streams(None)) == kept
    assert sorted((one.agent, one.id) for one in store.transcripts.list_streams(["/"])) == kept
    assert store.transcripts.count_streams(None) == len(kept)


def test_twins_are_all_that_tell_of_a_conversation(store: Store):
    others = [("otel", "c2@codex"), ("codex", "cc"), ("otel", "c@@x"), ("codex", "c@codex")]
    for agent, stream in (SCRIPT, TOLD, SILENT, PULLED, *others):
        store.transcripts.save_file(reading_of(agent, stream), None)
    settle(store)
    every = sorted([SCRIPT, TOLD, SILENT, PULLED, ("otel", "c@@x")])
    for one in (SCRIPT, TOLD, PULLED):
        assert store.transcripts.list_twins([one]) == every
    assert store.transcripts.list_twins([("otel", "c2@codex")]) == [("otel", "c2@codex")]
    assert store.transcripts.list_twins([]) == []
