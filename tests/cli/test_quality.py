"""`assay quality` as a person uses it: by id, by path, of all; for people, machines and documents."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from assay.reports.quality import EMPTY, FULL
from assay.scores.profiles import SHIPPED, hash_profile, load_profile
from assay.testing.claude_code import build_conversation, write_lines
from assay.testing.langfuse import LangfuseServer
from assay.testing.models import ErrorStatus, ModelServer
from tests.conftest import Ran, is_one_line, run
from tests.pipeline.test_quality import answering

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "src/assay/examples"
SKILL = ROOT / "src/assay/plugin/skills/score-session/SKILL.md"
OWN = """
about = "One thing"
[[dimensions]]
name = "care"
kind = "numeric"
weight = {weight}
asks = "Was it checked?"
bands = [{{ low = 0.0, high = 1.0, label = "any", means = "any" }}]
signals = ["verification"]
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A person with transcripts of Claude Code and Codex, who has scored them before."""
    top = tmp_path_factory.mktemp("quality")
    shutil.copytree(EXAMPLES / "claude-code", top / ".claude" / "projects")
    shutil.copytree(EXAMPLES / "codex", top / ".codex" / "sessions")
    assert quality(top).code == 0
    return top


def person(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config"), **more}


def quality(home: Path, *args: object, **env: str) -> Ran:
    return run("quality", *args, env=person(home, **env), cwd=home)


def found(home: Path, *args: object, **env: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = quality(home, *args, "--json", **env).json["qualities"]
    return listed


def ids(home: Path) -> list[str]:
    return [one["session"] for one in found(home)]


# --- which sessions -------------------------------------------------------------------------------


def test_without_anything_all_sessions_are_looked_at(home: Path) -> None:
    listed = run("sessions", "--json", env=person(home), cwd=home).json["sessions"]
    assert ids(home) == [one["id"] for one in listed]


def test_ids_may_be_whole_or_how_they_begin_and_several(home: Path) -> None:
    first, second, *_ = ids(home)
    assert [one["session"] for one in found(home, first)] == [first]
    assert [one["session"] for one in found(home, second[:6].upper(), first[:6])] == [first, second]


def test_paths_may_be_files_and_folders(home: Path) -> None:
    transcript = next((home / ".codex").rglob("*.jsonl"))
    one = found(home, transcript)
    assert 1 <= len(one) < len(ids(home))
    assert {each["session"] for each in found(home, home / ".codex", home / ".claude")} == set(ids(home))


def test_a_time_and_a_project_choose(home: Path) -> None:
    some = found(home, "--project", "ledger", "--since", "2025-11-05")
    assert 0 < len(some) < len(ids(home))


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["nobody"], "no session begins with 'nobody'; `assay sessions` lists them"),
        (["nobody", ".codex"], "'nobody' is no file or folder; give paths, or ids of sessions, not both"),
        (["--since", "2031-01-01"], "no session fits --since 2031-01-01"),
        (["--project", "loom"], "no session fits --project loom"),
        (["--profile", "nobody"], "no profile is called 'nobody'"),
        (["--profile", "missing.toml"], "missing.toml"),
        (["-o", "q.html"], "give a file that ends in .json, .md"),
        (["--judge", "nobody"], "nobody"),
        (["--by", "moon"], "--by 'moon': give one of project"),
        (["--sort", "moon"], "--sort 'moon': give one of time, quality, goal_achievement"),
        (
            ["--batch", "--judge", "openai", "--model", "m", "--model-url", "http://127.0.0.1:9/v1"],
            "takes no batches",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_told_in_a_line(home: Path, args: list[str], why: str) -> None:
    ran = quality(home, *args)
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert why in ran.err


def test_an_id_that_is_only_half_right_prints_nothing(home: Path) -> None:
    ran = quality(home, ids(home)[0], "nobody")
    assert (ran.code, ran.out) == (2, "")


def test_without_transcripts_it_says_where_it_looked(tmp_path: Path) -> None:
    ran = quality(tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "no transcripts found; looked in" in ran.err
    assert "'abc'" in quality(tmp_path, "abc").err


# --- for machines ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHIPPED)
def test_the_json_has_what_the_design_promises(home: Path, name: str) -> None:
    profile = load_profile(name)
    for one in found(home, "--profile", name):
        assert {"session", "profile", "dimensions", "overall_quality", "chunks"} <= set(one)
        assert (one["profile"], one["profile_version"]) == (name, hash_profile(profile))
        assert list(one["dimensions"]) == [scale.name for scale in profile.dimensions]
        for scale in profile.dimensions:
            said = one["dimensions"][scale.name]
            assert {"score", "label", "evidence", "rationale"} <= set(said)
            if said["score"] is None:
                assert said["ungraded"]
                assert not said["evidence"]
                continue
            assert said["rationale"]
            assert said["evidence"]
            assert all(set(cited) == {"turn", "quote"} and cited["turn"] >= 1 for cited in said["evidence"])
            assert said["label"] == scale.label(said["score"])
        assert sorted([*one["computed_from"], *one["missing"]]) == sorted(one["dimensions"]) or not one["computed_from"]


def test_a_trivial_session_is_ungraded_in_a_list_and_judged_by_name(home: Path) -> None:
    (small,) = [one for one in found(home) if one["judge"] == "nobody"]
    assert small["overall_quality"] is None
    assert {each["ungraded"] for each in small["dimensions"].values()} == {
        "trivial: under 3 turns, and nothing was done"
    }
    (named,) = found(home, small["session"])
    assert named["judge"] == "offline"


def test_a_file_holds_the_same(home: Path, tmp_path: Path) -> None:
    ran = quality(home, "--json", "-o", tmp_path / "q.json")
    assert json.loads((tmp_path / "q.json").read_text()) == ran.json
    assert "q.json" in ran.err
    ran = quality(home, "-o", tmp_path / "q.md")
    page = (tmp_path / "q.md").read_text()
    assert ran.code == 0
    assert page.startswith("# Quality by the profile enhanced\n")
    assert page.count("\n## ") == len(ids(home)) + 1
    assert page.partition("\n## Means\n")[2].count("\n|") == 9


# --- for people -----------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [80, 140])
def test_many_sessions_have_a_line_each_that_fits(home: Path, columns: int) -> None:
    lines = quality(home, COLUMNS=str(columns)).out.splitlines()
    assert all(len(line) <= columns for line in lines)
    rows = [line for line in lines if re.match(r"[0-9a-f]{12} ", line)]
    assert len(rows) == len(ids(home))
    scored = [one for one in found(home) if one["overall_quality"] is not None]
    assert f"{len(rows)} sessions, {len(scored)} scored, median " in "\n".join(lines)
    for row, one in zip(rows, found(home), strict=True):
        if one["overall_quality"] is None:
            assert "trivial" in row
            assert FULL not in row
            assert EMPTY not in row
        else:
            assert f" {one['overall_quality']:.2f} " in row
            assert any(name.replace("_", " ") in row for name in one["computed_from"])


def test_means_groups_and_the_worst_first_are_there_for_the_asking(home: Path) -> None:
    told = quality(home, COLUMNS="80").out
    assert re.search(r"^mean quality 0\.\d\d \(0\.\d\d–0\.\d\d\) of \d+ sessions", told, re.MULTILINE)
    assert re.search(r"^goal achievement .* pulls it down by 0\.\d\d", told, re.MULTILINE)
    grouped = quality(home, "--by", "agent", "--json").json
    assert (grouped["by"], sorted(one["name"] for one in grouped["groups"])) == ("agent", ["claude-code", "codex"])
    assert sum(one["sessions"] for one in grouped["groups"]) == grouped["summary"]["sessions"] == len(ids(home))
    assert "by agent" in quality(home, "--by", "agent", "-o", "means.md", COLUMNS="80").out
    page = (home / "means.md").read_text("utf-8")
    assert "## By agent" in page
    assert re.search(r"^\| goal achievement \| 0\.\d\d \(0\.\d\d–0\.\d\d\) \| 0\.\d\d \| \d+ \|$", page, re.MULTILINE)
    sorted_ones = [one["overall_quality"] for one in found(home, "--sort", "quality")]
    known = [one for one in sorted_ones if one is not None]
    assert known == sorted(known) == sorted_ones[: len(known)]


@pytest.mark.parametrize("columns", [80, 140])
def test_few_sessions_are_told_in_full(home: Path, columns: int) -> None:
    some = ids(home)[:3]
    ran = quality(home, *some, COLUMNS=str(columns))
    assert all(len(line.rstrip()) <= columns for line in ran.out.splitlines())
    assert ran.out.count("overall quality ") >= 3
    assert ran.out.count("judged by offline in one piece; profile enhanced") == 3
    flat = " ".join(ran.out.split())
    for one in found(home, *some):
        for name, said in one["dimensions"].items():
            told = said["rationale"] or f"ungraded: {said['ungraded']}"
            assert f"{name.replace('_', ' ')}: {told}" in flat
            assert all(f"turn {cited['turn']} “" in flat for cited in said["evidence"])


def test_details_tell_all_of_many(home: Path) -> None:
    ran = quality(home, "--details")
    assert ran.out.count("judged by offline in one piece") == len(ids(home)) - 1
    assert "no overall quality: trivial: under 3 turns, and nothing was done" in ran.out


def test_ones_own_profile_is_used_by_name_and_by_path(home: Path, tmp_path: Path) -> None:
    (tmp_path / "care.toml").write_text(OWN.format(weight=1.0))
    (one, *_) = found(home, "--profile", tmp_path / "care.toml")
    assert (one["profile"], list(one["dimensions"])) == ("care", ["care"])
    (tmp_path / "care.toml").write_text(OWN.format(weight=0.4))
    ran = quality(home, "--profile", tmp_path / "care.toml")
    assert (ran.code, ran.out) == (2, "")
    assert "care.toml: weights sum to 0.4, not 1; change one by +0.6" in ran.err


# --- by a model -----------------------------------------------------------------------------------


@pytest.fixture
def few(tmp_path: Path) -> Path:
    for n in range(5):
        write_lines(tmp_path / ".claude" / "projects" / "p" / f"{n}.jsonl", *build_conversation(f"row-{n}", 3))
    return tmp_path


def by_model(few: Path, service: ModelServer, *args: object) -> Ran:
    return quality(few, "--judge", "anthropic", "--model-url", service.url, *args, ANTHROPIC_API_KEY="none")


def test_nothing_is_sent_from_a_pipe_without_a_yes(few: Path) -> None:
    with ModelServer(answering()) as service:
        ran = by_model(few, service)
        assert not service.requests
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert f"this would ask claude-sonnet-4-5 at {service.url} 5 questions: about " in ran.err
    assert "Add --yes to go on, `assay quality --dry-run` shows every word" in ran.err


def test_a_dry_run_shows_every_word_and_sends_none(few: Path) -> None:
    with ModelServer(answering()) as service:
        ran = by_model(few, service, "--dry-run")
        machine = by_model(few, service, "--dry-run", "--json").json
        assert not service.requests
        by_model(few, service, "--yes")
        sent = {one.body["messages"][0]["content"][0]["text"] for one in service.calls}
    assert ran.code == 0
    assert "| weave row 20 of row-3" in ran.out
    assert "## goal_achievement" in ran.out
    assert {one["material"] for one in machine["requests"]} == sent
    assert (machine["model"], machine["estimate"]["questions"]) == ("claude-sonnet-4-5", 5)


def test_a_dry_run_of_the_offline_judge_says_that_nothing_leaves(few: Path) -> None:
    assert quality(few, "--dry-run", "--json").json["requests"] == []


def test_with_a_yes_a_model_judges_and_is_paid_once(few: Path) -> None:
    with ModelServer(answering()) as service:
        ran = by_model(few, service, "--yes", "--json")
        assert {one["judge"] for one in ran.json["qualities"]} == {"anthropic"}
        assert all(one["fallback"] is None and one["overall_quality"] for one in ran.json["qualities"])
        assert [one.job for one in service.calls] == ["quality"] * 5
        assert by_model(few, service, "--json").json == ran.json
        assert len(service.calls) == 5
        assert "judged by anthropic; profile enhanced" in by_model(few, service).out


def test_over_budget_the_offline_judge_does_the_rest_and_it_is_said(few: Path) -> None:
    with ModelServer(answering()) as service:
        ran = by_model(few, service, "--yes", "--max-cost", "0.0001")
        assert not service.calls
    assert ran.code == 5
    assert "5 sessions judged offline, for --max-cost is reached" in ran.out


def test_a_service_that_refuses_the_key_is_said(few: Path) -> None:
    with ModelServer(lambda *_: ErrorStatus(401)) as service:
        ran = by_model(few, service, "--yes")
        assert (ran.code, ran.out) == (2, "")
        assert "ANTHROPIC_API_KEY" in ran.err
        ran = by_model(few, service, "--yes", "--details", "--fallback", "offline")
    assert ran.code == 0
    assert len(re.findall(r"judged by offline in one piece, for .*ANTHROPIC_API_KEY", ran.out)) == 5


def test_an_answer_that_cannot_be_used_says_why_and_is_no_score(few: Path) -> None:
    with ModelServer(lambda *_: "Splendid work!") as service:
        ran = by_model(few, service, "--yes", "--details")
    assert ran.code == 0
    assert ran.out.count("no overall quality: the reply must be one JSON object and nothing else") == 5
    assert FULL not in ran.out


# --- the skill ------------------------------------------------------------------------------------


def test_the_skill_has_a_front_matter_that_says_when_to_use_it() -> None:
    _, head, body = SKILL.read_text("utf-8").split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.strip().splitlines())
    assert set(fields) == {"name", "description"}
    assert fields["name"] == SKILL.parent.name
    assert re.fullmatch(r"[a-z0-9-]{1,64}", fields["name"])
    assert 40 < len(fields["description"]) <= 1024
    assert "Use when" in fields["description"]
    assert body.strip().startswith("# ")


def test_every_command_of_the_skill_works(home: Path) -> None:
    commands = re.findall(r"`(assay [^`]+)`", SKILL.read_text("utf-8"))
    assert any(line.startswith("assay quality SESSION") for line in commands)
    project = home / "projects" / "ledger"
    project.mkdir(parents=True, exist_ok=True)
    with LangfuseServer("4.59.0") as server:
        env = person(home) | server.environment()
        run("langfuse", "upload", EXAMPLES, "--yes", env=env, cwd=project)
        there = {row["sessionId"] for row in server.observations}
        for line in commands:
            is_there = line.startswith("assay langfuse")
            words = shlex.split(line.replace("SESSION", min(there) if is_there else ids(home)[0]))[1:]
            words = [str(EXAMPLES) if word == "PATH" else word for word in words]
            ran = run(*words, *(["--yes"] if "upload" in words else []), env=env, cwd=project)
            assert ran.code == 0, (line, ran.err)
        assert server.scores


def test_the_fields_that_the_skill_names_are_there(home: Path) -> None:
    text = SKILL.read_text("utf-8")
    (one,) = found(home, ids(home)[0])
    named = set(re.findall(r"`([a-z_]+)`", text)) - set(SHIPPED) - {"null", "assay", "qualities"}
    known = {*one, *next(iter(one["dimensions"].values()))}
    assert named
    assert named <= known
