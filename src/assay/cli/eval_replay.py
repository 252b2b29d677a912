"""`assay eval replay` and `assay eval aa`: recorded trials scored again, and compared with themselves."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from assay.cli.eval_promote import NamedRun, RunOut, pick_run, print_lines
from assay.cli.eval_run import Outputs, open_judge
from assay.cli.options import AsJson, Judge, ModelName, ModelUrl, StorePath, Yes, options
from assay.cli.output import print_json, print_note
from assay.errors import BadInput
from assay.evals.deciding.split import SplitTally, tally_splits
from assay.evals.running.evaluation import build_evaluation, check_run, check_unaltered, compare_trials, redact_text
from assay.evals.running.judge import RubricJudge, Ruling
from assay.evals.running.recorded_run import (
    Decisions,
    RecordedRun,
    load_run,
    read_decisions,
    replace_trials,
    replay_run,
)
from assay.evals.running.trial import TrialRecord
from assay.evals.tasks.task import Suite, Task, load_suite
from assay.reports.format import format_count
from assay.types.evals import ARMS, Evaluation, TrialLine

REPLAY_EXAMPLE = "Example: `assay eval replay .assay/runs/3f2a91c0 --judge anthropic --tasks tasks --yes`"
SPLIT_EXAMPLE = "Example: `assay eval aa .assay/runs/3f2a91c0 --splits 500`"

RubricTasks = Annotated[
    Path | None,
    typer.Option("--tasks", metavar="DIR", help="The tasks of the run, for their rubrics.", readable=False),
]
ArmName = Annotated[str, typer.Option("--arm", metavar="ARM", help="Whose trials are split: baseline or candidate.")]
Splits = Annotated[int, typer.Option("--splits", metavar="N", min=1, max=10_000, help="How many random halves.")]


class ReplayRequest(Struct, frozen=True, kw_only=True):
    """What `assay eval replay` takes."""

    run: NamedRun = None
    out: RunOut = None
    tasks: RubricTasks = None
    judge: Judge = None
    model: ModelName = None
    model_url: ModelUrl = None
    yes: Yes = False
    store: StorePath = None
    as_json: AsJson = False
    output: Outputs = None


class SplitRequest(Struct, frozen=True, kw_only=True):
    """What `assay eval aa` takes."""

    run: NamedRun = None
    out: RunOut = None
    arm: ArmName = "baseline"
    splits: Splits = 200
    as_json: AsJson = False


def replay_request(request: ReplayRequest) -> Evaluation:
    """The evaluation of a run by today's facts and prices and, where a judge is named, by its word on rubrics."""
    recorded = load_run(pick_run(request.run, request.out))
    check_unaltered(recorded.altered)  # costs may differ: it is for today's
    decisions = read_decisions(recorded.lock)
    if request.judge is not None:
        return replay_rubrics(request, recorded)
    again = replace_trials(recorded, replay_run(recorded.folder).trials)
    return compare_again(recorded, again, decisions)


def compare_again(recorded: RecordedRun, again: RecordedRun, decisions: Decisions) -> Evaluation:
    """The comparison of trials that were scored again, and on stderr whether the verdict is another."""
    before, now = compare_trials(recorded.trials, decisions), compare_trials(again.trials, decisions)
    if before.verdict != now.verdict:
        print(f"assay: the verdict was {before.verdict} when these trials were run", file=sys.stderr)
    return build_evaluation(now, again)


def replay_rubrics(request: ReplayRequest, recorded: RecordedRun) -> Evaluation:
    """The evaluation with every rubric judged again; nothing of the run is changed."""
    suite, decisions = load_rubrics(request, recorded), read_decisions(recorded.lock)
    rulings: dict[str, Ruling] = {}
    with open_judge(request, suite) as judge:
        if judge is None:
            raise BadInput(f"--judge {request.judge}: asks no model, or no task has a rubric; leave it out")
        trials = replay_run(recorded.folder, build_asker(judge, suite, rulings)).trials
    print_note(f"rubrics were judged again by {judge.name}; the run's own judge was {decisions.judge}")
    found = compare_again(recorded, replace_trials(recorded, trials), decisions)
    told = [tell_ruling(one, rulings.get(one.folder)) for one in found.run.trials]
    return replace(found, run=replace(found.run, judge=judge.name, trials=tuple(told)))


def tell_ruling(trial: TrialLine, ruling: Ruling | None) -> TrialLine:
    """A trial with what was said of it now."""
    return replace(trial, rationale=redact_text(ruling.rationale or ruling.trouble)) if ruling else trial


def load_rubrics(request: ReplayRequest, recorded: RecordedRun) -> Suite:
    """The tasks of a run, if they are still those that were run."""
    if request.tasks is None:
        raise BadInput("--judge asks about rubrics, which stand in the tasks; give their folder with --tasks")
    suite = load_suite(request.tasks)
    there = {task.name: task.sha256 for task in suite.tasks}
    if other := [name for name, was in recorded.lock.tasks.items() if there.get(name) != was]:
        raise BadInput(f"--tasks {request.tasks}: {other[0]} is not the task that was run; give the tasks as they were")
    return suite


def build_asker(
    judge: RubricJudge, suite: Suite, rulings: dict[str, Ruling]
) -> Callable[[TrialRecord, Path], float | None]:
    """Ask about each trial that has a rubric; one that went past its limits has its 0."""
    tasks: dict[str, Task] = {task.name: task for task in suite.tasks}

    def ask(record: TrialRecord, folder: Path) -> float | None:
        task = tasks[record.trial.task]
        if not task.rubric:
            return record.trial.judge01
        if record.ended.ended != "exit":
            return 0.0
        rulings[record.trial.folder] = said = judge.ask(task, folder)
        return said.score

    return ask


@options(SplitRequest)
def split_trials(request: SplitRequest) -> None:
    """Compare a configuration with itself: its recorded trials, split at random, as often as you say.

    Every verdict but inconclusive and neutral is a false one: what this suite and this rule make of luck alone.
    """
    if request.arm not in ARMS:
        raise BadInput(f"--arm {request.arm!r}: give one of {', '.join(ARMS)}")
    recorded = check_run(load_run(pick_run(request.run, request.out)))
    decisions = read_decisions(recorded.lock)
    trials = [one for one in recorded.trials if one.arm == request.arm and one.stage == "main"]
    found = tally_splits(trials, request.splits, decisions.thresholds)
    if request.as_json:
        print_json(found)
    else:
        print_lines(describe_splits(found, request.arm))


def describe_splits(found: SplitTally, arm: str) -> str:
    """What came of the splits, in lines."""
    rules = {"tested": f"{found.repeats} against {found.repeats} repeats", "seed": "one run against another"}
    tasks = format_count(found.tasks, "task")
    lines = [f"{found.splits} random splits of the {arm}'s trials of {tasks}, each half against the other"]
    for rule, verdicts in (("tested", found.tested), ("seed", found.seed)):
        if verdicts:
            told = ", ".join(f"{verdict} {n / found.splits:.1%}" for verdict, n in verdicts.items())
            lines.append(f"  rule {rule}, {rules[rule]}: {told}")
    return "\n".join([*lines, *(f"  {one}" for one in found.says)])
