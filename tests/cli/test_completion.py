"""The Tab key: a shell is given a script, and asks through it how a command line goes on."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import is_one_line, run

ASKED = {"_ASSAY_COMPLETE": "complete_bash"}


def complete(line: str) -> list[str]:
    """What bash is offered at the end of a line."""
    words = line.split(" ")
    return run(env={**ASKED, "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}).out.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("assay sco", ["score"]),
        ("assay score --js", ["--json"]),
        ("assay eval pl", ["plan"]),
        ("assay eval plan --rep", ["--repeats"]),
    ],
)
def test_a_line_is_finished(line: str, offered: list[str]):
    assert complete(line) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_every_shell_has_a_script_that_asks_for_this_program(shell: str):
    ran = run("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert "_ASSAY_COMPLETE" in ran.out
    if shell in ("bash", "zsh") and (program := shutil.which(shell)):
        subprocess.run([program, "-n"], input=ran.out, text=True, check=True)


def test_the_shell_is_the_one_that_the_person_uses():
    assert run("completion", env={"SHELL": "/bin/zsh"}).out.startswith("#compdef assay")
    ran = run("completion", env={"SHELL": "/bin/tcsh"})
    assert (ran.code, ran.out) == (2, "")
    assert is_one_line(ran.err)
    assert "bash, zsh, fish, powershell" in ran.err


def test_it_is_installed_where_bash_looks(tmp_path: Path):
    ran = run("completion", "bash", "--install", env={"HOME": str(tmp_path)})
    assert (ran.code, ran.out) == (0, "")
    assert ".bash_completions/assay.sh" in ran.err
    assert "assay.sh" in (tmp_path / ".bashrc").read_text()
