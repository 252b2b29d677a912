"""`assay score`: what is scored, what is said, what is kept in a file."""

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from assay.testing.claude_code import build_conversation, build_prompt, write_folder, write_lines
from tests.conftest import Ran, is_one_line, run

PLACES = {"/home/ada/loom": ("2026-03-02", 3), "/home/ada/wheel": ("2026-04-01", 2)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Conversations of two months in two projects."""
    top = tmp_path_factory.mktemp("score") / "in"
    for cwd, (day, streams) in PLACES.items():
        for n in range(streams):
            name = f"{Path(cwd).name}-{n}"
            records = [
                {**one, "cwd": cwd, "timestamp": one["timestamp"].replace("2026-03-02T09", f"{day}T{9 + n:02}")}
                for one in build_conversation(name, 3)
            ]
            write_lines(top / f"{name}.jsonl", *records)
    return top


def score(folder: Path, *args: object, **more: Any) -> Ran:
    return run("score", folder, "--store", folder.parent / "s.db", *args, **more)


def test_the_report_is_headline_waterfall_measures_sessions_and_notes(folder: Path):
    ran = score(folder)
    assert (ran.code, ran.err) == (0, "")
    places = [
        ran.out.find(word) for word in ("PRISM Score ", "judged by", "of substance", "Beside it", "Sessions", "began")
    ]
    assert -1 not in places
    assert places == sorted(places)
    assert "reading" not in ran.out + ran.err


def test_the_json_has_all_that_machines_read(folder: Path):
    found = score(folder, "--json").json
    assert list(found) == [
        "kind", "schema_version", "score", "waterfall", "losses", "judge", "by_judge", "skipped", "exclusions", "small",
        "grade", "no_grade", "audit", "agreement", "measures", "slices", "trends", "windows", "obstacles", "fallbacks",
        "rework_unknown", "went_on", "survival", "lost", "sessions", "ledger", "what_if", "comparison",
    ]  # fmt: skip
    assert found["waterfall"]["streams"] == 5
    assert {entry["session"] for entry in found["ledger"]} >= {one["id"] for one in found["sessions"]}
    wanted = {"id", "agent", "project", "streams", "started_at", "ended_at", "prompts_at", "boundary", "merged_from",
              "facts", "intent", "judge_status", "goal_complete", "confidence", "evidence", "citations", "crushed",
              "title", "summary", "grade", "checks"}  # fmt: skip
    assert wanted <= found["sessions"][0].keys()


def test_the_same_input_gives_the_same_bytes(folder: Path, tmp_path: Path):
    runs = [run("score", folder, "--store", tmp_path / f"{jobs}.db", "--json", "--jobs", jobs).out for jobs in (1, 2)]
    assert runs[0] == runs[1] == score(folder, "--json").out == score(folder, "--json").out


@pytest.mark.parametrize(
    ("options", "streams"),
    [
        ([], 5),
        (["--project", "wheel"], 2),
        (["--since", "2026-03-15"], 2),
        (["--until", "2026-03-15"], 3),
        (["--since", "2026-03-02", "--until", "2026-03-03"], 3),
        (["--since", "2026-04-01", "--timezone", "Asia/Tokyo"], 2),
        (["--since", "2026-04-01T18:30", "--timezone", "Asia/Tokyo"], 1),
    ],
)
def test_sessions_are_chosen_by_time_and_project(folder: Path, options: list[str], streams: int):
    found = score(folder, "--json", *options).json
    assert len({stream for one in found["sessions"] for stream in one["streams"]}) == streams


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--since", "2027-01-01"], ["none of", "fits --since 2027-01-01", "the first one began", "2026-04-01"]),
        (["--until", "2020-01-01"], ["fits --until 2020-01-01"]),
        (["--project", "spindle"], ["fits --project spindle", "projects: loom, wheel"]),
    ],
)
def test_a_choice_that_fits_nothing_is_no_score_and_says_what_there_is(
    folder: Path, options: list[str], words: list[str]
):
    ran = score(folder, "--json", *options, env={"TZ": "UTC"})
    assert ran.code == 0
    assert is_one_line(ran.err)
    assert not [word for word in words if word not in ran.err]
    found = json.loads(ran.out)
    assert found["score"]["value"] is None
    assert found["sessions"] == []
    shown = score(folder, *options)
    assert shown.out.startswith("PRISM Score: no score, nothing counts")


def test_the_projects_there_are_bear_the_names_of_reports(tmp_path: Path):
    for n, cwd in enumerate(("/Users/ada/src/loom", "/Users/ada/.codex/worktrees/045e/loom")):
        lines = [{**one, "cwd": cwd} for one in build_conversation(f"s{n}")]
        write_lines(tmp_path / "in" / f"{n}.jsonl", *lines)
    ran = score(tmp_path / "in", "--project", "spindle", "--store", tmp_path / "s.db")
    assert "projects: loom\n" in ran.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "moon"], ["--by 'moon'", "project, branch, model, agent, intent, language"]),
        (["--commit", "soft"], ["--commit 'soft'", "confirm, hard, off"]),
        (["--judge", "solomon"], ["'solomon'", "offline"]),
        (["--judge", ""], ["--judge ''", "offline"]),
        (["--timezone", "Mars/Olympus"], ["--timezone 'Mars/Olympus'", "Europe/Berlin"]),
        (["--since", "2026-05-01", "--until", "2026-04-01"], ["--since 2026-05-01", "--until 2026-04-01"]),
        (["--since", "soon"], ["--since 'soon'", "7d"]),
        (["-o", "report.txt"], ["-o report.txt", ".json, .csv, .md"]),
        (["-o", "report"], [".json, .csv, .md"]),
        (["-o", "nowhere/report.md"], ["nowhere", "make it first"]),
        (["--store", "postgres://loom"], ["--store postgres://loom"]),
    ],
)
def test_what_cannot_be_used_is_told_in_one_line(folder: Path, options: list[str], words: list[str]):
    ran = score(folder, "--json", *options)
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert not [word for word in words if word not in ran.err]


@pytest.mark.parametrize(
    "words",
    [
        "score PATH", "sessions PATH", "streams PATH", "quality PATH", "doctor PATH", "egress PATH", "show PATH",
        "judges PATH", "audit --status PATH", "usage PATH", "compare --before-after 2026-01-01 PATH",
        "score PLACE PATH", "quality PLACE PATH", "eval compare PATH", "eval gate PATH", "eval replay PATH",
        "eval promote PATH",
    ],
)  # fmt: skip
def test_a_path_that_is_not_there_is_told_by_every_command(folder: Path, words: str):
    store = [] if words.startswith("eval") else ["--store", folder.parent / "s.db"]
    assert score(folder).code == 0
    missing, there = str(folder.parent / "nowhere"), str(folder)
    given = [{"PATH": missing, "PLACE": there}.get(word, word) for word in words.split()]
    ran = run(*given, *store)
    assert (ran.code, ran.out, is_one_line(ran.err)) == (2, "", True)
    assert f"{missing}: no such file or folder" in ran.err


def test_a_folder_without_transcripts_is_told_and_offers_the_demo(tmp_path: Path):
    (tmp_path / "in").mkdir()
    ran = run("score", tmp_path / "in", "--store", tmp_path / "s.db", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "assay demo" in ran.err


def test_settings_come_from_the_project_and_flags_win(folder: Path, tmp_path: Path):
    (tmp_path / "assay.toml").write_text(f'judge = "nobody"\nstore = "{tmp_path}/mine.db"\n')
    ran = run("score", folder, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "nobody" in ran.err
    assert run("score", folder, "--judge", "offline", cwd=tmp_path).code == 0
    assert (tmp_path / "mine.db").exists()


@pytest.mark.parametrize("name", ["score", "sessions", "streams", "doctor", "show"])
def test_a_key_that_is_not_known_is_told(tmp_path: Path, name: str):
    (tmp_path / "assay.toml").write_text("jugde = 'offline'\n")
    ran = run(name, *([] if name == "doctor" else [write_folder(tmp_path / "in", 1)]), cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert "did you mean judge?" in ran.err


def test_slices_are_shown_when_asked_for(folder: Path):
    assert "By project" not in score(folder).out
    shown = score(folder, "--by", "project").out
    assert not [word for word in ("By project", "loom", "wheel") if word not in shown]


# --- files ------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_report_is_kept_as_its_ending_says(folder: Path, tmp_path: Path):
    files = {ending: tmp_path / f"report.{ending}" for ending in ("json", "csv", "md", "JSON")}
    shown = [score(folder, "-o", file).out for file in files.values()]
    assert set(shown) == {score(folder).out}
    printed = score(folder, "--json").json
    assert json.loads(files["json"].read_bytes()) == json.loads(files["JSON"].read_bytes()) == printed
    rows = list(csv.DictReader(io.StringIO(files["csv"].read_text())))
    assert [row["id"] for row in rows] == [one["id"] for one in printed["sessions"]]
    assert files["md"].read_text().startswith("# PRISM Score\n")
    assert sorted(os.listdir(tmp_path)) == sorted(file.name for file in files.values())


def test_one_run_writes_every_file_it_is_given(folder: Path, tmp_path: Path):
    files = [tmp_path / f"all.{ending}" for ending in ("json", "csv", "md")]
    ran = score(folder, "--json", *(word for file in (*files, files[0]) for word in ("-o", file)))
    assert ran.err.count("wrote ") == len(files)
    assert files[0].read_text() == ran.out
    for file in files[1:]:
        assert score(folder, "-o", tmp_path / f"one{file.suffix}").code == 0
        assert file.read_bytes() == (tmp_path / f"one{file.suffix}").read_bytes()
    assert score(folder, "-o", tmp_path / "new.md", "-o", tmp_path / "report.txt").code == 2
    assert not (tmp_path / "new.md").exists()


def test_with_json_the_file_is_kept_too_and_stdout_is_one_document(folder: Path, tmp_path: Path):
    ran = score(folder, "--json", "-o", tmp_path / "report.md")
    assert json.loads(ran.out)["schema_version"] == 1
    assert (tmp_path / "report.md").exists()


def test_what_was_there_is_replaced_whole_and_a_link_is_followed(folder: Path, tmp_path: Path):
    (tmp_path / "real.md").write_text("x" * 1_000_000)
    (tmp_path / "link.md").symlink_to("real.md")
    assert score(folder, "-o", tmp_path / "link.md").code == 0
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text().startswith("# PRISM Score\n")
    assert sorted(os.listdir(tmp_path)) == ["link.md", "real.md"]


def test_what_is_no_file_is_not_replaced_by_a_report(folder: Path, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "null.json").symlink_to("null")
    os.mkfifo(tmp_path / "null")
    (tmp_path / "notes.md").symlink_to("diary.txt")
    (tmp_path / "diary.txt").write_text("today I wove")

    def there() -> dict[str, object]:
        found = {file.name: file.lstat() for file in tmp_path.iterdir()}
        return {name: (one.st_mode, one.st_ino, one.st_size, one.st_mtime_ns) for name, one in found.items()}

    before = there()
    for name in ("pipe.json", "null.json", "notes.md"):
        ran = score(folder, "-o", tmp_path / name)
        assert (ran.code, ran.out, is_one_line(ran.err)) == (2, "", True), name
    assert there() == before


def test_a_report_keeps_the_mode_of_the_file_it_replaces(folder: Path, tmp_path: Path):
    (tmp_path / "r.md").touch(0o600)
    assert score(folder, "-o", tmp_path / "r.md").code == 0
    assert (tmp_path / "r.md").stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_written_is_told_and_leaves_nothing(folder: Path, tmp_path: Path):
    (tmp_path / "report.md").mkdir()
    ran = score(folder, "-o", tmp_path / "report.md")
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    ran = score(folder, "-o", f"/proc/{os.getpid()}/report.md")
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert "can't be written" in ran.err


def test_what_was_not_read_is_noted(tmp_path: Path):
    write_lines(tmp_path / "a.jsonl", *build_conversation("a", 3), b"broken")
    ran = run("score", tmp_path, "--store", tmp_path / "s.db")
    assert "1 line could not be read: `assay doctor` with the same paths says which" in ran.out


def test_a_conversation_in_which_nobody_said_much_is_no_score(tmp_path: Path):
    write_lines(tmp_path / "a.jsonl", build_prompt(1, "hi"))
    ran = run("score", tmp_path, "--store", tmp_path / "s.db")
    assert "PRISM Score: no score, nothing counts: of 1 session 1 no goal" in ran.out
