"""`assay eval`: is the new configuration better, and may it go in?"""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, cast

import typer
from msgspec import Struct
from rich.console import RenderableType

from assay.cli import eval_init, eval_promote, eval_replay
from assay.cli.eval_run import (
    REPEATS,
    AttemptNumber,
    EvalRunRequest,
    Outputs,
    Repeats,
    Tasks,
    Want,
    run_request,
)
from assay.cli.options import AsJson, options
from assay.cli.output import check_targets, let_pipe_close, print_json, print_written, write_target
from assay.cli.settings import load_settings
from assay.cli.terminal import Console
from assay.errors import BadInput, InvalidRun
from assay.evals.deciding import planner
from assay.evals.deciding.compare import build_thresholds
from assay.evals.promoting.verify import verify_run
from assay.evals.running.evaluation import build_evaluation, check_run, compare_trials
from assay.evals.running.recorded_run import (
    COMPARISON,
    RecordedRun,
    load_comparison,
    load_run,
    read_decisions,
)
from assay.evals.running.task_checks import check_task
from assay.evals.tasks.config import FILE as CONFIG_FILE
from assay.evals.tasks.config import load_config
from assay.evals.tasks.task import load_suite
from assay.reports import evaluation as reports
from assay.reports.evaluation_files import encode_evaluation, render_junit, render_markdown
from assay.reports.json import encode_json
from assay.types import Document
from assay.types.evals import Checkup, Checkups, Comparison, Evaluation

EXAMPLE = "Example: `assay eval run --tasks tasks --baseline main --candidate . --repeats 5`"
BAD, UNDECIDED = 2, 3


def render_page(evaluation: Evaluation, beside: Path) -> bytes:
    """An evaluation as one page that needs nothing else; what draws it is not on every machine."""
    try:
        page = import_module("assay.web.pages.evaluation")
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("assay"):
            raise
        raise BadInput("a page needs htpy: pip install 'assay[web]'") from None
    return cast(bytes, page.render_evaluation_file(evaluation, beside))


FORMATS: dict[str, Callable[[Evaluation, Path], bytes]] = {
    ".json": lambda evaluation, _: encode_evaluation(evaluation),
    ".md": lambda evaluation, _: render_markdown(evaluation),
    ".html": lambda evaluation, target: render_page(evaluation, target.parent),
    ".xml": lambda evaluation, _: render_junit(evaluation),
}

JSON = (".json",)

app = typer.Typer(
    help="Is the new configuration better, and may it go in? Tasks run with two configurations become a verdict. "
    "Exit codes: 0 promotable, 1 regressed or mixed, 2 bad input, 3 inconclusive or neutral, 4 invalid, 5 budget.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Folders = Annotated[
    list[Path],
    typer.Argument(metavar="DIR…", help="Folders of tasks, single tasks, or configurations.", readable=False),
]
JsonOutputs = Annotated[
    list[Path] | None,
    typer.Option("--output", "-o", metavar="FILE", help="Keep it in a file too: .json; any number.", readable=False),
]
PilotRun = Annotated[
    Path | None,
    typer.Option("--pilot", metavar="RUN", help="A run whose baseline tells how much trials vary, and their price.",
                 readable=False),
]  # fmt: skip


class PlanRequest(Struct, frozen=True, kw_only=True):
    """What `assay eval plan` takes."""

    tasks: Tasks
    repeats: Repeats = None
    want: Want = None
    pilot: PilotRun = None
    attempt: AttemptNumber = None
    as_json: AsJson = False
    output: JsonOutputs = None


@app.command("check", epilog="Example: `assay eval check tasks`")
def check_tasks(folders: Folders, as_json: AsJson = False, output: JsonOutputs = None) -> None:
    """Check tasks before they are run: not all checks may pass untouched, all must on the reference solution."""
    targets = check_targets(output, JSON)
    tasks: list[Checkup] = []
    configs: list[str] = []
    for folder in folders:
        if (folder / CONFIG_FILE).is_file():
            configs.append(load_config(str(folder), folder).name)
        else:
            tasks += [check_task(task, os.environ) for task in load_suite(folder).tasks]
    checkups = Checkups(tasks=tuple(tasks), configs=tuple(configs))
    write_documents(checkups, targets)
    print_answer(checkups, reports.render_checkups(checkups), as_json)
    if any(task.problems for task in checkups.tasks):
        raise typer.Exit(BAD)


@app.command("run", epilog=EXAMPLE)
@options(EvalRunRequest)
def run_arms(request: EvalRunRequest) -> None:
    """Run tasks with two configurations, compare them, and say whether the candidate may go in; again: go on."""
    targets = check_targets(request.output, FORMATS)
    result = run_request(request)
    leave_with(build_evaluation(result.comparison, result.run), targets, request.as_json)


