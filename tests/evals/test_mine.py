"""`assay eval mine`: a session that did not land becomes a task, refused until somebody has filled it in."""

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import assay
from assay.cli.eval import app
from assay.errors import AssayError, BadInput
from assay.evals.promoting import mine
from assay.evals.promoting.mine import TEST_PATH, TestFile
from assay.evals.tasks.task import load_task
from tests.conftest import environment
from tests.pipeline.make_work import as_of, transcript, worked
from tests.pipeline.rework_repositories import Repository, code, text
from tests.plain_judge import install

pytestmark = pytest.mark.long
SECRET = "sk-ant-" + "api03-" + "k9Xq2vB7nT4wLm8RzY5dHc3J" * 3 + "AA"
FIXED = {
    "src/sum.py": text(code(20, seed=2)),
    "tests/test_sum.py": "def test_sum():\n    assert True\n",
    "notes.md": "x\n",
}


@pytest.fixture(autouse=True)
def judge(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    install(monkeypatch, tmp_path_factory.mktemp("plugin"))
    monkeypatch.setenv("ASSAY_JUDGE", "plain")


class Story:
    """A repository, a session in it whose lines were replaced later, and one that stayed."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.repository, self.transcripts = Repository(top / "till"), top / "in"
        self.before = self.head()
        self.commit = worked(self.transcripts, self.repository, "s1", 0, {"src/sum.py": code(20)})
        worked(self.transcripts, self.repository, "s2", 1, {"src/tax.py": code(20, seed=3)})
        self.fix = self.repository.commit(5, FIXED, "Sum again")

    def head(self) -> str:
        return self.repository.git("rev-parse", "HEAD").strip()

    def id_of(self, stream: str) -> str:
        found = assay.score(self.transcripts, store=self.top / "s.db", judge="plain", as_of=as_of(20))
        return next(one.id for one in found.sessions if stream in one.streams)

    def mine(self, session: str, *args: object, **env: str) -> Result:
        words = ["mine", session, "--into", self.top / "tasks", "--store", self.top / "s.db", *args]
        return CliRunner().invoke(app, list(map(str, words)), env=environment() | {"ASSAY_JUDGE": "plain"} | env)

    def mined(self, stream: str, *args: object) -> dict[str, Any]:
        done = self.mine(self.id_of(stream), "--json", *args)
        if done.exception:
            raise done.exception
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def task_of(found: dict[str, Any]) -> dict[str, Any]:
    return tomllib.loads((Path(found["folder"]) / "task.toml").read_text())


def test_a_session_whose_lines_were_replaced_becomes_a_task(story: Story):
    found = story.mined("s1")
    task = task_of(found)
    assert task["prompt"] == "Build s1"
    assert (task["ref"], task["repo"]) == (story.before, str(story.repository.path))
    assert (found["fix"], found["tests"]) == (story.fix, ["tests/test_sum.py"])
    folder = Path(found["folder"])
    assert (folder / "checks/tests/test_sum.py").read_text() == FIXED["tests/test_sum.py"]
    assert (task["checks"][1]["kind"], task["checks"][1]["files"]) == ("pytest", ["tests/test_sum.py"])


def test_it_is_refused_until_somebody_filled_it_in(story: Story):
    folder = Path(story.mined("s1")["folder"])
    with pytest.raises(BadInput, match="TODO"):
        load_task(folder)
    file = folder / "task.toml"
    kept = [part for part in file.read_text().split("[[checks]]") if 'kind = "TODO"' not in part]
    file.write_text("[[checks]]".join(kept))
    task = load_task(folder)
    assert [check.kind for check in task.checks] == ["pytest"]
    assert task.timeout_s >= 300


def unfinished(story: Story, stream: str = "s3", **more: Any) -> None:
    """A session that wrote a little and gave up, without a commit."""
    more = {"cwd": str(story.repository.path), "files": {"a.py": code(3)}} | more
    file = transcript(story.transcripts, stream, 6, **more)
    file.write_text(file.read_text().replace(f"Build {stream}", f"failed: build {stream}"))


def test_without_a_fix_the_checks_are_left_to_the_person(story: Story):
    unfinished(story)
    found = story.mined("s3")
    task = task_of(found)
    assert [check["kind"] for check in task["checks"]] == ["TODO"]
    assert task["ref"] == story.fix
    assert found["ref_by"] == "the last commit of main when the session began"
    assert found["fix"] is None


def test_a_session_that_landed_becomes_a_task_when_its_fix_is_named(story: Story):
    assert story.mined("s2", "--fix", story.fix)["tests"] == ["tests/test_sum.py"]


def test_the_fix_can_be_named(story: Story):
    later = story.repository.commit(8, {"pkg/sum_test.go": "package pkg\n", "odd name_test.xyz": "?\n"}, "Go")
    found = story.mined("s1", "--fix", later[:10])
    assert set(found["tests"]) == {"pkg/sum_test.go", "odd name_test.xyz"}
    runs = {check["name"]: check["run"] for check in task_of(found)["checks"][1:]}
    assert runs["passes pkg/sum_test.go"].endswith("go test ./pkg")
    assert "TODO" in runs["passes odd name_test.xyz"]


@pytest.mark.parametrize("fix", ["nothing", "--upload-pack=x", "HEAD~99"])
def test_a_fix_that_is_none_is_refused(story: Story, fix: str):
    done = story.mine(story.id_of("s1"), f"--fix={fix}")
    assert isinstance(done.exception, BadInput)
    assert not (story.top / "tasks").exists()


def test_a_fix_from_before_the_session_is_refused(story: Story):
    done = story.mine(story.id_of("s1"), "--fix", story.before)
    assert "came after" in str(done.exception)


def test_a_session_that_landed_is_refused(story: Story):
    done = story.mine(story.id_of("s2"))
    assert "it landed" in str(done.exception)


def test_a_session_whose_project_opted_out_is_refused(story: Story, monkeypatch: pytest.MonkeyPatch):
    session = story.id_of("s1")
    settings = f'[tenants.quiet]\nprojects = ["{story.repository.path}"]\nopt_out = true\n'
    (story.top / "assay.toml").write_text(settings)
    monkeypatch.chdir(story.top)
    done = story.mine(session)
    assert "may not be read" in str(done.exception)
    assert not (story.top / "tasks").exists()


def test_secrets_of_the_session_do_not_get_into_the_task(story: Story):
    file = story.transcripts / "s1.jsonl"
    file.write_text(file.read_text().replace("Build s1", f"Build s1 with {SECRET}"))
    folder = Path(story.mined("s1")["folder"])
    assert "Build s1 with" in (folder / "task.toml").read_text()
    assert SECRET not in (folder / "task.toml").read_text()


def test_a_folder_that_is_there_is_not_written_over(story: Story):
    folder = Path(story.mined("s1")["folder"])
    (folder / "mine.txt").write_text("work")
    with pytest.raises(BadInput, match="is there already"):
        story.mined("s1")
    assert (folder / "mine.txt").read_text() == "work"
    assert [one.name for one in folder.parent.iterdir()] == [folder.name]


def test_a_password_in_the_remotes_address_stays_at_home(story: Story):
    story.repository.git("remote", "add", "origin", "https://ada:hunter2@example.com/till.git")
    story.repository.git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert task_of(story.mined("s1"))["repo"] == "https://example.com/till.git"


def test_a_repository_that_is_elsewhere_must_be_named(story: Story):
    session = story.id_of("s1")
    story.repository.path.rename(story.top / "moved")
    assert "--repo" in str(story.mine(session, "--fix", story.fix).exception)
    done = story.mine(session, "--repo", story.top / "moved", "--json")
    assert json.loads(done.stdout)["ref"] == story.before


@pytest.mark.parametrize("prefix", ["", "zzzz"])
def test_a_session_that_nobody_knows_is_said_so(story: Story, prefix: str):
    story.id_of("s1")
    assert isinstance(story.mine(prefix).exception, AssayError)


@given(st.text())
def test_any_text_survives_the_way_into_toml(value: str):
    back = tomllib.loads(f"prompt = {mine.format_toml(value)}")["prompt"]
    assert back == value.encode("utf-8", "replace").decode()


@given(st.text(min_size=1).filter(lambda one: one.isprintable()))
def test_no_name_of_a_test_breaks_out_of_its_line(name: str):
    words = shlex.split(mine.build_test_line(TestFile(path=f"tests/{name}.py", content=b"")))
    assert f"tests/{name}.py" in words
    assert f"checks/tests/{name}.py" in words


NAMES = {
    "tests/test_a.py": True, "src/a_test.go": True, "web/a.spec.ts": True, "AccountTest.java": True,
    "src/__tests__/a.js": True, "src/latest.py": False, "contest.py": False, "src/attest/a.py": False, "a.py": False,
}  # fmt: skip


@pytest.mark.parametrize("path", NAMES)
def test_tests_are_told_by_their_names(path: str):
    assert bool(TEST_PATH.search(path)) == NAMES[path]
