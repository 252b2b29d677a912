"""`assay eval init`: a suite to begin with."""

import shutil
import sys
from pathlib import Path
from typing import Annotated, cast, get_args

import typer
from msgspec import Struct

from assay.cli.options import AsJson, check_word, options
from assay.cli.output import let_pipe_close, print_json
from assay.evals.runners import find_runner
from assay.evals.tasks.config import Agent
from assay.evals.tasks.starter import write_starter
from assay.reports.format import sanitize_text
from assay.types import Document

INIT_EXAMPLE = "Example: `assay eval init --out evals`, then `assay eval check evals/tasks`"
AGENTS: tuple[Agent, ...] = get_args(Agent)

SuiteFolder = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder to write tasks and configurations into.", readable=False)
]
AgentName = Annotated[
    str | None,
    typer.Option("--agent", metavar="NAME", help=f"{', '.join(AGENTS)}; else the one that is installed here."),
]


class EvalInitRequest(Struct, frozen=True, kw_only=True):
    """What `assay eval init` takes."""

    out: SuiteFolder = Path("evals")
    agent: AgentName = None
    as_json: AsJson = False


class StarterView(Document, frozen=True, kw_only=True, tag="starter"):
    """`assay eval init --json`."""

    folder: str
    agent: str
    files: list[str]


@options(EvalInitRequest)
def write_suite(request: EvalInitRequest) -> None:
    """Write a small suite that works: a task with its solution, and two configurations to compare."""
    agent = cast(Agent, check_word(request.agent, AGENTS, "--agent") or find_agent())
    written = write_starter(request.out, agent)
    if request.as_json:
        files = [str(path) for path in written]
        print_json(StarterView(folder=str(request.out), agent=agent, files=files))
        return
    let_pipe_close()
    sys.stdout.write(sanitize_text(describe_suite(request.out, agent, written)))


def find_agent() -> Agent:
    """The agent that is installed here; without any, a script that stands in for one."""
    there = (one for one in AGENTS if one != "command" and shutil.which(find_runner(one).PROGRAM))
    return next(there, "command")


def describe_suite(folder: Path, agent: Agent, written: list[Path]) -> str:
    """What was written, and what to do next."""
    tasks, configs = folder / "tasks", folder / "configs"
    note = (
        "a script stands in for an agent; name yours in config.toml" if agent == "command" else f"the agent is {agent}"
    )
    lines = [
        f"Wrote {len(written)} files ({note}):",
        *(f"  {path}" for path in written),
        "",
        "Next:",
        f"  assay eval check {tasks} {configs}/*",
        f"  assay eval mine SESSION --out {tasks}     a task of a session that did not land; 5 decide something",
        f"  assay eval run --tasks {tasks} --baseline {configs}/baseline --candidate {configs}/candidate",
    ]
    return "\n".join([*lines, ""])
