"""`assay show`: one stream, found by its id or how it begins."""

from pathlib import Path

import pytest

from tests.conftest import conversation, is_one_line, run, said, streams, write


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("show")
    for name in ("abc-1", "abc-2", "abc", "xyz"):
        write(top / "in" / f"{name}.jsonl", *conversation(name))
    streams(top / "in", "--store", top / "s.db")
    return top / "s.db"


@pytest.mark.parametrize(("given", "found"), [("abc-1", "abc-1"), ("abc", "abc"), ("x", "xyz"), ("abc-2", "abc-2")])
def test_a_whole_id_or_the_only_one_that_begins_so_is_shown(store: Path, given: str, found: str):
    detail = run("show", given, "--store", store, "--json").json
    assert detail["stream"]["id"] == found
    assert [turn["prompt"]["text"] for turn in detail["turns"]] == [f"weave row {n} of {found}" for n in (0, 10)]
    assert detail["files"] == [str(store.parent / "in" / f"{found}.jsonl")]


def test_an_id_that_nobody_has_is_told(store: Path):
    ran = run("show", "nobody", "--store", store)
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert "'nobody'" in ran.err
    assert "assay streams" in ran.err


def test_a_beginning_that_several_have_lists_them(store: Path):
    ran = run("show", "ab", "--store", store)
    assert (ran.code, ran.out) == (2, "")
    assert not [name for name in ("abc-1", "abc-2", "abc") if name not in ran.err]
    assert "xyz" not in ran.err


def test_what_was_asked_done_and_answered_is_shown(store: Path):
    shown = run("show", "xyz", "--store", store).out
    assert not [words for words in ("weave row 0 of xyz", "row 10 is woven", "Bash") if words not in shown]


def test_a_stream_whose_file_is_deleted_or_overwritten_does_not_break_show(tmp_path: Path):
    path = write(tmp_path / "in" / "a.jsonl", *conversation("first"))
    write(tmp_path / "in" / "b.jsonl", *conversation("second"))
    streams(tmp_path / "in", "--store", tmp_path / "s.db")
    path.unlink()
    write(tmp_path / "in" / "b.jsonl", said(1, stream="third"))
    streams(tmp_path / "in", "--store", tmp_path / "s.db")
    assert run("show", "first", "--store", tmp_path / "s.db", "--json").json["stream"]["is_gone"]
    ran = run("show", "second", "--store", tmp_path / "s.db", "--json")
    assert ran.code in (0, 2)
    assert "Traceback" not in ran.err


def test_what_show_counts_is_what_the_list_counts(tmp_path: Path):
    base = conversation("origin", 3)
    write(tmp_path / "in" / "a.jsonl", *base)
    write(
        tmp_path / "in" / "b.jsonl", *({**one, "sessionId": "fork"} for one in base), *conversation("fork", 1, start=90)
    )
    for one in streams(tmp_path / "in", "--store", tmp_path / "s.db")["streams"]:
        detail = run("show", one["id"], "--store", tmp_path / "s.db", "--json").json
        assert [turn["prompt"]["at"] for turn in detail["turns"] if turn.get("prompt")] == one["prompts_at"]
