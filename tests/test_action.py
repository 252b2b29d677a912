"""The GitHub Action: exit codes pass through, one comment is kept up to date, and nobody's words become a script."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from assay.cli.program import app
from assay.reports.evaluation_files import MARKER

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[1]
HOME = ROOT / "action"
ACTION: dict[str, Any] = yaml.safe_load((HOME / "action.yml").read_text())
EXAMPLE: dict[str, Any] = yaml.safe_load((HOME / "example.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
OURS = {step["name"]: step["run"] for step in STEPS if "run" in step}
SCRIPTS = OURS | {file.name: file.read_text() for file in sorted(HOME.glob("*.sh"))}

ASSAY = """#!{python}
import json, os, sys
here = os.path.dirname(__file__)
json.dump({{"argv": sys.argv[1:], "env": dict(os.environ)}}, open(here + "/assay.json", "w"))
says = json.load(open(here + "/says.json"))
for name in [word for flag, word in zip(sys.argv, sys.argv[1:]) if flag == "-o"]:
    if says["verdict"] is not None:
        text = json.dumps({{"verdict": says["verdict"]}}) if name.endswith(".json") else says["comment"]
        open(name, "w").write(text)
sys.exit(says["code"])
"""
GH = """#!{python}
import json, os, sys
here, argv = os.path.dirname(__file__), sys.argv[1:]
if os.path.exists(here + "/broken"):
    sys.exit(1)
comments = json.load(open(here + "/comments.json"))
words = dict(zip(argv, argv[1:]))
body = open(words["--field"].removeprefix("body=@")).read() if "--field" in words else ""
if "--method" not in words:
    ours = [c for c in comments if c["by"] == os.environ["AUTHOR"] and c["body"].startswith(os.environ["MARKER"])]
    print("\\n".join(str(c["id"]) for c in ours))
elif words["--method"] == "PATCH":
    [c] = [c for c in comments if argv[4] == "repos/ada/till/issues/comments/%d" % c["id"]]
    c["body"] = body
else:
    assert argv[4] == "repos/ada/till/issues/12/comments", argv
    comments.append({{"id": len(comments) + 1, "by": "github-actions[bot]", "body": body}})
