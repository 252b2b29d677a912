"""`assay init`: three questions, and a file that means what was answered."""

import os
from pathlib import Path

import pytest

from assay.cli import init
from assay.cli.init import InitRequest, collect_choices
from assay.config import Choices, Redaction, Tenant, load
from assay.errors import BadInput
from assay.testing.claude_code import build_conversation, write_lines
from tests.conftest import Ran, is_one_line, run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_lines(tmp_path / ".claude/projects/loom/s1.jsonl", *build_conversation("s1", 2))
    return tmp_path


def start(home: Path, *words: object) -> Ran:
    (home / "work").mkdir(exist_ok=True)
    return run("init", *words, env={"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}, cwd=home / "work")


def answer(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Answer questions one after the other, as on a terminal; what was asked."""
    asked: list[str] = []
    left = iter(answers)

    def ask(question: str) -> str:
        asked.append(question)
        return next(left)

    monkeypatch.setattr(init, "ask_person", ask)
    for stream in ("stdin", "stderr"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda: True, raising=False)
    return asked


def test_what_flags_say_is_written_and_holds(home: Path):
    ran = start(
        home, "--path", home / ".claude/projects", "--judge", "offline", "--never", "email", "--never", "~/secret"
    )
    written = home / "config/assay/assay.toml"
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Wrote {written}:\n")
    assert all(line.strip() in ran.out for line in written.read_text().splitlines())
    found = load({"ASSAY_CONFIG": str(written)}, home)
    assert found.paths == (str(home / ".claude/projects"),)
    assert (found.judge, found.redaction) == ("offline", Redaction(email=True))
    assert found.tenants == {"private": Tenant(projects=("~/secret",), opt_out=True)}
    scored = run("streams", "--json", env={"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}, cwd=home)
    assert [one["id"] for one in scored.json["streams"]] == ["s1"]


def test_the_defaults_are_those_of_no_file_at_all(home: Path):
    assert start(home, "--defaults").code == 0
    assert load({"ASSAY_CONFIG": str(home / "config/assay/assay.toml")}, home) == load({}, home)


def test_a_file_that_is_there_stays_unless_it_may_go(home: Path):
    written = home / "config/assay/assay.toml"
    written.parent.mkdir(parents=True)
    written.write_text('judge = "mine"')
    ran = start(home, "--defaults")
    assert (ran.code, ran.out, is_one_line(ran.err)) == (2, "", True)
    assert "--force" in ran.err
    assert written.read_text() == 'judge = "mine"'
    assert start(home, "--defaults", "--force").code == 0
    assert 'judge = "offline"' in written.read_text()


def test_in_a_pipe_nobody_is_asked_and_nothing_is_guessed(home: Path):
    ran = start(home)
    assert (ran.code, is_one_line(ran.err)) == (2, True)
    assert "--defaults" in ran.err
    assert not (home / "config").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--path", "/nowhere"], "/nowhere: no such file"),
        (["--judge", "nobody"], "nobody"),
        (["--never", "phones"], "--never 'phones': give email, home, hosts, or a folder"),
        (["--here", "--path", "/"], "may only name transcripts in its own folder"),
    ],
)
def test_what_can_not_be_used_is_said_and_writes_nothing(home: Path, words: list[str], said: str):
    ran = start(home, *words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert not [*home.rglob("assay.toml")]


def test_a_projects_file_is_written_here(home: Path):
    assert start(home, "--here", "--never", "hosts", "--json").json["path"] == str(home / "work/assay.toml")
    assert load({}, home / "work").redaction.hosts


def test_a_judge_that_can_not_be_asked_yet_is_told_of_at_once(home: Path):
    ran = start(home, "--judge", "anthropic")
    assert ran.code == 0
    assert "set ANTHROPIC_API_KEY" in ran.err


def test_a_person_is_asked_three_questions_again_where_an_answer_can_not_be(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("HOME", str(home))
    asked = answer(monkeypatch, "/nowhere\n", "\n", "claude-cli\n", "email, phones\n", f"hosts, {home}\n")
    assert collect_choices(InitRequest()) == Choices(judge="claude-cli", redacted=["hosts"], silent=[str(home)])
    assert [one.partition(":")[0] for one in asked] == ["1 of 3", "1 of 3", "2 of 3", "3 of 3", "3 of 3"]
    assert f"claude-code has 1 file in {home}" in asked[0]
    told = capfd.readouterr().err
    assert "/nowhere: no such file" in told
    assert "'phones'" in told


def test_what_a_flag_says_is_not_asked_for(monkeypatch: pytest.MonkeyPatch):
    asked = answer(monkeypatch, "\n")
    assert collect_choices(InitRequest(path=[os.sep], judge="offline")) == Choices(paths=[os.sep])
    assert len(asked) == 1


def test_the_end_of_input_writes_nothing(monkeypatch: pytest.MonkeyPatch):
    answer(monkeypatch, "")
    with pytest.raises(BadInput, match="nothing was written"):
        collect_choices(InitRequest())