@app.command("compare", epilog="Example: `assay eval compare .assay/runs/3f2a91c0 -o comment.md`")
def compare_run(
    run: eval_promote.NamedRun = None, out: eval_promote.RunOut = None, as_json: AsJson = False, output: Outputs = None
) -> None:
    """Compare the trials of a run that has ended, as it was decided before the first of them."""
    targets, recorded = check_targets(output, FORMATS), load_sound_run(eval_promote.pick_run(run, out))
    comparison = compare_trials(recorded.trials, read_decisions(recorded.lock))
    leave_with(build_evaluation(comparison, recorded), targets, as_json)


@app.command("gate", epilog="Example: `assay eval gate .assay/runs/3f2a91c0 && echo in`")
def gate_run(
    run: eval_promote.NamedRun = None, out: eval_promote.RunOut = None, as_json: AsJson = False, output: Outputs = None
) -> None:
    """Say whether the candidate of a run may go in: its comparison is made again and must be the one on record."""
    targets, recorded = check_targets(output, FORMATS), load_sound_run(eval_promote.pick_run(run, out))
    evaluation = build_evaluation(load_verified(recorded), recorded)
    leave_with(evaluation, targets, as_json, reports.render_gate(evaluation))


@app.command("replay", epilog=eval_replay.REPLAY_EXAMPLE)
@options(eval_replay.ReplayRequest)
def replay_trials(request: eval_replay.ReplayRequest) -> None:
    """Score the recorded trials of a run again, by today's facts and prices, without running anything."""
    targets = check_targets(request.output, FORMATS)
    leave_with(eval_replay.replay_request(request), targets, request.as_json)


@app.command("plan", epilog="Example: `assay eval plan --tasks tasks --repeats 5 --want 15`")
@options(PlanRequest)
def plan_suite(request: PlanRequest) -> None:
    """Say what these tasks can prove with so many repeats, before anything is spent."""
    targets, suite = check_targets(request.output, JSON), load_suite(request.tasks)
    limits = build_thresholds(load_settings().eval)
    trials = load_sound_run(request.pilot).trials if request.pilot else ()
    pilot = planner.measure_pilot([trial for trial in trials if trial.arm == "baseline"]) if request.pilot else None
    plan = planner.plan_suite(
        len(suite.tasks), request.repeats or REPEATS, request.want, pilot,
        is_judged=any(task.rubric for task in suite.tasks), attempt=request.attempt or 1, limits=limits,
    )  # fmt: skip
    write_documents(plan, targets)
    print_answer(plan, reports.render_sentences(planner.describe_plan(plan)), request.as_json)
    if not plan.is_decidable:
        raise typer.Exit(UNDECIDED)


app.command("init", epilog=eval_init.INIT_EXAMPLE)(eval_init.write_suite)
app.command("aa", epilog=eval_replay.SPLIT_EXAMPLE)(eval_replay.split_trials)
app.command("promote", epilog=eval_promote.PROMOTE_EXAMPLE)(eval_promote.promote_run)
app.command("mine", epilog=eval_promote.MINE_EXAMPLE)(eval_promote.mine_task)
ORDER = ("init", "mine", "check", "plan", "run", "compare", "gate", "replay", "aa", "promote")
"""As people need them."""
app.registered_commands.sort(key=lambda one: ORDER.index(str(one.name)))


def load_sound_run(folder: Path) -> RecordedRun:
    """A run that has ended, if its trials are what they were and cost what their files tell."""
    run = check_run(load_run(folder))
    read_decisions(run.lock)  # a lock that does not hold them is an error before anything else
    return run


def load_verified(run: RecordedRun) -> Comparison:
    """The comparison that was written down, if it is what the trials say."""
    comparison = load_comparison(run.folder)
    if wrong := verify_run(run, comparison):
        raise InvalidRun(f"{run.folder / COMPARISON} does not hold: {'; '.join(wrong)}")
    return comparison


def write_documents(document: Document, targets: Sequence[Path]) -> None:
    """Write a document to every file of `-o`."""
    for target in targets:
        write_target(encode_json(document) + b"\n", target)
        print_written(target)


def print_answer(document: Document, text: RenderableType, as_json: bool) -> None:
    """Print an answer as JSON or as text."""
    if as_json:
        print_json(document)
        return
    let_pipe_close()
    Console().print(text)


def leave_with(
    evaluation: Evaluation, targets: Sequence[Path], as_json: bool, text: RenderableType | None = None
) -> None:
    """Write and print an evaluation, and leave with its exit code."""
    for target in targets:
        write_target(FORMATS[target.suffix.lower()](evaluation, target), target)
        print_written(target)
    print_answer(evaluation, text or reports.render_evaluation(evaluation), as_json)
    sys.stdout.flush()
    raise typer.Exit(evaluation.exit_code)
