"""Pages that show a terminal: what stands below each command is what it prints on the bundled examples.

`ASSAY_WRITE_PAGES=1 python -m pytest tests/cli/test_pages.py` writes the pages anew: read what changed.
"""

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.conftest import run

ROOT = Path(__file__).parents[2]
QUESTIONS = "docs/how-to/questions.md"
PAGES = [QUESTIONS, "docs/how-to/terminal.md"]
UNDECIDED = 3
"""The exit code of a plan whose suite can decide nothing."""
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CORPUS = ROOT.parent / "shared" / "corpus"
THERE = {
    "2026-11-": "2026-02-",
    "project:ledger": "project:cli",
    "project:tide-clock": "project:mise",
    "oauth": "release",
}
"""What the examples have, and what real transcripts have instead."""


def make_home(folder: Path) -> Path:
    """A home folder in which the examples are what its owner's agents kept."""
    examples = ROOT / "src/assay/examples"
    shutil.copytree(examples / "claude-code", folder / ".claude" / "projects")
    shutil.copytree(examples / "codex", folder / ".codex" / "sessions")
    return folder


def type_line(line: str, home: Path, columns: int = 100) -> str:
    """What a line typed at the prompt of a home folder prints."""
    place = {"XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config")}
    env = {"HOME": str(home), "COLUMNS": str(columns), **place}
    ran = run(*shlex.split(line, comments=True)[1:], env=env, cwd=home)
    assert ran.code in (0, UNDECIDED), (line, ran.code, ran.err)
    lines = (ran.out or ran.err).replace(str(home), "~").splitlines()
    return "\n".join(one.rstrip() for one in lines).strip("\n")


def type_block(block: str, home: Path) -> str:
    """A block with what its commands print below each; one that ends in `# …` is shown alone."""
    said = []
    for line in block.splitlines():
        if line.startswith("$ assay "):
            said.append(line)
            printed = type_line(line.removeprefix("$ "), home)
            said += [] if line.endswith("# …") else printed.splitlines()
    return "\n".join(said) + "\n"


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_a_page_shows_what_its_commands_print(page: str, tmp_path: Path):
    home, text = make_home(tmp_path), (ROOT / page).read_text("utf-8")
    made = BLOCK.sub(lambda match: f"```console\n{type_block(match[1], home)}```", text)
    if os.environ.get("ASSAY_WRITE_PAGES"):
        (ROOT / page).write_text(made, "utf-8")
    assert made == text


def test_the_page_of_questions_has_one_command_for_each():
    text = (ROOT / QUESTIONS).read_text("utf-8")
    asked = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    assert len(asked) >= 20
    assert [one.splitlines()[0] for one in asked if len(re.findall(r"^\$ assay ", one, re.MULTILINE)) != 1] == []


@pytest.mark.long
@pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the corpus of real transcripts is not at {CORPUS}")
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_answers_on_real_transcripts(page: str, tmp_path: Path):
    for place, agent in ((".claude/projects", "claude-code"), (".codex/sessions", "codex")):
        (tmp_path / place).parent.mkdir()
        (tmp_path / place).symlink_to(CORPUS / agent)
    for line in re.findall(r"^\$ (assay .*)$", (ROOT / page).read_text("utf-8"), re.MULTILINE):
        for word, there in THERE.items():
            line = line.replace(word, there)
        if not re.search(r"\b[0-9a-f]{8}\b", line):  # an id of the examples
            assert type_line(line, tmp_path), line
