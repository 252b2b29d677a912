"""A report on kept rows: a sequence like any other, and the same words as of sessions that are told at once."""

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from assay.config import Config
from assay.pipeline import same_sessions
from assay.pipeline.inputs import find_files
from assay.pipeline.kept_report import KeptRows
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, score_run
from assay.pipeline.scoring_run import ScoringRun, Selection
from assay.reports.json import encode_document, encode_json
from assay.scores.report import Report
from assay.stores import Store, open_store
from assay.testing.claude_code import build_prompt, build_reply, write_lines
from assay.types import PersonVerdict
from tests.make_report import hold_report, report_of, some_sessions
from tests.tables import each_row

OFFLINE = Config(timezone="UTC")
ENDS = st.none() | st.integers(-12, 12)
STEPS = st.none() | st.integers(-3, 3).filter(bool)


def keep(values: list[int]) -> KeptRows[int]:
    """Numbers as rows that are read when somebody looks."""

    def read(first: int, n: int | None) -> Iterator[bytes]:
        assert first >= 0
        return (str(one).encode() for one in islice(values, first, None if n is None else first + n))

    return KeptRows(read, int, len(values))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(), max_size=9), ENDS, ENDS, STEPS)
def test_kept_rows_are_taken_like_those_of_a_list(values: list[int], first: Any, last: Any, step: Any):
    rows = keep(values)
    assert rows[first:last:step] == values[first:last:step]
    assert (len(rows), list(rows), list(reversed(rows)), bool(rows)) == (
        len(values), values, values[::-1], bool(values),
    )  # fmt: skip
    assert [rows[n] for n in range(-len(values), len(values))] == values * 2


@pytest.mark.parametrize("at", [2, -3, 99])
def test_there_is_no_row_beyond_the_last(at: int):
    with pytest.raises(IndexError):
        keep([1, 2])[at]


def as_kept(report: Report) -> Report:
    """A report whose rows are JSON already."""
    sessions, ledger = [encode_json(one) for one in report.sessions], [encode_json(one) for one in report.ledger]
    return replace(
        report,
        sessions=KeptRows(lambda first, n: iter(sessions), lambda _: report.sessions[0], len(sessions)),
        ledger=KeptRows(lambda first, n: iter(ledger), lambda _: report.ledger[0], len(ledger)),
    )


@each_row("title", ['"sessions":[', '","ledger":[{', "\u202e[\x1b", "plain"])
def test_rows_pass_through_to_the_same_bytes(title: str):
    report = report_of([replace(one, title=title, project=title) for one in some_sessions()])
    assert report.obstacles
    for one in (report, report_of([])):
        assert b"".join(encode_document(as_kept(one))) == encode_json(one)


# --- kept, or told at once ------------------------------------------------------------------------


