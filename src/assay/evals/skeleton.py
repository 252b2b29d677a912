"""`task.toml` of a mined task: all that is known, and marks where a person must go on."""

import json
import shlex
from collections.abc import Iterator

from assay.evals.beginnings import Beginning, Fix, TestFile
from assay.evals.tasks import FILE
from assay.reports.safe import one_line
from assay.types import Session

__all__ = ["FILE", "left_to_do", "task_file"]
MARK = "TODO"
"""A kind that no check has: `assay eval check` refuses the task until somebody has been here."""
TIMEOUT_S, LEAST_S, MOST_S = 900.0, 300.0, 7200.0
RUNNERS = {
    "go": "go test ./{folder}",
    "rb": "ruby -Itest {path}",
    "js": "node --test {path}",
    "mjs": "node --test {path}",
    "rs": "cargo test",
    "sh": "sh {path}",
}
"""How tests are usually run, by the ending of their files."""


def task_file(session: Session, prompt: str, start: Beginning, fix: Fix | None) -> str:
    """The text of a skeleton."""
    return "\n".join([*head(session, prompt, start), "", *todo(fix), *proposals(fix)]) + "\n"


def head(session: Session, prompt: str, start: Beginning) -> Iterator[str]:
    yield f"# Made of session {session.id}, which did not land: {one_line(session.title, 80)}"
    yield "# Read the prompt as a stranger: what it refers to must stand in it, or in the workspace."
    yield f"prompt = {text(prompt)}"
    yield f"timeout_s = {timeout(session):.1f}"
    yield f"# {one_line(start.why, 160)}"
    yield f"repo = {text(start.repo)}"
    yield f"ref = {text(start.commit)}"


def todo(fix: Fix | None) -> Iterator[str]:
    """A mark that must go before the task can be used."""
    for said in left_to_do(fix):
        yield f"# {MARK}: {said}"
    yield "[[checks]]"
    yield f"kind = {text(MARK)}"
    yield 'name = "remove this one when the checks below are right"'


def left_to_do(fix: Fix | None) -> list[str]:
    """What a person has to do, in sentences."""
    if fix is None:
        return [
            "write checks that a good result passes and the untouched workspace does not; --fix COMMIT proposes some"
        ]
    if not fix.tests:
        return [f"write checks: the fix, {fix.commit[:12]}, touched no tests"]
    return [
        f"the checks below run the tests that the fix, {fix.commit[:12]}, touched; keep what good results pass",
        "`assay eval check` must see them fail on the untouched workspace",
    ]


def proposals(fix: Fix | None) -> Iterator[str]:
    """A check for each test of the fix."""
    for test in fix.tests if fix else ():
        yield from ["", "[[checks]]", f"name = {text(f'passes {test.path}')}"]
        if test.path.endswith(".py"):
            yield from ['kind = "pytest"', f"files = [{text(test.path)}]"]
        else:
            yield from ['kind = "command"', f"run = {text(run_of(test))}"]
            yield "proof = false  # code that it loads can end it early and pass; better is a check that proves its end"


def run_of(test: TestFile) -> str:
    """A shell line that puts a test where it belongs and runs it."""
    path = shlex.quote(test.path)
    folder = test.path.rpartition("/")[0] or "."
    usual = RUNNERS.get(test.path.rpartition(".")[2], f"echo {MARK}: say how this is run >&2; exit 1")
    if path != test.path:
        usual = usual.replace("./{folder}", "{folder}")
    laid = f"mkdir -p {shlex.quote(folder)} && cp {shlex.quote(f'checks/{test.path}')} {path}"
    return f"{laid} && {usual.format(path=path, folder=shlex.quote(folder))}"


def timeout(session: Session) -> float:
    """Twice what the session took, within reason."""
    took = session.facts.get("active_s")
    return min(MOST_S, max(LEAST_S, 2 * took)) if isinstance(took, int | float) and took > 0 else TIMEOUT_S


def text(value: str) -> str:
    """A string as TOML has it; several lines stay several lines."""
    lines = value.encode("utf-8", "replace").decode().split("\n")
    inner = [json.dumps(line, ensure_ascii=False)[1:-1].replace("\x7f", "\\u007f") for line in lines]
    return f'"{inner[0]}"' if len(inner) == 1 else '"""\n{}"""'.format("\n".join(inner))
