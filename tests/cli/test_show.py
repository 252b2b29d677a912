"""`assay show`: one session or stream, found by its id or how it begins."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assay.testing.claude_code import build_conversation, build_prompt, write_lines
from tests.conftest import is_one_line, run, streams


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("show")
    for name in ("wool-1", "wool-2", "wool", "xyz"):
        write_lines(top / "in" / f"{name}.jsonl", *build_conversation(name))
    streams(top / "in", "--store", top / "s.db")
    return top / "s.db"


@pytest.mark.parametrize(
    ("given", "found"), [("wool-1", "wool-1"), ("wool", "wool"), ("x", "xyz"), ("wool-2", "wool-2")]
)
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
    ran = run("show", "wo", "--store", store)
    assert (ran.code, ran.out) == (2, "")
    assert not [name for name in ("wool-1", "wool-2", "wool") if name not in ran.err]
    assert "xyz" not in ran.err


def test_what_was_asked_done_and_answered_is_shown_in_full_and_what_was_asked_on_a_screen(store: Path):
    shown = run("show", "xyz", "--full", "--store", store).out
    assert not [words for words in ("weave row 0 of xyz", "row 10 is woven", "Bash") if words not in shown]
    screen = run("show", "xyz", "--store", store).out
    assert not [words for words in ("weave row 0 of xyz", "weave row 10 of xyz") if words not in screen]
    assert "row 10 is woven" not in screen


def test_a_stream_whose_file_is_deleted_or_overwritten_does_not_break_show(tmp_path: Path):
    path = write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("first"))
    write_lines(tmp_path / "in" / "b.jsonl", *build_conversation("second"))
    streams(tmp_path / "in", "--store", tmp_path / "s.db")
    path.unlink()
    write_lines(tmp_path / "in" / "b.jsonl", build_prompt(1, stream="third"))
    streams(tmp_path / "in", "--store", tmp_path / "s.db")
    assert run("show", "first", "--store", tmp_path / "s.db", "--json").json["stream"]["is_gone"]
    ran = run("show", "second", "--store", tmp_path / "s.db", "--json")
    assert ran.code in (0, 2)
    assert "Traceback" not in ran.err


def test_what_show_counts_is_what_the_list_counts(tmp_path: Path):
    base = build_conversation("origin", 3)
    write_lines(tmp_path / "in" / "a.jsonl", *base)
    write_lines(
        tmp_path / "in" / "b.jsonl",
        *({**one, "sessionId": "fork"} for one in base),
        *build_conversation("fork", 1, start=90),
    )
    for one in streams(tmp_path / "in", "--store", tmp_path / "s.db")["streams"]:
        detail = run("show", one["id"], "--store", tmp_path / "s.db", "--json").json
        assert [turn["prompt"]["at"] for turn in detail["turns"] if turn.get("prompt")] == one["prompts_at"]


# --- sessions ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A store, and the sessions in it."""
    top = tmp_path_factory.mktemp("show-sessions")
    for n in range(20):
        write_lines(top / "in" / f"{n:02}.jsonl", *build_conversation(f"loom-{n:02}", 3, start=n * 7200))
    found = run("sessions", top / "in", "--store", top / "s.db", "--json").json["sessions"]
    return top / "s.db", found


def test_a_session_is_shown_by_its_id_or_how_it_begins(scored: tuple[Path, list[dict[str, Any]]]):
    store, listed = scored
    for given in (listed[0]["id"], listed[0]["id"][:8]):
        detail = run("show", given, "--store", store, "--json").json
        assert list(detail) == ["kind", "schema_version", "session", "transcripts", "turns"]
        assert detail["session"] == listed[0]
        assert [turn["prompt"]["at"] for turn in detail["turns"]] == listed[0]["prompts_at"]


def test_a_session_says_how_it_ended_why_and_what_happened(scored: tuple[Path, list[dict[str, Any]]]):
    store, listed = scored
    shown = run("show", listed[0]["id"], "--full", "--store", store).out
    words = ["crushed", "Why", "Where it begins", "a new conversation", "Facts", "tokens", "Turns", "row 0 is woven"]
    assert not [word for word in (*words, listed[0]["id"], listed[0]["title"], "Transcript") if word not in shown]


def test_a_session_is_one_screen_with_a_line_for_each_prompt(scored: tuple[Path, list[dict[str, Any]]]):
    store, listed = scored
    shown = run("show", listed[0]["id"], "--store", store, env={"COLUMNS": "80"}).out.splitlines()
    assert len(shown) <= 40
    titles = [line for line in shown if line and line == line.lstrip() and line.split(":")[0].isalpha()]
    assert [one.split(":")[0] for one in titles][-5:] == ["Why", "Evidence", "Facts", "Prompts", "Transcript"]
    assert [line.strip() for line in shown if "weave row" in line][-3:] == [
        f"{n}  weave row {10 * n - 10} of loom-00" for n in (1, 2, 3)
    ]
    assert any("a check of the prompts, not of success" in line for line in shown)


