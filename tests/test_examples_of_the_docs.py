"""Every command that a page of the docs names exists and takes what it is given there; those that can run here do."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.cli.program import load_command
from assay.resources import EXAMPLES
from scripts.site_pages.gather import list_pages
from tests.conftest import run
from tests.tables import each_row

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", "scripts/site_pages/index.md", *list_pages(ROOT)]
BLOCK = re.compile(r"^ *```\w*\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"…|\||\[|\]|\.\.\.|<|\b(?:NAME|RUN|SESSION|N)\b.*=")
"""A command that only shows how it is put together."""
NO_COMMAND = re.compile(r"assay (?:-|\d|[A-Z])")
"""Options of the program itself, a status line, and a word that stands for any command."""
FITTING = {
    "last-month this-month": "2026-11-02..2026-11-04 2026-11-05..2026-11-09",
    "--since 30d": "--since 2026-01-01",
}
"""What a page says of its reader's time, and what the examples have."""
LEFT_ALONE = ("open", "serve", "work", "watch", "mcp", "audit", "ship", "plugin", "codex", "keys", "store", "eval")
"""Commands that wait, ask a person, need a server, or change settings: tests of their own run them."""
RUN = [
    "docs/concepts/person.md",
    "docs/concepts/quality.md",
    "docs/how-to/look-in-a-browser.md",
    "docs/how-to/find-a-session.md",
]
"""Pages whose commands are run one after the other, on the examples as a person's own transcripts."""
ELSEWHERE = {
    "README.md": "tests/cli/test_tutorial.py",
    "docs/tutorial.md": "tests/cli/test_tutorial.py",
    "docs/how-to/see-what-moves.md": "tests/cli/test_tutorial.py",
    "docs/how-to/questions.md": "tests/cli/test_pages.py",
    "docs/how-to/terminal.md": "tests/cli/test_pages.py",
    "docs/how-to/from-python.md": "tests/test_from_python.py",
}
"""Pages whose commands another test runs."""
NOT_RUN = {
    "docs/concepts/langfuse.md": "needs a Langfuse server",
    "docs/how-to/evaluate-a-change.md": "needs agents and a suite of one's own",
    "examples/evaluation/README.md": "runs for a minute; tests/evals run the same suite",
    "docs/how-to/in-the-agent.md": "changes an agent's settings; tests/agents do so",
    "docs/how-to/postgresql.md": "needs PostgreSQL; tests/stores have one",
    "docs/reference/lake.md": "needs DuckDB; tests/lake export and ask",
    "docs/how-to/promote-a-change.md": "needs a run, a repository and gh",
    "docs/how-to/run-a-server.md": "needs a server, PostgreSQL or containers; tests/server have the first two",
    "docs/how-to/score-from-telemetry.md": "needs a server that telemetry came to",
    "docs/how-to/ship-to-a-server.md": "needs a server",
    "docs/how-to/run-on-a-cluster.md": "needs a cluster",
    "docs/how-to/read-from-an-object-store.md": "needs an object store",
    "docs/reference/agents.md": "needs graded runs",
    "scripts/site_pages/index.md": "installs the package",
    "CONTRIBUTING.md": "shows commands that are not written yet",
}
"""Pages whose commands are only looked at: whether they exist, and take what they are given."""


def list_shown(text: str) -> Iterator[str]:
    """Commands in blocks: a line each, without a prompt, a remark, or a column that explains."""
    for block in BLOCK.findall(text):
        for line in block.splitlines():
            words = re.split(r" {2,}|\s#", line.strip().removeprefix("$ "))[0]
            if words.startswith("assay "):
                yield words


def list_named(text: str) -> Iterator[str]:
    """Commands in the middle of a sentence."""
    yield from re.findall(r"(?<!`)`(assay [^`\n]+)`(?!`)", BLOCK.sub("", text))


def parse(line: str) -> str | None:
    """What the command line would say against a command; nothing where it takes it."""
    _, name, *words = shlex.split(line)
    try:
        command: Any = load_command(name)
    except ModuleNotFoundError:
        return f"{line}: there is no `assay {name}`"
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    if not words or hasattr(command, "commands"):
        return None if not words else f"{line}: there is no {words[0]!r}"
    known = {option: one for one in command.params for option in [*one.opts, *one.secondary_opts]}
    given = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    strange = [word for word in given if word not in known and word not in ("-h", "--help")]
    return f"{line}: takes no {strange[0]}" if strange else None


@each_row("page", PAGES)
def test_a_page_names_commands_and_options_that_exist(page: str):
    if page == "CONTRIBUTING.md":
        return  # it shows how to add a command
    text = (ROOT / page).read_text("utf-8")
    whole = [
        line
        for line in [*list_shown(text), *list_named(text)]
        if not (PLACEHOLDER.search(line) or NO_COMMAND.match(line))
    ]
    assert [trouble for line in whole if (trouble := parse(line))] == []


def test_every_page_with_commands_says_who_runs_them():
    shown = {page for page in PAGES if any(list_shown((ROOT / page).read_text("utf-8")))}
    assert shown == shown & {*RUN, *ELSEWHERE, *NOT_RUN}
    assert not [file for file in ELSEWHERE.values() if not (ROOT / file).exists()]


@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_work(page: str, tmp_path: Path):
    shutil.copytree(EXAMPLES / "claude-code", tmp_path / ".claude" / "projects")
    env = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert run("score", env=env, cwd=tmp_path).code == 0
    ran_any = False
    for line in list_shown((ROOT / page).read_text("utf-8")):
        for said, there in FITTING.items():
            line = line.replace(said, there)
        words = shlex.split(line)[1:]
        if words[0] not in LEFT_ALONE:
            ran = run(*words, env=env, cwd=tmp_path)
            assert ran.code == 0, (line, ran.err)
            ran_any = True
    assert ran_any
