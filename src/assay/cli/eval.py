"""`assay eval`: is the new configuration better, and may it go in?"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import asdict
from rich.console import Console

from assay.cli import eval_promote, evaluating
from assay.cli.evaluating import FORMATS, Asked, Limits, leave
from assay.cli.options import AsJson, Judge, ModelName, ModelUrl, StorePath, Yes
from assay.cli.output import check_target, let_pipe_close
from assay.errors import InvalidRun
from assay.evals.deciding import planner
from assay.evals.promoting.verify import verify_run
from assay.evals.running import recorded_run as keeping
from assay.evals.running.evaluation import build_evaluation, check_run, check_unaltered, compare_trials
from assay.evals.running.recorded_run import Decisions, RecordedRun
from assay.evals.running.recorded_run import replay_run as replayed
from assay.evals.running.task_checks import check_task
from assay.evals.tasks.config import FILE as CONFIG_FILE
from assay.evals.tasks.config import load_config
from assay.evals.tasks.task import load_suite
from assay.reports import evaluation as shown
from assay.reports.safe import encoded
from assay.types.evals import SCHEMA_VERSION, Checkup, Checkups, Comparison, SuitePlan

EXAMPLE = "Example: `assay eval run --tasks tasks --baseline main --candidate . --repeats 5`"
BAD, UNDECIDED = 2, 3

app = typer.Typer(
    help="Is the new configuration better, and may it go in? Tasks run with two configurations become a verdict. "
    "Exit codes: 0 promotable, 1 regressed or mixed, 2 bad input, 3 inconclusive or neutral, 4 invalid, 5 budget.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Tasks = Annotated[
    Path,
    typer.Option("--tasks", metavar="DIR", help="Folder of tasks, each a folder with a task.toml.", readable=False),
]
Side = "a folder with a config.toml, REF:PATH for one at a git ref, or a bare git REF."
Baseline = Annotated[str, typer.Option("--baseline", metavar="CONFIG", help=f"What there is: {Side}")]
Candidate = Annotated[str, typer.Option("--candidate", metavar="CONFIG", help=f"What may replace it: {Side}")]
Repeats = Annotated[
    int | None,
    typer.Option("--repeats", metavar="N", min=1, help="Trials of each task and side; 3, or 1 with --rule seed."),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Trials at once.")]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="USD", help="Begin no trial that would probably take the run beyond it."),
]
Sequential = Annotated[
    bool, typer.Option("--sequential", help="Look after every 2 repeats, at most 10, and stop when it is decided.")
]
RuleName = Annotated[
    str | None,
    typer.Option("--rule", metavar="seed|tested", help="`tested` is a test; `seed` goes by one run per side."),
]
Want = Annotated[
    float | None,
    typer.Option("--want", metavar="POINTS", help="Gain you hope to prove; refused where the suite can't show it."),
]
Attempt = Annotated[
    int | None,
    typer.Option(
        "--attempt",
        metavar="N",
        min=1,
        help="Which attempt on this baseline it is: 2 for the second; else runs beside it count.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder of the run; else one below .assay/runs.", readable=False),
]
THRESHOLDS = "Thresholds, which a report names where they are not the usual ones"
Alpha = Annotated[
    float | None,
    typer.Option(
        "--eval-alpha",
        metavar="P",
        help="Rule tested: how often luck may pass for a gain; 0.01.",
        rich_help_panel=THRESHOLDS,
    ),
]
MinGain = Annotated[
    float | None,
    typer.Option(
        "--eval-min-gain", metavar="GAIN", help="Rule tested: the least gain; 0.02.", rich_help_panel=THRESHOLDS
    ),
]
NetGain = Annotated[
    float | None,
    typer.Option(
        "--eval-min-composite-gain",
        metavar="GAIN",
        help="Rule seed: the net gain must exceed it; 0.01.",
        rich_help_panel=THRESHOLDS,
    ),
]
Drop = Annotated[
    float | None,
    typer.Option(
        "--eval-regression-composite-drop",
        metavar="DROP",
        help="Rule seed: a larger drop of a task is one; 0.05.",
        rich_help_panel=THRESHOLDS,
    ),
]
ObjectiveDrop = Annotated[
    bool | None,
    typer.Option(
        "--eval-objective-drop-is-regression/--no-eval-objective-drop-is-regression",
        help="Rule seed: whether fewer checks passed on a task are a regression; yes.",
        rich_help_panel=THRESHOLDS,
    ),
]
Output = Annotated[
    list[Path] | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Keep it in a file too: .json, .md, .html or .junit.xml; any number.",
        readable=False,
    ),
]  # fmt: skip
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run that has ended.", readable=False)]
Folders = Annotated[
    list[Path],
    typer.Argument(metavar="DIR…", help="Folders of tasks, single tasks, or configurations.", readable=False),
]
PilotRun = Annotated[
    Path | None,
    typer.Option("--pilot", metavar="RUN", help="A run whose baseline tells how much trials vary, and their price.",
                 readable=False),
]  # fmt: skip


@app.command("check", epilog="Example: `assay eval check tasks`")
def check(folders: Folders, as_json: AsJson = False) -> None:
    """Check tasks before they are run: not all checks may pass untouched, all must on the reference solution."""
    tasks: list[Checkup] = []
    names: list[str] = []
    for folder in folders:
        if (folder / CONFIG_FILE).is_file():
            names.append(load_config(str(folder), folder).name)
        else:
            tasks += [check_task(task, os.environ) for task in load_suite(folder).tasks]
    found = Checkups(tasks=tuple(tasks), configs=tuple(names))
    let_pipe_close()
    if as_json:
        sys.stdout.buffer.write(encoded(found) + b"\n")
    else:
        Console().print(shown.render_checkups(found))
    if any(one.problems for one in found.tasks):
        raise typer.Exit(BAD)


@app.command("run", epilog=EXAMPLE)
def run(  # noqa: PLR0913  each is an option
    tasks: Tasks,
    baseline: Baseline,
    candidate: Candidate,
    repeats: Repeats = None,
    jobs: Jobs = 1,
    max_cost: MaxCost = None,
    sequential: Sequential = False,
    rule: RuleName = None,
    want: Want = None,
    attempt: Attempt = None,
    out: Out = None,
    judge: Judge = None,
    model: ModelName = None,
    model_url: ModelUrl = None,
    yes: Yes = False,
    store: StorePath = None,
    eval_alpha: Alpha = None,
    eval_min_gain: MinGain = None,
    eval_min_composite_gain: NetGain = None,
    eval_regression_composite_drop: Drop = None,
    eval_objective_drop_is_regression: ObjectiveDrop = None,
    as_json: AsJson = False,
    output: Output = None,
) -> None:
    """Run tasks with two configurations, compare them, and say whether the candidate may go in; again: go on."""
    targets = files(output)
    asked = Asked(
        tasks=tasks, baseline=baseline, candidate=candidate, repeats=repeats, jobs=jobs, max_cost=max_cost,
        sequential=sequential, rule=rule, want=want, attempt=attempt, out=out, judge=judge, model=model,
        url=model_url, yes=yes, store=store,
        limits=Limits(
            alpha=eval_alpha, min_gain=eval_min_gain, min_composite_gain=eval_min_composite_gain,
            regression_composite_drop=eval_regression_composite_drop,
            objective_drop_is_regression=eval_objective_drop_is_regression,
        ),
    )  # fmt: skip
    found = evaluating.evaluated(asked)
    leave(build_evaluation(found.comparison, found.run), targets, as_json)


@app.command("compare", epilog="Example: `assay eval compare .assay/runs/3f2a91c0 -o comment.md`")
def compare(run: RunFolder, as_json: AsJson = False, output: Output = None) -> None:
    """Compare the trials of a run that has ended, as it was decided before the first of them."""
    targets, (kept, decided) = files(output), whole(run)
    leave(build_evaluation(compare_trials(kept.trials, decided), kept), targets, as_json)


@app.command("gate", epilog="Example: `assay eval gate .assay/runs/3f2a91c0 && echo in`")
def gate(run: RunFolder, as_json: AsJson = False) -> None:
    """Say whether the candidate of a run may go in: its comparison is made again and must be the one on record."""
    kept, _ = whole(run)
    found = build_evaluation(load_verified(kept), kept)
    leave(found, [], as_json, shown.render_gate(found))


@app.command("replay", epilog="Example: `assay eval replay .assay/runs/3f2a91c0 --json`")
def replay(run: RunFolder, as_json: AsJson = False, output: Output = None) -> None:
    """Score the recorded trials of a run again, by today's facts and prices, without running anything."""
    targets, kept = files(output), keeping.load_run(run)
    check_unaltered(kept.altered)  # costs may differ: it is for today's
    decided = keeping.read_decisions(kept.lock)
    again = keeping.replace_trials(kept, replayed(kept.folder).trials)
    before, now = compare_trials(kept.trials, decided), compare_trials(again.trials, decided)
    if before.verdict != now.verdict:
        print(f"assay: the verdict was {before.verdict} when these trials were run", file=sys.stderr)
    leave(build_evaluation(now, again), targets, as_json)