def test_a_session_names_its_transcript_and_the_command_that_goes_on_with_it(scored: tuple[Path, list[dict[str, Any]]]):
    store, listed = scored
    file = store.parent / "in" / "00.jsonl"
    resume = "cd /home/ada/loom && claude --resume 00"
    shown = run("show", listed[0]["id"], "--store", store, env={"COLUMNS": "40"}).out.splitlines()
    assert [line.strip() for line in shown[shown.index("Transcript") + 1 :][:2]] == [str(file), resume]
    kept = run("show", listed[0]["id"], "--store", store, "--json").json["transcripts"]
    assert kept == [{"stream": "loom-00", "file": str(file), "is_gone": False, "resume": resume}]


def test_last_is_the_session_that_ended_last(scored: tuple[Path, list[dict[str, Any]]]):
    store, listed = scored
    newest = max(listed, key=lambda one: one["ended_at"])
    assert run("show", "last", "--store", store, "--json").json["session"]["id"] == newest["id"]
    found = run("quality", "last", "--store", store, "--json").json["qualities"]
    assert [one["session"] for one in found] == [newest["id"]]
    assert newest["id"][:8] in run("session", "mark", "last", "landed", "--store", store).out


def test_last_is_the_stream_that_ended_last_where_a_stream_is_asked_for(scored: tuple[Path, list[dict[str, Any]]]):
    store, _ = scored
    assert run("show", "last", "--stream", "--store", store, "--json").json["stream"]["id"] == "loom-19"


def test_an_id_in_capitals_is_the_same_id(scored: tuple[Path, list[dict[str, Any]]]):
    store, listed = scored
    found = run("show", listed[0]["id"].upper(), "--store", store, "--json").json["session"]
    assert found["id"] == listed[0]["id"]


def test_a_beginning_that_many_have_says_how_many_more_there_are(scored: tuple[Path, list[dict[str, Any]]]):
    store, _ = scored
    told = run("show", "loom-", "--store", store).err.splitlines()
    assert (told[0].startswith("assay: 20 sessions and streams"), told[-1].strip()) == (True, "and 10 more")


def test_an_id_is_that_of_a_stream_where_that_is_said(scored: tuple[Path, list[dict[str, Any]]]):
    store, listed = scored
    assert run("show", "--stream", "loom-07", "--store", store, "--json").json["kind"] == "stream"
    ran = run("show", "--stream", listed[0]["id"], "--store", store)
    assert (ran.code, is_one_line(ran.err)) == (2, True)
    assert "no stream begins with" in ran.err


@pytest.mark.parametrize("command", [["show"], ["session", "rename"], ["eval", "mine"]])
@pytest.mark.parametrize("given", ["nowhere/at/all.jsonl", "gone.jsonl", "/"])
def test_a_path_is_no_id_and_that_is_said(store: Path, command: list[str], given: str):
    ran = run(*command, given, *(["title"] if command[-1] == "rename" else []), "--store", store)
    assert (ran.code, ran.out, is_one_line(ran.err)) == (2, "", True)
    assert ("no such file or folder" if given != "/" else "is a path, not an id") in ran.err


def test_a_beginning_that_several_sessions_have_lists_them(scored: tuple[Path, list[dict[str, Any]]]):
    store, listed = scored
    first = Counter(one["id"][0] for one in listed).most_common(1)[0][0]
    ran = run("show", first, "--store", store)
    assert (ran.code, ran.out) == (2, "")
    assert f"begin with '{first}'; give more of the id" in ran.err
    assert not [one["id"] for one in listed if one["id"].startswith(first) and one["id"] not in ran.err]
    assert not [one["id"] for one in listed if not one["id"].startswith(first) and one["id"] in ran.err]


def test_a_stream_names_the_sessions_in_it(scored: tuple[Path, list[dict[str, Any]]]):
    store, listed = scored
    one = next(one for one in listed if one["streams"] == ["loom-07"])
    assert run("show", "loom-07", "--store", store, "--json").json["sessions"] == [one["id"]]
    shown = run("show", "loom-07", "--store", store).out
    assert "Sessions in it" in shown
    assert one["id"][:8] in shown


def test_a_session_that_was_merged_into_another_leads_there(tmp_path: Path):
    write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("one", 3))
    write_lines(tmp_path / "in" / "b.jsonl", *build_conversation("two", 3, start=90_000))
    store = tmp_path / "s.db"
    first, second = (one["id"] for one in run("sessions", tmp_path / "in", "--store", store, "--json").json["sessions"])
    assert run("session", "merge", first, second, "--store", store).code == 0
    detail = run("show", second, "--store", store, "--json").json
    assert detail["session"]["id"] == first
    assert len(detail["turns"]) == 6


def test_without_a_store_the_first_step_is_named(tmp_path: Path):
    ran = run("show", "wool", "--store", tmp_path / "s.db")
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert "run `assay score` first" in ran.err
    assert not (tmp_path / "s.db").exists()
