"""What CONTRIBUTING.md shows is what a newcomer can write: it runs, and no linter complains of it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.types import Prompt, Turn

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
FILES = {
    "fact": "src/assay/facts/shouting.py",
    "check": "src/assay/evals/checks/there.py",
    "command": "src/assay/cli/where.py",
}
"""Where each example would stand."""


def run_example(name: str) -> dict[str, Any]:
    """The names that an example defines."""
    file = FILES[name]
    code = re.search(rf"\*\*A {name}\*\*.*?```python\n(.*?)```", PAGE, re.DOTALL)
    assert code, name
    found: dict[str, Any] = {"__name__": Path(file).stem}
    exec(compile(code[1], file, "exec"), found)
    return found


def test_the_fact_counts():
    loud = Turn(at="", ended_at="", prompt=Prompt(at="", text="WHY", key=1))
    assert run_example("fact")["fact"]([loud, Turn(at="", ended_at="")]).shouted == 1


def test_the_check_looks(tmp_path: Path):
    found = run_example("check")
    there = type("Context", (), {"find_file": lambda self, path: tmp_path if path == "a" else None})()
    looked = [found["check"](found["Spec"](path=path), there) for path in ("a", "b")]
    assert [(one.passed, one.detail) for one in looked] == [(True, ""), (False, "no file b")]


def test_the_command_runs():
    import typer

    app = typer.Typer()
    found = run_example("command")
    assert found["EXAMPLE"].startswith("Example: `assay where")
    app.command()(found["command"])
    said = CliRunner().invoke(app, ["--store", "/tmp/loom.db"]).stdout
    assert said == "sqlite:////tmp/loom.db\n"


PLUGINS = "sources facts judges llm stores evals/checks evals/runners".split()


@pytest.mark.parametrize("room", PLUGINS)
def test_no_linter_complains_of_an_argument_that_a_contract_asks_for(room: str):
    text = 'def outcome(turns: object, after: object) -> None:\n    """Nothing."""\n'
    ran = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--stdin-filename", f"src/assay/{room}/coin.py", "-"],
        input=text, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout


def test_it_is_one_page():
    assert len(PAGE.splitlines()) <= 115
