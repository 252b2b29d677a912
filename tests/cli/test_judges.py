"""`assay judges`: how good each judge is."""

from contextlib import closing
from pathlib import Path

import assay
from assay.pipeline.audit import begin_draw, save_answer
from assay.stores import open_store, pick_store_url
from assay.testing.claude_code import write_folder
from tests.conftest import is_one_line, run


def test_the_card_tells_figures_beside_baselines_and_that_no_audit_was_made(tmp_path: Path):
    files = write_folder(tmp_path / "cc", 3)
    ran = run("judges", files, "--store", tmp_path / "s.db")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("offline  ")
    assert "landed or not" in ran.out
    assert "believe the agent" in ran.out
    assert "`assay audit 40`" in " ".join(ran.out.split())


def test_an_audit_of_ones_own_is_on_the_card(tmp_path: Path):
    files = write_folder(tmp_path / "cc", 3)
    store = ("--store", tmp_path / "s.db")
    report = assay.score(files, store=tmp_path / "s.db")
    with closing(open_store(pick_store_url(str(tmp_path / "s.db"), {}))) as kept:
        begin_draw(kept, 1)
        save_answer(kept, report.sessions[0], "landed", "2026-11-02T09:00:00Z")
    card = run("judges", files, "--json", *store).json["judges"][0]
    assert (card["judge"], card["own"]["audited"]) == ("offline", 1)
    assert "By your own audit" in run("judges", files, *store).out


def test_without_a_path_every_audit_of_the_store_is_on_the_card(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    report = assay.score(write_folder(tmp_path / "cc", 3), store=tmp_path / "s.db")
    with closing(open_store(pick_store_url(str(tmp_path / "s.db"), {}))) as kept:
        begin_draw(kept, 1)
        save_answer(kept, report.sessions[0], "landed", "2026-11-02T09:00:00Z")
    assert run("judges", "--json", "--store", tmp_path / "s.db").json["judges"][0]["own"]["audited"] == 1
    ran = run("judges", "--since", "someday", "--store", tmp_path / "s.db")
    assert (ran.code, is_one_line(ran.err)) == (2, True)


def test_without_transcripts_the_card_is_told_all_the_same(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    ran = run("judges", "--json", "--store", tmp_path / "s.db")
    assert ran.code == 0
    assert ran.json["judges"][0]["measured"]["repositories"] >= 14


def test_a_path_that_is_not_there_is_told(tmp_path: Path):
    ran = run("judges", tmp_path / "nowhere", "--store", tmp_path / "s.db")
    assert (ran.code, is_one_line(ran.err)) == (2, True)