def talk(stream: str, start: int, *prompts: str, cwd: str) -> list[dict[str, Any]]:
    return [
        record | {"cwd": cwd}
        for n, text in enumerate(prompts)
        for record in (
            build_prompt(start + n * 10, text, stream),
            build_reply(start + n * 10 + 1, f"Done: {text}.", stream),
        )
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Streams of three projects, some at the same time, and two that go on with each other."""
    top = tmp_path / "in"
    day = 86_400
    write_lines(top / "a.jsonl", *talk("a", 0, "Card the wool", "Thanks, that works", cwd="/home/ada/loom"))
    write_lines(top / "b.jsonl", *talk("b", 0, "Spin the wool", "No, it is broken", cwd="/home/ada/loom"))
    write_lines(top / "c.jsonl", *talk("c", day, "Weave a scarf", "now again", cwd="/home/ada/wheel"))
    write_lines(top / "d.jsonl", *talk("d", 2 * day, "Dye the yarn blue", "perfect", cwd="/home/ada/dye"))
    write_lines(top / "e.jsonl", *talk("e", 2 * day + 60, "Dye the yarn blue too", "great", cwd="/home/ada/dye"))
    write_lines(top / "f.jsonl", *talk("f", 3 * day, "hm", cwd=""))
    return top


def tell(store: Store, folder: Path, *, remembers: bool, **choice: str) -> Report:
    changes = scan(store, find_files([folder]), 1, lambda *_: None)
    with open_run(store, OFFLINE, changes.roots, selection=Selection(**choice), jobs=1) as run:
        return score_run(run, changes.unreadable, remembers=remembers).report


CHOICES: list[dict[str, str]] = [
    {},
    {"since": "2026-03-03"},
    {"until": "2026-03-04"},
    {"since": "2026-03-03", "until": "2026-03-04T12:00:00.000Z"},
    {"project": "/home/ada/loom"},
    {"project": "LOOM"},
    {"project": "/home/ada", "since": "2026-03-04"},
    {"project": "nowhere"},
    {"since": "2030-01-01"},
]


@each_row("choice", CHOICES)
def test_a_kept_report_says_what_one_says_of_which_nothing_is_kept(
    tmp_path_factory: pytest.TempPathFactory, folder: Path, choice: dict[str, str]
):
    top = tmp_path_factory.mktemp("stores")
    with (
        closing(open_store(f"sqlite:///{top / 'plain.db'}")) as plain,
        closing(open_store(f"sqlite:///{top / 'kept.db'}")) as kept,
    ):
        wanted = tell(plain, folder, remembers=False, **choice)
        assert plain.told.load_view() == b""
        tell(kept, folder, remembers=True)
        assert kept.told.load_view() != b""
        found = tell(kept, folder, remembers=False, **choice)
        assert b"".join(encode_document(found)) == encode_json(wanted)
        assert encode_json(hold_report(found)) == encode_json(wanted)


def test_of_a_project_only_the_session_that_changed_is_told_anew_and_only_its_month_is_counted(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    month = 31 * 86_400
    write_lines(folder / "g.jsonl", *talk("g", month, "Knit a cap", "great", cwd="/home/ada/loom"))
    told: list[str] = []
    counted: list[list[str]] = []
    plain, tally = ScoringRun.finish_sessions, same_sessions.tally_sessions

    def finish(run: ScoringRun, chosen: Any, *rest: Any) -> Any:
        told.extend(one.segments[0].stream for one in chosen)
        return plain(run, chosen, *rest)

    def count(sessions: list[Any], *rest: Any) -> Any:
        counted.append(sorted(stream for one in sessions for stream in one.streams))
        return tally(sessions, *rest)

    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as store:
        tell(store, folder, remembers=True)
        monkeypatch.setattr(ScoringRun, "finish_sessions", finish)
        monkeypatch.setattr(same_sessions, "tally_sessions", count)
        write_lines(folder / "a.jsonl", *talk("a", 0, "Card it", "Thanks", "One thing more", cwd="/home/ada/loom"))
        found = tell(store, folder, remembers=True)
        assert (told, counted) == (["a"], [["a", "b"]])
        with closing(open_store(f"sqlite:///{tmp_path / 'new.db'}")) as new:
            assert b"".join(encode_document(found)) == encode_json(tell(new, folder, remembers=False))


def test_rows_are_read_when_somebody_looks_and_totals_without_them(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as store:
        tell(store, folder, remembers=True)
        read: list[tuple[int, int | None]] = []
        plain, newest = store.told.list_bodies, store.told.list_newest

        def note_newest(choice: Any, after: Any, limit: int) -> list[Any]:
            read.append((-limit, limit))
            return newest(choice, after, limit)

        def note(choice: Any, offset: int = 0, limit: int | None = None) -> Iterator[bytes]:
            read.append((offset, limit))
            return plain(choice, offset, limit)

        monkeypatch.setattr(store.told, "list_bodies", note)
        monkeypatch.setattr(store.told, "list_newest", note_newest)
        found = tell(store, folder, remembers=True)
        before = len(read)
        assert found.score.counted + sum(found.exclusions.values()) == len(found.sessions) == found.waterfall.sessions
        assert len(read) == before
        [last], [second] = found.sessions[-1:], found.sessions[1:2]
        assert read[before:] == [(-1, 1), (1, 1)]
        assert [second, last] == [list(found.sessions)[at] for at in (1, -1)]


def test_a_mark_changes_what_is_kept_of_its_session_alone(tmp_path: Path, folder: Path):
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as store:
        first = list(tell(store, folder, remembers=True).sessions)
        marked = first[0]
        store.corrections.save_verdicts([PersonVerdict(turn=marked.id, verdict="not", at="2026-03-09T09:00:00Z")])
        again = list(tell(store, folder, remembers=True).sessions)
        assert [(one.id, one.crushed) for one in again if one not in first] == [(marked.id, False)]