@app.command("plan", epilog="Example: `assay eval plan --tasks tasks --repeats 5 --want 15`")
def plan(
    tasks: Tasks,
    repeats: Repeats = None,
    want: Want = None,
    pilot: PilotRun = None,
    attempt: Attempt = None,
    as_json: AsJson = False,
) -> None:
    """Say what these tasks can prove with so many repeats, before anything is spent."""
    suite = load_suite(tasks)
    known = planner.measure_pilot([one for one in whole(pilot)[0].trials if one.arm == "baseline"]) if pilot else None
    judged = any(task.rubric for task in suite.tasks)
    made: SuitePlan = planner.plan_suite(
        len(suite.tasks), repeats or evaluating.REPEATS, want, known, is_judged=judged, attempt=attempt or 1
    )
    let_pipe_close()
    if as_json:
        sys.stdout.buffer.write(encoded({"schema_version": SCHEMA_VERSION, **asdict(made)}) + b"\n")
    else:
        Console().print(shown.render_sentences(planner.describe_plan(made)))
    if not made.is_decidable:
        raise typer.Exit(UNDECIDED)


app.command("promote", epilog=eval_promote.PROMOTE_EXAMPLE)(eval_promote.promote)
app.command("mine", epilog=eval_promote.MINE_EXAMPLE)(eval_promote.mine)


def whole(run: Path) -> tuple[RecordedRun, Decisions]:
    """A run that has ended and can be trusted, and what was decided before it began."""
    kept = check_run(keeping.load_run(run))
    return kept, keeping.read_decisions(kept.lock)


def load_verified(run: RecordedRun) -> Comparison:
    """The comparison that was written down, when it is what the trials say."""
    found = keeping.load_comparison(run.folder)
    if wrong := verify_run(run, found):
        raise InvalidRun(f"{run.folder / keeping.COMPARISON} does not hold: {'; '.join(wrong)}")
    return found


def files(output: Sequence[Path] | None) -> list[Path]:
    """Where reports go, each checked before anything is run."""
    return [target for path in output or () if (target := check_target(path, FORMATS))]
