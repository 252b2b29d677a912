"""Words whose retention has passed are deleted from the store, and facts in numbers stay."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from assay.config import Boundaries, Config, Tenant, load
from assay.llm.contract import ModelCall, QuestionResult
from assay.pipeline.inputs import find_transcripts
from assay.pipeline.pool import ignore_progress
from assay.pipeline.retention import forget_expired
from assay.pipeline.scan import scan
from assay.pipeline.score import ScoreResult, open_run, read_transcripts, score_run
from assay.stores import Store, open_store
from assay.stores.sql import SqlStore
from assay.testing.claude_code import (
    build_prompt,
    build_reply,
    build_result,
    build_shell_call,
    format_time,
    write_lines,
)
from assay.types import Usage
from tests.make_report import hold_result

LOOM, MILL = "/work/loom", "/work/mill"
START = datetime.fromisoformat(format_time(0))
AFTER = START + timedelta(days=40)
KEPT = Config(tenants={"loom": Tenant(projects=(LOOM,), retention_days=30)})


def say(at: float, stream: str, cwd: str, word: str) -> list[dict[str, object]]:
    """A turn in which a word stands everywhere a word can stand."""
    return [
        build_prompt(at, f"Please mend the {word} in the loom and test it", stream, cwd=cwd, gitBranch=word),
        build_shell_call(at + 1, f"pytest -q {word}.py", stream, cwd=cwd),
        build_result(at + 2, at + 1, f"1 failed\nE   {word} is broken", stream) | {"cwd": cwd},
        build_reply(at + 3, f"The {word} is mended", stream, cwd=cwd),
    ]


def talk(folder: Path, stream: str, cwd: str, word: str, more: int = 0) -> Path:
    """A conversation in which a word stands everywhere a word can stand."""
    records = [{"type": "custom-title", "customTitle": f"the {word}", "sessionId": stream}]
    for n in range(4 + more):
        records += say(n * 100.0, stream, cwd, word)
    write_lines(folder / f"{stream}.jsonl", *records)
    return folder / f"{stream}.jsonl"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 'assay.db'}")) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "in"
    talk(found, "old", LOOM, "wombat")
    talk(found, "free", MILL, "numbat")
    return found


def read(store: Store, folder: Path, config: Config = KEPT, now: datetime = AFTER) -> int:
    scan(store, find_transcripts([folder], Config()), 1, ignore_progress, with_facts=True)
    return forget_expired(store, config.tenants, now)


def score(store: Store, config: Config = KEPT) -> ScoreResult:
    with open_run(store, config, None, jobs=1) as run:
        return hold_result(score_run(run, remembers=False))


def hold(store: Store, word: str) -> bool:
    """Whether any file of the store has a word, be it in free pages."""
    return any(word.encode() in path.read_bytes() for path in Path(store.where).parent.glob("assay.db*"))


def test_words_are_deleted_from_every_byte_of_the_store(store: Store, folder: Path):
    read(store, folder, Config())
    for commit in ("confirm", "hard", "off"):  # what was judged otherwise before is kept, too
        score(store, Config(boundaries=Boundaries(commit=commit)))
    assert hold(store, "wombat")
    assert read(store, folder) == 1
    assert not hold(store, "wombat")
    assert hold(store, "numbat")


def test_what_was_replaced_before_lies_in_no_free_page(store: Store, tmp_path: Path):
    talk(tmp_path / "in", "old", LOOM, "wombat", more=300)
    read(store, tmp_path / "in", Config())
    (tmp_path / "in" / "old.jsonl").unlink()
    talk(tmp_path / "in", "old", LOOM, "dingo")
    read(store, tmp_path / "in", Config())
    assert read(store, tmp_path / "in") == 1
    assert (hold(store, "wombat"), hold(store, "dingo")) == (False, False)


def test_every_connection_overwrites_what_it_deletes(store: Store):
    assert isinstance(store, SqlStore)
    for _ in range(2):
        store.answers.drop_answers("2026")
        with store.database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA secure_delete").scalar() == 1


def test_the_report_is_that_of_words_that_were_withheld(store: Store, folder: Path, tmp_path: Path):
    read(store, folder)
    forgotten = {one.id: one for one in score(store).report.sessions}
    with closing(open_store(f"sqlite:///{tmp_path / 'other.db'}")) as other:
        read(other, folder, Config())
        withheld = {one.id: one for one in score(other).report.sessions}
    assert forgotten == withheld
    assert [one.judge_status for one in forgotten.values() if one.project == LOOM] == ["opted_out"]


def test_what_is_not_old_enough_or_nobodys_is_left(store: Store, folder: Path):
    assert read(store, folder, now=START + timedelta(days=20)) == 0
    assert hold(store, "wombat")
    assert read(store, folder, Config(tenants={"x": Tenant(projects=("/elsewhere",), retention_days=1)})) == 0


def test_it_is_done_once_and_an_unchanged_file_is_not_read_for_it(store: Store, folder: Path):
    assert [read(store, folder), read(store, folder)] == [1, 0]
    assert not hold(store, "wombat")


def test_a_conversation_that_goes_on_is_read_from_its_beginning(store: Store, folder: Path):
    read(store, folder)
    talk(folder, "old", LOOM, "wombat", more=1)
    scan(store, find_transcripts([folder], Config()), 1, ignore_progress, with_facts=True)
    assert [one.turns for one in store.transcripts.list_streams(None) if one.id == "old"] == [5]
    assert hold(store, "wombat")
    assert read(store, folder) == 1


def test_nothing_is_judged_of_what_was_forgotten_when_the_rule_is_gone(store: Store, folder: Path):
    read(store, folder)
    found = {one.project: one for one in score(store, Config()).report.sessions}
    assert (found[LOOM].judge_status, found[LOOM].goal_complete, found[LOOM].title) == ("opted_out", None, "")
    assert found[MILL].title


def test_what_models_said_so_long_ago_goes_too_and_what_it_cost_stays(store: Store, folder: Path):
    for key, days in (("early", 5), ("late", 35)):
        at = (START + timedelta(days=days)).isoformat()
        call = ModelCall(at=at, model="m", usage=Usage(), seconds=1.0, outcome="ok")
        store.answers.save_answer(QuestionResult(key=key, job="j", version="1", text="a wombat", calls=(call,)), "x")
    read(store, folder)
    assert (store.answers.load_answers(["early", "late"]).keys(), len(store.answers.list_calls())) == ({"late"}, 2)


def test_where_nothing_is_old_nobody_is_waited_for(store: Store, folder: Path):
    scan(store, find_transcripts([folder], Config()), 1, ignore_progress)
    with closing(sqlite3.connect(store.where, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert forget_expired(store, KEPT.tenants, START + timedelta(days=20)) == 0


def test_a_stream_that_changed_meanwhile_is_left_for_the_next_time(store: Store, folder: Path):
    scan(store, find_transcripts([folder], Config()), 1, ignore_progress)
    [(stream, _)] = [one for one in store.transcripts.list_ended("2100") if one[0].id == "old"]
    pieces = store.transcripts.load_pieces([stream])[0]
    talk(folder, "old", LOOM, "wombat", more=1)
    scan(store, find_transcripts([folder], Config()), 1, ignore_progress)
    assert not store.transcripts.forget_words(stream, pieces)


def test_only_the_persons_own_file_deletes(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch):
    rule = f'[tenants.loom]\nprojects = ["{LOOM}"]\nretention_days = 1\n'
    own, clone, url = tmp_path / "own.toml", tmp_path / "clone", f"sqlite:///{tmp_path / 'assay.db'}"
    clone.mkdir()
    (clone / "assay.toml").write_text(rule)
    own.write_text("")
    monkeypatch.setenv("ASSAY_CONFIG", str(own))
    held = []
    for text in ("", rule):
        own.write_text(text)
        config = load(os.environ, clone, store=url)
        with read_transcripts([folder], config, jobs=1) as found:
            held.append(hold(found.store, "wombat"))
    assert held == [True, False]


@pytest.mark.parametrize("order", [(LOOM, MILL), (MILL, LOOM)])
def test_words_of_several_tenants_in_one_conversation_go_each_in_its_time(
    store: Store, tmp_path: Path, order: tuple[str, str]
):
    words = {LOOM: "wombat", MILL: "numbat"}
    turns = [say(n * 100.0, "mixed", cwd, words[cwd]) for n, cwd in enumerate(order * 2)]
    write_lines(tmp_path / "in" / "mixed.jsonl", *(record for turn in turns for record in turn))
    loom, mill = (Tenant(projects=(one,), retention_days=days) for one, days in ((LOOM, 30), (MILL, 60)))
    config = Config(tenants={"loom": loom, "mill": mill})
    found = []
    for days in (20, 40, 41, 70, 71):
        forgotten = read(store, tmp_path / "in", config, START + timedelta(days=days))
        found.append((forgotten, hold(store, "wombat"), hold(store, "numbat")))
    assert found == [(0, True, True), (1, False, True), (0, False, True), (1, False, False), (0, False, False)]


@pytest.mark.parametrize("order", [(LOOM, MILL), (MILL, LOOM)])
def test_words_of_a_tenant_that_opted_out_go_too_when_their_time_has_passed(
    store: Store, tmp_path: Path, order: tuple[str, str]
):
    turns = [say(n * 100.0, "mixed", cwd, "wombat" if cwd == LOOM else "numbat") for n, cwd in enumerate(order)]
    write_lines(tmp_path / "in" / "mixed.jsonl", *(record for turn in turns for record in turn))
    silent = Tenant(projects=(MILL,), opt_out=True)
    expiring = Tenant(projects=(LOOM,), opt_out=True, retention_days=30)
    assert read(store, tmp_path / "in", Config(tenants={"mill": silent, "loom": expiring})) == 1
    assert (hold(store, "wombat"), hold(store, "numbat")) == (False, True)
