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
    "fact": (
        "src/assay/facts/shouting.py",
        "from collections.abc import Sequence\nfrom assay.types import Fact, Turn\n",
    ),
    "check": ("src/assay/evals/checks/there.py", "from assay.evals import checks\n"),
    "command": (
        "src/assay/cli/where.py",
        (
            "from msgspec import Struct\nfrom assay.cli.options import StorePath, options, read_overrides\n"
            "from assay.cli.settings import load_settings\n"
        ),
    ),
}
"""Where each example would stand, and the imports that the page leaves out."""


def run_example(name: str) -> dict[str, Any]:
    """The names that an example defines."""
    file, imports = FILES[name]
    code = re.search(rf"\*\*A {name}\*\*.*?```python\n(.*?)```", PAGE, re.DOTALL)
    assert code, name
    found: dict[str, Any] = {"__name__": Path(file).stem}
    exec(compile(imports + code[1], file, "exec"), found)
    return found


def test_the_fact_counts():
    loud = Turn(at="", ended_at="", prompt=Prompt(at="", text="WHY", key=1))
    assert run_example("fact")["fact"]([loud, Turn(at="", ended_at="")]).shouted == 1


def test_the_check_looks(tmp_path: Path):
    found = run_example("check")
    there = type("Context", (), {"find_file": lambda self, path: tmp_path if path == "a" else None})()
    assert [found["check"](found["Spec"](path=path), there).passed for path in ("a", "b")] == [True, False]


def test_the_command_runs():
    import typer

    app = typer.Typer()
    app.command()(run_example("command")["command"])
    assert CliRunner().invoke(app, ["--store", "loom.db"]).stdout == "loom.db\n"


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
    assert len(PAGE.splitlines()) <= 90
