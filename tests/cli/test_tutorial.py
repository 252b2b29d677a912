"""What the tutorial tells people to type works, on the bundled examples as their own transcripts."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.conftest import run

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/tutorial.md", "docs/how-to/find-a-session.md", "docs/how-to/see-what-moves.md"]


def typed(page: str) -> list[str]:
    """The commands of a page, in order."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    lines = [line.removeprefix("$ ").split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("assay ")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    examples = ROOT / "src/assay/examples"
    shutil.copytree(examples / "claude-code", tmp_path / ".claude" / "projects")
    shutil.copytree(examples / "codex", tmp_path / ".codex" / "sessions")
    shutil.copytree(examples / "codex", tmp_path / "path" / "to" / "transcripts")
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_works(home: Path, page: str):
    env = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config")}
    commands = typed(page)
    assert len(commands) >= 5
    for line in commands:
        ran = run(*shlex.split(line)[1:], env=env, cwd=home)
        if "--since-promotion" in line:  # nothing was promoted among the examples, and it says so
            assert (ran.code, "assay eval promote" in ran.err) == (2, True)
            continue
        assert ran.code == 0, (line, ran.err)
        assert ran.out.strip() or "none of" in ran.err, line


def test_what_the_tutorial_quotes_is_what_the_demo_prints():
    blocks = re.findall(
        r"^```(\w*)\n(.*?)^```", (ROOT / "docs/tutorial.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    quoted = [line for label, block in blocks if not label for line in block.splitlines()]
    typed_ = [["demo"], ["demo", "7ecb4925"]]
    printed = [line.rstrip() for words in typed_ for line in run(*words, env={"COLUMNS": "110"}).out.splitlines()]
    assert quoted
    assert [line for line in quoted if line not in printed] == []
