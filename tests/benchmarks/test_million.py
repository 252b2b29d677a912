"""A store multiplied: so many times the sessions, each once, and none of them told anew."""

from contextlib import closing
from pathlib import Path

import pytest

from assay.config import Config
from assay.pipeline.inputs import find_transcripts
from assay.pipeline.lookup import find_sessions
from assay.pipeline.score import open_run, read_transcripts, score_run
from assay.stores import open_store
from benchmarks.many_sessions import make_sessions
from benchmarks.million import fill_store, read_original, sign_copies

TIMES = 3


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", "3f2a91c0beef"),
        ("at", "2026-03-02T09:00:00Z"),
        ("body", b'{"project":"/home/dev/mill","id":"3f2a91c0beef"}'),
    ],
)
def test_a_copy_differs_from_its_original_and_from_other_copies_but_not_in_length(column: str, value: str | bytes):
    found = read_original(column, value)
    assert found is not None
    copies = [value, found.copy(1), found.copy(2)]
    assert len(set(copies)) == len(copies)
    assert {(type(one), len(one)) for one in copies} == {(type(value), len(value))}


@pytest.mark.parametrize(("column", "value"), [("agent", "codex"), ("n", 3), ("is_told", True), ("digest", "3f2a91c0")])
def test_what_no_session_has_for_itself_stays(column: str, value: str | int):
    assert read_original(column, value) is None


def test_a_multiplied_store_reports_so_many_times_the_sessions_and_tells_none_of_them_anew(tmp_path: Path):
    made, many = tmp_path / "store.db", f"sqlite:///{tmp_path / 'many.db'}"
    files = tmp_path / "files"
    make_sessions(files, 12)
    config = Config(store=str(made), timezone="UTC")
    with read_transcripts([files], config, 1) as transcripts, open_run(transcripts.store, config, jobs=1) as run:
        run.roots = transcripts.changes.roots
        once = score_run(run).report
    with closing(open_store(many)):
        pass
    fill_store(str(made), many, TIMES)
    roots = find_transcripts([files], config).roots
    with closing(open_store(many)) as store:
        sign_copies(store, config, roots)
        with open_run(store, config, roots, jobs=1) as run:
            report = score_run(run, remembers=False).report
        assert report.score.crushed == TIMES * once.score.crushed
        assert len({one.id for one in report.sessions}) == len(report.sessions) == TIMES * len(once.sessions)
        assert [one.id for one in report.sessions[-5:]] == [one.id for one in list(report.sessions)[-5:]]
        last = report.sessions[0]
        assert [one.title for one in find_sessions(store, config, last.id)] == [last.title]