json.dump(comments, open(here + "/comments.json", "w"))
"""


class Stage:
    """A runner with a repository, a stand-in `assay` and a stand-in `gh`."""

    def __init__(self, top: Path) -> None:
        self.top, self.bin = top, top / "bin"
        self.bin.mkdir()
        for name, script in (("assay", ASSAY), ("gh", GH)):
            (self.bin / name).write_text(script.format(python=sys.executable))
            (self.bin / name).chmod(0o755)
        self.comments([])
        self.says(0, "improved")
        self.repository = top / "till"
        self.repository.mkdir()
        self.git("init", "-q", "-b", "main")
        self.base = self.commit("shop.py", "1")
        self.head = self.commit("CLAUDE.md", "Be right.")

    def git(self, *words: str) -> str:
        who = {
            f"GIT_{role}_{part}": "ada@example.com" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
        }
        env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, **who}
        done = subprocess.run(["git", *words], cwd=self.repository, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, name: str, text: str) -> str:
        (self.repository / name).write_text(text)
        self.git("add", ".")
        self.git("commit", "-qm", name)
        return self.git("rev-parse", "HEAD")

    def says(self, code: int, verdict: str | None, comment: str = f"{MARKER}\nBetter.\n") -> None:
        """What `assay` will do."""
        (self.bin / "says.json").write_text(json.dumps({"code": code, "verdict": verdict, "comment": comment}))

    def comments(self, given: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
        file = self.bin / "comments.json"
        if given is not None:
            file.write_text(json.dumps(given))
        found: list[dict[str, Any]] = json.loads(file.read_text())
        return found

    def run(self, **more: str) -> subprocess.CompletedProcess[str]:
        """The step `Evaluate`, with variables as the runner sets them."""
        for name in ("summary", "outputs"):
            (self.top / name).write_text("")
        env = {
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "ASSAY_TASKS": "evals/tasks", "ASSAY_BASELINE": "",
            "ASSAY_CANDIDATE": "", "ASSAY_REPEATS": "5", "ASSAY_MAX_COST": "", "ASSAY_JOBS": "1", "ASSAY_ATTEMPT": "",
            "ASSAY_COMMENT": "true", "ASSAY_COMMENT_AUTHOR": "github-actions[bot]", "ASSAY_OUT": str(self.top / "out"),
            "ASSAY_ACTION": str(HOME), "EVENT": "pull_request", "PULL": "12", "BASE_SHA": self.base,
            "HEAD_SHA": self.head, "HEAD_REPOSITORY": "ada/till", "GITHUB_REPOSITORY": "ada/till",
            "COMMENT_TOKEN": "t0ken", "GITHUB_STEP_SUMMARY": str(self.top / "summary"),
            "GITHUB_OUTPUT": str(self.top / "outputs"), "HOME": str(self.top),
        } | more  # fmt: skip
        script = self.top / "step.sh"
        script.write_text(OURS["Evaluate"])
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.repository, env=env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    @property
    def asked(self) -> dict[str, Any] | None:
        file = self.bin / "assay.json"
        return json.loads(file.read_text()) if file.exists() else None

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in (self.top / "outputs").read_text().splitlines())  # type: ignore[misc]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


# --- what it is made of ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_script_is_sound(name: str):
    script = SCRIPTS[name]
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    first = next(line for line in script.splitlines() if line.strip() and not line.startswith("#"))
    assert first == "set -euo pipefail"
    assert "${{" not in script
    assert not re.search(r"\beval [\"$]|`|\bset \+e\b|\|\| true\b", re.sub(r"^\s*#.*", "", script, flags=re.MULTILINE))


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_variable_is_quoted(name: str):
    code = re.sub(r"<<'PY'.*?^PY$", "", SCRIPTS[name], flags=re.DOTALL | re.MULTILINE)
    bare = []
    for line in code.splitlines():
        line = re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|^\s*#.*|\[\[.*?\]\]", "", line)
        line = re.sub(r"^\s*(?:export )?\w+=\S.*$|GH_TOKEN=\S+", "", line)  # an assignment is not split
        bare += re.findall(r"\$\{?\w+", line)
    assert not bare


def test_nobodys_words_are_pasted_into_anything_that_runs():
    for step in STEPS:
        assert "${{" not in step.get("run", "")
        if "run" in step:
            assert step["shell"] == "bash"
            assert "continue-on-error" not in step


def test_every_input_is_used_and_every_expression_has_one():
    text = (HOME / "action.yml").read_text()
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    assert set(ACTION["outputs"]) == {"verdict", "json"}


def test_the_example_looks_at_instructions_only_and_gives_forks_nothing():
    on = EXAMPLE[True]  # YAML takes `on` for a truth
    assert list(on) == ["pull_request"]
    assert on["pull_request"]["paths"] == ["CLAUDE.md", "AGENTS.md", ".claude/**"]
    assert EXAMPLE["permissions"] == {"contents": "read", "pull-requests": "write"}
    [job] = EXAMPLE["jobs"].values()
    assert job["if"] == "github.event.pull_request.head.repo.full_name == github.repository"
    used = next(step for step in job["steps"] if "assay" in step.get("uses", ""))
    assert set(used["with"]) <= set(ACTION["inputs"])


def test_the_example_in_the_docs_is_the_example():
    assert (HOME / "example.yml").read_text() in (ROOT / "docs/how-to/github-action.md").read_text()


def test_assay_knows_every_option_that_the_script_gives(stage: Stage):
    stage.run(ASSAY_MAX_COST="20", ASSAY_ATTEMPT="2")
    assert stage.asked
    given = {word for word in stage.asked["argv"] if word.startswith("-")}
    shown = CliRunner().invoke(app, ["eval", "run", "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).output
    assert {"--tasks", "--max-cost", "--attempt", "-o"} <= given
    assert not [option for option in given if option not in shown]


# --- what it does ---------------------------------------------------------------------------------

VERDICTS = {"improved": 0, "regressed": 1, "mixed": 1, "inconclusive": 3, "neutral": 3, "invalid": 4}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_exit_code_is_assays(stage: Stage, verdict: str):
    stage.says(VERDICTS[verdict], verdict)
    assert stage.run().returncode == VERDICTS[verdict]
    assert stage.outputs == {"verdict": verdict, "json": str(stage.top / "out/evaluation.json")}
    assert "Better." in (stage.top / "summary").read_text()


@pytest.mark.parametrize("code", [2, 5, 130, 139])
def test_an_evaluation_without_a_report_fails_and_is_told(stage: Stage, code: int):
    stage.says(code, None)
    assert stage.run().returncode == code
    assert stage.outputs == {}
    assert f"exit code {code}" in (stage.top / "summary").read_text()


@pytest.mark.parametrize("verdict", [None, "splendid", "improved\njson=/etc/passwd", ["improved"]])
def test_success_without_a_verdict_is_none(stage: Stage, verdict: Any):
    stage.says(0, verdict)
    assert stage.run().returncode == 2
    assert stage.outputs == {}


def test_both_sides_of_the_pull_request_are_compared(stage: Stage):
    stage.run(ASSAY_MAX_COST="20", ASSAY_ATTEMPT="2")
    assert stage.asked
    words = stage.asked["argv"]
    assert words[:2] == ["eval", "run"]
    told = dict(zip(words[2::2], words[3::2], strict=True))
    assert (told["--baseline"], told["--candidate"]) == (stage.base, stage.head)
    assert (told["--repeats"], told["--max-cost"], told["--attempt"]) == ("5", "20", "2")


def test_the_token_that_can_write_does_not_reach_the_agents(stage: Stage):
    stage.run(GITHUB_TOKEN="t0ken")
    assert stage.asked
    assert "t0ken" not in stage.asked["env"].values()


def test_one_comment_is_updated_in_place(stage: Stage):
    for text in ("First.", "Second."):
        stage.says(0, "improved", f"{MARKER}\n{text}\n")
        assert stage.run().returncode == 0
    assert [one["body"] for one in stage.comments()] == [f"{MARKER}\nSecond.\n"]


def test_somebody_elses_comment_is_left_alone(stage: Stage):
    theirs = {"id": 1, "by": "mallory", "body": f"{MARKER}\nAll is well."}
    stage.comments([theirs])
    stage.run()
    assert stage.comments()[0] == theirs
    assert len(stage.comments()) == 2


def test_an_evaluation_that_broke_replaces_the_verdict_of_the_last_one(stage: Stage):
    stage.run()
    (stage.top / "out/comment.md").unlink()
    stage.says(2, None)
    assert stage.run().returncode == 2
    [comment] = stage.comments()
    assert "exit code 2" in comment["body"]


def test_a_report_of_an_earlier_run_is_not_taken_for_this_one(stage: Stage):
    stage.run()
    stage.says(0, None)
    assert stage.run().returncode == 2


def test_a_long_comment_is_cut(stage: Stage):
    stage.says(0, "improved", f"{MARKER}\n" + "é" * 100_000)
    stage.run()
    [comment] = stage.comments()
    assert len(comment["body"]) < 65_000
    assert "cut here" in comment["body"]


@pytest.mark.parametrize("code", [0, 1])
def test_a_comment_that_fails_changes_no_verdict(stage: Stage, code: int):
    (stage.bin / "broken").touch()
    stage.says(code, "improved" if code == 0 else "regressed")
    done = stage.run()
    assert done.returncode == code
    assert "::warning::" in done.stdout


def test_comments_can_be_turned_off(stage: Stage):
    stage.run(ASSAY_COMMENT="false")
    assert stage.comments() == []


@pytest.mark.parametrize(
    "event", [{"HEAD_REPOSITORY": "mallory/till"}, {"HEAD_REPOSITORY": ""}, {"EVENT": "pull_request_target"}]
)
def test_strangers_are_not_evaluated(stage: Stage, event: dict[str, str]):
    done = stage.run(**event)
    assert done.returncode == 2
    assert "::error::" in done.stdout
    assert stage.asked is None
    assert stage.comments() == []


def test_a_pull_request_that_changes_no_instructions_is_not_evaluated(stage: Stage):
    later = stage.commit("shop.py", "2")
    assert stage.run(BASE_SHA=stage.head, HEAD_SHA=later).returncode == 0
    assert stage.asked is None
    assert stage.outputs == {"verdict": "unchanged"}


def test_commits_that_are_not_here_are_no_reason_to_pass(stage: Stage):
    assert stage.run(BASE_SHA="1" * 40).returncode == 2


def test_words_with_teeth_stay_words(stage: Stage):
    nasty = "evals/$(touch owned)`touch owned`; touch owned #\" '"
    stage.run(ASSAY_TASKS=nasty)
    assert stage.asked
    assert nasty in stage.asked["argv"]
    assert not list(stage.top.rglob("owned"))
