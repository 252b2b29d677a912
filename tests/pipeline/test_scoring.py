"""Only what changed is judged, and the report is the one that a fresh run would give."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from assay.config import Boundaries, Config
from assay.errors import BadInput, RunStopped
from assay.pipeline import corrections
from assay.pipeline.inputs import find_files
from assay.pipeline.lookup import find_sessions, read_turns
from assay.pipeline.scan import scan
from assay.pipeline.score import ScoreResult, open_run, score_run
from assay.pipeline.scoring_run import Selection
from assay.reports.json import encode_document
from assay.scores.report import Report
from assay.sessions.boundaries import hash_turn
from assay.stores import Store, open_store
from assay.testing.claude_code import (
    build_conversation,
    build_prompt,
    build_reply,
    build_result,
    build_shell_call,
    encode_lines,
    write_folder,
    write_lines,
)
from assay.types import PersonCorrection
from tests.make_report import hold_result
from tests.plain_judge import REFUSES, TOPICS, VERSION, install

PLAIN = Config(judge="plain", timezone="UTC")
OFFLINE = Config(timezone="UTC")
AT = "2026-03-02T12:00:00+00:00"


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    install(monkeypatch, tmp_path_factory.mktemp("plugin"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(f"sqlite:///{tmp_path / 's.db'}")) as opened:
        yield opened


def score(store: Store, *paths: Path, config: Config = PLAIN, jobs: int = 1, **choice: str) -> ScoreResult:
    """Scan and score."""
    changes = scan(store, find_files(paths), jobs, lambda *_: None)
    with open_run(store, config, changes.roots, selection=Selection(**choice), jobs=jobs) as run:
        return hold_result(score_run(run, changes.unreadable))


def fresh(tmp_path: Path, *paths: Path, config: Config = PLAIN, **choice: str) -> bytes:
    """The report of a run that knows nothing yet."""
    with closing(open_store(f"sqlite:///{tmp_path / f'fresh-{len(list(tmp_path.iterdir()))}.db'}")) as opened:
        return encode(score(opened, *paths, config=config, **choice).report)


def encode(report: Report) -> bytes:
    return b"".join(encode_document(report))


def talk(*prompts: str, stream: str = "s1", start: int = 0) -> list[dict[str, Any]]:
    """Prompts with their answers, ten seconds apart."""
    return [
        one
        for n, text in enumerate(prompts)
        for one in (build_prompt(start + n * 10, text, stream), build_reply(start + n * 10 + 1, f"did {text}", stream))
    ]


def titles(found: ScoreResult) -> list[str]:
    return [one.title for one in found.report.sessions]


def one_called(found: ScoreResult, title: str) -> str:
    [session] = [one for one in found.report.sessions if one.title.startswith(title)]
    return session.id


TWO = ("card", "spin", "Now weave", "knot")


# --- only what changed ------------------------------------------------------------------------


def test_every_session_is_judged_once(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    first, second = score(store, tmp_path / "in"), score(store, tmp_path / "in")
    assert titles(first) == ["card / spin", "Now weave / knot"]
    assert [(one.judged, one.reused) for one in (first, second)] == [(2, 0), (0, 2)]
    assert encode(first.report) == encode(second.report)


def test_an_unchanged_run_looks_at_no_turn(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    first = score(store, tmp_path / "in")
    with store.database.writing() as connection:
        connection.exec_driver_sql("UPDATE turns SET body = x'c1'")  # which nothing can decode
    assert encode(score(store, tmp_path / "in").report) == encode(first.report)


def test_a_turn_that_is_added_has_only_the_last_session_judged_again(tmp_path: Path, store: Store):
    path = write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    write_lines(tmp_path / "in" / "b.jsonl", *talk("dye", stream="s2", start=5))
    score(store, tmp_path / "in")
    with path.open("ab") as file:
        file.write(encode_lines(talk("hem", start=100)))
    grown = score(store, tmp_path / "in")
    assert (grown.judged, grown.reused) == (1, 2)
    assert titles(grown) == ["card / spin", "dye", "Now weave / knot / hem"]
    assert encode(grown.report) == fresh(tmp_path, tmp_path / "in")


def test_a_new_session_behind_the_last_is_what_was_said_after_it(tmp_path: Path, store: Store):
    path = write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    score(store, tmp_path / "in")
    with path.open("ab") as file:
        file.write(encode_lines(talk("Now hem", start=100)))
    grown = score(store, tmp_path / "in")
    assert (grown.judged, grown.reused) == (2, 1)
    assert [[reason.quote for reason in one.reasons] for one in grown.report.sessions] == [
        ["Now weave"],
        ["Now hem"],
        [],
    ]
    assert encode(grown.report) == fresh(tmp_path, tmp_path / "in")


def test_another_branch_or_title_of_the_stream_has_nothing_judged_again(tmp_path: Path, store: Store):
    path = write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    score(store, tmp_path / "in")
    with path.open("ab") as file:
        file.write(encode_lines([{"type": "ai-title", "aiTitle": "Wool"}, build_reply(200, "", gitBranch="dye")]))
    grown = score(store, tmp_path / "in")
    assert {one.branch for one in grown.report.sessions} == {"dye"}
    assert grown.judged <= 1  # the answer is one of the last session's
    assert encode(grown.report) == fresh(tmp_path, tmp_path / "in")


def test_a_judge_of_another_version_judges_all_again(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch):
    write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    score(store, tmp_path / "in")
    monkeypatch.setenv(VERSION, "2")
    again = score(store, tmp_path / "in")
    assert (again.judged, again.reused) == (2, 0)
    assert again.report.judge.versions["outcome"] == again.report.sessions[0].judge_versions["outcome"] == "2"


COMMITTED = [
    build_prompt(0, "card"), build_shell_call(1, "sed -i s/a/b/ wool.py"), build_result(2, 1, ""),
    build_shell_call(3, "git commit -am card"), build_result(4, 3, "[main 1a2b3c4] card"),
    *talk("spin", "Now weave", start=10),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "judged", "wanted"),
    [
        ({"merge_minutes": 0}, 0, ["card", "spin", "Now weave"]),
        ({"commit": "hard"}, 0, ["card", "spin", "Now weave"]),
        ({"commit": "off"}, 1, ["card / spin", "Now weave"]),
    ],
    ids=str,
)
def test_other_rules_have_only_judged_what_they_cut_otherwise(
    tmp_path: Path, store: Store, rules: dict[str, Any], judged: int, wanted: list[str]
):
    write_lines(tmp_path / "in" / "a.jsonl", *COMMITTED)
    assert titles(score(store, tmp_path / "in")) == ["card", "spin", "Now weave"]
    config = replace(PLAIN, boundaries=Boundaries(**rules))
    again = score(store, tmp_path / "in", config=config)
    assert (again.judged, titles(again)) == (judged, wanted)
    assert encode(again.report) == fresh(tmp_path, tmp_path / "in", config=config)


# --- people -----------------------------------------------------------------------------------


def test_a_split_has_its_two_halves_judged_and_nothing_else(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "spin", "ply", "Now weave"))
    write_lines(tmp_path / "in" / "b.jsonl", *talk("dye", stream="s2", start=5))
    whole = score(store, tmp_path / "in")
    [session] = find_sessions(store, PLAIN, one_called(whole, "card"))
    before, after = corrections.split_session(store, PLAIN, session, "2", AT)
    assert (before.title, after.title, after.boundary.signal) == ("card", "spin / ply", "person")
    assert before.id == session.id
    assert titles(score(store, tmp_path / "in")) == ["card", "dye", "spin / ply", "Now weave"]


def test_how_much_a_correction_has_judged(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "spin", "ply", "Now weave"))
    whole = score(store, tmp_path / "in")
    card, weave = whole.report.sessions
    corrected = store.corrections.save_correction
    turn = hash_turn(card.agent, card.streams[0], read_turns(store, Config(), card)[1])
    corrected(PersonCorrection(kind="split", turn=turn, at=AT), (card.agent, card.streams[0]))
    assert score(store, tmp_path / "in").judged == 2
    corrected(PersonCorrection(kind="rename", turn=weave.id, title="Scarf", at=AT))
    assert (renamed := score(store, tmp_path / "in")).judged == 0
    assert titles(renamed) == ["card", "spin / ply", "Scarf"]
    corrected(PersonCorrection(kind="merge", turn=weave.id, into=turn, at=AT))
    merged = score(store, tmp_path / "in")
    assert (merged.judged, titles(merged)) == (1, ["card", "spin / ply / Now weave"])
    corrected(PersonCorrection(kind="split", turn=weave.id, at=AT), (weave.agent, weave.streams[0]))
    undone = score(store, tmp_path / "in")
    assert (undone.judged, titles(undone)) == (0, ["card", "spin / ply", "Scarf"])


def test_a_merged_session_is_judged_as_one(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "Now dye", "dry"))
    write_lines(tmp_path / "in" / "b.jsonl", *talk("spin", stream="s2", start=100))
    apart = score(store, tmp_path / "in")
    ids = {title: one_called(apart, title) for title in ("card", "Now dye", "spin")}
    [card], [spin] = find_sessions(store, PLAIN, ids["card"]), find_sessions(store, PLAIN, ids["spin"])
    corrections.merge_sessions(store, PLAIN, card, spin, AT)
    whole, dye = score(store, tmp_path / "in").report.sessions
    assert (whole.id, whole.title, whole.streams, dye.id) == (ids["card"], "card / spin", ["s1", "s2"], ids["Now dye"])
    assert [(one.id, one.signal) for one in whole.merged_from] == [(ids["spin"], "person")]
    assert whole.facts["turns"] == 2
    assert [turn.prompt.text for turn in read_turns(store, Config(), whole) if turn.prompt] == ["card", "spin"]
    assert score(store, tmp_path / "in").judged == 0


def test_a_merge_and_a_split_take_each_other_back(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "Now dye"))
    apart = score(store, tmp_path / "in")
    card, dye = apart.report.sessions
    whole = corrections.merge_sessions(store, PLAIN, card, dye, AT)
    assert titles(score(store, tmp_path / "in")) == ["card / Now dye"]
    corrections.split_session(store, PLAIN, whole, "2", AT)
    assert titles(score(store, tmp_path / "in")) == ["card", "Now dye"]
    corrections.merge_sessions(store, PLAIN, card, dye, AT)
    assert titles(score(store, tmp_path / "in")) == ["card / Now dye"]


def test_corrections_outlive_what_they_are_about(tmp_path: Path, store: Store):
    path = write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "spin"))
    [session] = score(store, path).report.sessions
    corrections.split_session(store, PLAIN, session, "2", AT)
    corrections.rename_session(store, PLAIN, session, "Wool", AT)
    with path.open("ab") as file:
        file.write(encode_lines(talk("ply", start=100)))
    assert titles(score(store, path)) == ["Wool", "spin / ply"]
    write_lines(path, *talk("Another story", stream="s9"))
    assert titles(score(store, path)) == ["Another story"]
    write_lines(path, *talk("card", "spin"))
    assert titles(score(store, path)) == ["Wool", "spin"]


def test_a_merge_and_a_name_hold_where_a_later_judge_cuts_elsewhere(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
):
    path = write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "comb", "Now dye", "dry"))
    write_lines(tmp_path / "in" / "b.jsonl", *talk("spin", stream="s2", start=100))
    _, dye, spin = score(store, tmp_path / "in").report.sessions
    corrections.merge_sessions(store, PLAIN, spin, dye, AT)
    corrections.rename_session(store, PLAIN, dye, "Colour", AT)
    assert titles(score(store, tmp_path / "in")) == ["card / comb", "Colour"]
    monkeypatch.setenv(VERSION, "2")
    monkeypatch.setenv(TOPICS, "comb")
    moved = score(store, tmp_path / "in")
    assert titles(moved) == ["card", "Colour"]
    assert moved.report.sessions[1].facts["turns"] == 4
    assert [one.streams for one in score(store, path).report.sessions] == [["s1"], ["s1"]]


def test_the_turn_to_split_at_may_be_told_by_its_id(tmp_path: Path, store: Store):
    path = write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "spin"))
    [session] = score(store, path).report.sessions
    turn = hash_turn("claude-code", "s1", read_turns(store, Config(), session)[1])
    assert corrections.split_session(store, PLAIN, session, turn.upper(), AT)[1].id == turn


@pytest.mark.parametrize(
    ("turn", "why"),
    [("1", "nothing before it"), ("4", "turns 1 to 3"), ("0", "no turn 0"), ("-1", "no turn -1"), ("x", "no turn x")],
)
def test_a_turn_that_can_begin_no_session_is_told(tmp_path: Path, store: Store, turn: str, why: str):
    path = write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "spin", "ply"))
    [session] = score(store, path).report.sessions
    with pytest.raises(BadInput, match=why):
        corrections.split_session(store, PLAIN, session, turn, AT)
    assert not store.corrections.load_corrections()


def test_what_happened_before_anybody_spoke_is_no_session(tmp_path: Path, store: Store):
    path = write_lines(tmp_path / "in" / "a.jsonl", build_reply(0, "hello"), *talk("card", "spin", start=10))
    [session] = score(store, path).report.sessions
    for turn, why in (("1", "no prompt"), ("2", "nothing before it")):
        with pytest.raises(BadInput, match=why):
            corrections.split_session(store, PLAIN, session, turn, AT)
    assert corrections.split_session(store, PLAIN, session, "3", AT)[1].title == "spin"


def test_a_session_is_not_merged_with_itself(tmp_path: Path, store: Store):
    path = write_lines(tmp_path / "in" / "a.jsonl", *talk("card"))
    [session] = score(store, path).report.sessions
    with pytest.raises(BadInput, match="itself"):
        corrections.merge_sessions(store, PLAIN, session, session, AT)


# --- same input, same output ------------------------------------------------------------------


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("examples") / "in"
    with as_file(files("assay").joinpath("examples")) as bundled:
        shutil.copytree(bundled, top)
    return top


def test_it_does_not_matter_in_which_order_and_pieces_files_are_read(tmp_path: Path, examples: Path):
    wanted = fresh(tmp_path, examples, config=OFFLINE)
    for turn in (list, lambda found: list(reversed(found))):
        there = tmp_path / turn.__name__ / "in"
        with closing(open_store(f"sqlite:///{tmp_path / turn.__name__}.db")) as opened:
            for file in turn(sorted(examples.rglob("*.jsonl"))):
                copy = there / file.relative_to(examples)
                copy.parent.mkdir(parents=True, exist_ok=True)
                content = file.read_bytes()
                copy.write_bytes(content[: len(content) // 2])
                score(opened, there, config=OFFLINE)
                with copy.open("ab") as rest:
                    rest.write(content[len(content) // 2 :])
            assert encode(score(opened, there, config=OFFLINE).report) == wanted


def test_it_does_not_matter_how_many_processes_judge(tmp_path: Path):
    folder = write_folder(tmp_path / "in", 220, padding=14_000)
    reports = []
    for jobs in (1, 2):
        with closing(open_store(f"sqlite:///{tmp_path / f'{jobs}.db'}")) as opened:
            found = score(opened, folder, config=OFFLINE, jobs=jobs)
            assert found.judged >= 220
            reports.append(encode(found.report))
    assert reports[0] == reports[1]


def test_what_else_lies_in_the_store_makes_no_difference(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    write_lines(tmp_path / "other" / "b.jsonl", *talk("dye", stream="s2"), b"no json")
    score(store, tmp_path / "in", tmp_path / "other")
    assert encode(score(store, tmp_path / "in").report) == fresh(tmp_path, tmp_path / "in")


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path, store: Store):
    folder = write_folder(tmp_path / "in", 12, padding=1_500_000)
    changes = scan(store, find_files([folder]), 1, lambda *_: None)
    seen: list[int] = []

    def stop(done: int, total: int) -> None:
        seen.append(done)
        if 0 < done < total:
            raise KeyboardInterrupt

    with pytest.raises(RunStopped), open_run(store, PLAIN, changes.roots, jobs=1) as run:
        score_run(run, progress=stop)
    assert len(seen) == 2
    again = score(store, folder)
    assert 0 < again.judged < 12
    assert encode(again.report) == fresh(tmp_path, folder)


def test_a_stream_that_changed_while_it_was_cut_is_cut_again(tmp_path: Path, store: Store):
    path = write_lines(tmp_path / "in" / "a.jsonl", *talk("card"))
    changes = scan(store, find_files([path]), 1, lambda *_: None)

    def meanwhile(done: int, _: int) -> None:
        if not done and path.read_bytes().count(b"spin") == 0:
            with path.open("ab") as file:
                file.write(encode_lines(talk("spin", start=100)))
            scan(store, find_files([path]), 1, lambda *_: None)

    with open_run(store, PLAIN, changes.roots, jobs=1) as run:
        found = hold_result(score_run(run, progress=meanwhile))
    assert titles(found) == ["card / spin"]
    assert encode(found.report) == fresh(tmp_path, path)


def test_a_stream_that_lost_its_file_to_another_is_no_longer_scored(tmp_path: Path, store: Store):
    path = write_lines(tmp_path / "in" / "a.jsonl", *talk("card"))
    score(store, path)
    write_lines(path, *talk("spin", stream="s2"))
    assert titles(score(store, path)) == ["spin"]
    with store.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT DISTINCT stream FROM segments").scalars().all() == ["s2"]


def test_a_store_of_the_first_version_is_scored_like_a_new_one(tmp_path: Path):
    write_lines(tmp_path / "in" / "a.jsonl", *build_conversation("one", 3))
    write_lines(tmp_path / "in" / "b.jsonl", *build_conversation("one", 3), *build_conversation("two", 2, start=100))
    with closing(open_store(f"sqlite:///{tmp_path / 'old.db'}")) as opened:
        scan(opened, find_files([tmp_path / "in"]), 1, lambda *_: None)
    with closing(sqlite3.connect(tmp_path / "old.db")) as old, old:
        later = "cuts segments joined corrections rework answers calls batches remembered written verdicts set_aside"
        later += " access_keys deeds telemetry conversations waits seals machines shipped shipped_streams shipped_parts"
        later += " printed listed_folders promotions reserved_costs"
        told = "commit_deeds told_ledger told told_streams neighbourhoods changed_streams"
        for table in f"{later} {told}".split():
            old.execute(f"DROP TABLE {table}")
        old.execute("DROP INDEX streams_id")
        for index in ("files_skipping", "files_broken_off", "streams_ended"):
            old.execute(f"DROP INDEX {index}")
        for column in ("shares", "generation", "is_forgotten"):
            old.execute(f"ALTER TABLE streams DROP COLUMN {column}")
        old.execute("UPDATE alembic_version SET version_num = '0001'")
    with closing(open_store(f"sqlite:///{tmp_path / 'old.db'}")) as opened:
        assert encode(score(opened, tmp_path / "in").report) == fresh(tmp_path, tmp_path / "in")


# --- judges that fail -------------------------------------------------------------------------


def test_a_judge_without_an_answer_breaks_nothing(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk("unanswerable", "spin", "ply", "Now weave", "knot", "hem"))
    lunch, fine = score(store, tmp_path / "in").report.sessions
    assert (lunch.judge_status, lunch.ungraded_reason) == ("ungraded", "the judge is out to lunch")
    assert (lunch.goal_complete, lunch.crushed, fine.judge_status, fine.crushed) == (None, None, "ok", True)


def test_what_was_not_answered_is_asked_again(tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(REFUSES, str(tmp_path / "lunch"))
    (tmp_path / "lunch").touch()
    write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "spin", "ply"))
    assert [score(store, tmp_path / "in").judged for _ in range(2)] == [1, 1]
    (tmp_path / "lunch").unlink()
    assert score(store, tmp_path / "in").report.sessions[0].judge_status == "ok"
    assert score(store, tmp_path / "in").judged == 0


@pytest.mark.parametrize("name", ["nobody", "formula", ""])
def test_a_judge_that_is_none_is_told(tmp_path: Path, store: Store, name: str):
    with pytest.raises(BadInput, match="offline"), open_run(store, Config(judge=name), (), jobs=1):
        pass


# --- what is reported -------------------------------------------------------------------------


def test_only_sessions_of_a_time_and_project_are_reported(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    write_lines(
        tmp_path / "in" / "b.jsonl", *(one | {"cwd": "/home/ada/dye"} for one in talk("dye", stream="s2", start=99))
    )
    score(store, tmp_path / "in")
    table = [
        ({}, ["card / spin", "Now weave / knot", "dye"]),
        ({"since": "2026-03-02T09:00:12.000Z"}, ["Now weave / knot", "dye"]),
        ({"since": "2026-03-02T09:00:11.000Z"}, ["card / spin", "Now weave / knot", "dye"]),
        ({"until": "2026-03-02T09:00:20.000Z"}, ["card / spin"]),
        ({"until": "2026-03-02T09:00:20.001Z"}, ["card / spin", "Now weave / knot"]),
        ({"project": "LOOM"}, ["card / spin", "Now weave / knot"]),
        ({"project": "/home/ada"}, ["card / spin", "Now weave / knot", "dye"]),
        ({"project": "/home/ada/dye"}, ["dye"]),
        ({"project": "/home/ad"}, []),
    ]
    for choice, wanted in table:
        found = score(store, tmp_path / "in", **choice)
        assert titles(found) == wanted, choice
        assert found.judged == 0
        assert {one.session for one in found.report.ledger} <= {one.id for one in found.report.sessions}


def test_a_selection_of_nothing_is_no_number(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    report = score(store, tmp_path / "in", since="2030-01-01T00:00:00.000Z").report
    assert (report.score.value, report.score.low, report.grade, report.sessions, report.ledger) == (
        None, None, None, [], [],
    )  # fmt: skip
    assert report.waterfall.streams == 0


def test_what_could_not_be_read_is_told_with_its_reasons(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk("card"), b'{"half', b"[1]", b'{"quarter')
    (tmp_path / "in" / "b.jsonl").write_bytes(b"Dear diary\n" * 3)
    (tmp_path / "in" / "c.jsonl").write_bytes(b"")
    changes = scan(store, find_files([tmp_path / "in"]), 1, lambda *_: None)
    with open_run(store, PLAIN, changes.roots, jobs=1) as run:
        report = score_run(run, [("/x", "Permission denied")]).report
    assert (report.skipped.files, report.skipped.lines) == (3, 6)
    assert report.skipped.reasons == {
        "not JSON": 2, "Permission denied": 1, "an empty file": 1, "not a JSON object": 1,
        "not a transcript of any agent that is known here": 1,
    }  # fmt: skip


def test_a_session_is_told_by_where_its_turns_stand(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    first, second = score(store, tmp_path / "in").report.sessions
    assert (first.agent, first.project, first.branch, first.streams) == (
        "claude-code",
        "/home/ada/loom",
        "main",
        ["s1"],
    )
    assert (first.started_at, first.ended_at) == ("2026-03-02T09:00:00.000Z", "2026-03-02T09:00:11.000Z")
    assert second.prompts_at == ["2026-03-02T09:00:20.000Z", "2026-03-02T09:00:30.000Z"]
    assert (first.models, first.boundary.signal, second.boundary.signal) == (
        ["claude-sonnet-4-5"], "conversation", "topic",
    )  # fmt: skip
    assert [turn.prompt.text for turn in read_turns(store, Config(), second) if turn.prompt] == ["Now weave", "knot"]


def test_sessions_are_found_by_how_their_id_begins(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    everything = find_sessions(store, PLAIN, "")
    assert everything == []
    scan(store, find_files([tmp_path / "in"]), 1, lambda *_: None)
    both = find_sessions(store, PLAIN, "")
    assert [one.title for one in both] == ["card / spin", "Now weave / knot"]
    for one in both:
        assert find_sessions(store, PLAIN, one.id) == find_sessions(store, PLAIN, one.id[:11]) == [one]
    assert find_sessions(store, PLAIN, "zz") == []


def test_nothing_of_the_machine_is_in_a_report(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk(*TWO))
    text = encode(score(store, tmp_path / "in").report).decode()
    assert str(tmp_path) not in text
    with suppress(KeyError):
        assert os.environ["HOME"] not in text


# --- still going on -----------------------------------------------------------------------------


def test_a_session_still_going_on_counts_for_nothing_and_is_judged_once_it_is_over(tmp_path: Path, store: Store):
    write_lines(tmp_path / "in" / "a.jsonl", *talk("card", "spin", "weave"))
    [ended] = score(store, tmp_path / "in").report.sessions
    soon, later = (replace(PLAIN, as_of=f"{ended.ended_at[:14]}{minute}:59Z") for minute in ("05", "30"))
    first = score(store, tmp_path / "in", config=soon)
    [session] = first.report.sessions
    assert (session.judge_status, session.goal_complete, session.crushed) == ("in_progress", None, None)
    assert (first.report.exclusions, first.report.score.counted) == ({"in_progress": 1}, 0)
    second = score(store, tmp_path / "in", config=later)
    assert [one.judge_status for one in second.report.sessions] == [ended.judge_status]
    assert second.judged == 0
