"""`assay eval run`: from its options to an evaluation; everything is checked before anything is spent."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Protocol, cast

import typer
from msgspec import Struct

from assay.cli.consent import YES, ask_person
from assay.cli.options import (
    AsJson,
    Judge,
    ModelName,
    ModelUrl,
    Setting,
    StorePath,
    Yes,
    check_word,
    read_overrides,
)
from assay.cli.progress import ProgressBar
from assay.cli.settings import load_config as load_score_config
from assay.cli.settings import load_settings
from assay.errors import BadInput
from assay.evals.deciding import planner, sequential
from assay.evals.deciding.compare import build_thresholds
from assay.evals.running.evaluation import EvaluationResult, build_design, count_attempts, run_evaluation
from assay.evals.running.judge import NOBODY, RubricJudge
from assay.evals.running.plan import RunOptions, RunProgress, RunRequest, build_plan
from assay.evals.running.recorded_run import Decisions, pin_decisions
from assay.evals.running.run_folder import ROOT, find_run_folder
from assay.evals.tasks.config import AgentConfig, load_config
from assay.evals.tasks.task import Suite, load_suite
from assay.pipeline.models import needs_model
from assay.pipeline.quality import pick_quality_model
from assay.reports.format import format_count, format_line, sanitize_text
from assay.types.evals import Arm, Rule, SuitePlan

REPEATS = 3
THRESHOLDS = "Thresholds, which a report names where they are not the usual ones"
ALL_THE_SAME = "Whatever its trials say, the verdict will be inconclusive. Run it all the same? [y/N] "
SIDE = "a folder with a config.toml, REF:PATH for one at a git ref, or a bare git REF."

Tasks = Annotated[
    Path,
    typer.Option("--tasks", metavar="DIR", help="Folder of tasks, each a folder with a task.toml.", readable=False),
]
Baseline = Annotated[str, typer.Option("--baseline", metavar="CONFIG", help=f"What there is: {SIDE}")]
Candidate = Annotated[str, typer.Option("--candidate", metavar="CONFIG", help=f"What may replace it: {SIDE}")]
Repeats = Annotated[
    int | None,
    typer.Option("--repeats", metavar="N", min=1, help="Trials of each task and side; 3, or 1 with --rule seed."),
]
TrialsAtOnce = Annotated[int, typer.Option("--jobs", "-j", min=1, metavar="N", help="Trials at once.")]
RunCost = Annotated[
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
AttemptNumber = Annotated[
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
Outputs = Annotated[
    list[Path] | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Keep it in a file too: .json, .md, .html or .junit.xml; any number.",
        readable=False,
    ),
]  # fmt: skip
Alpha = Annotated[
    float | None,
    typer.Option(
        "--eval-alpha", metavar="P", help="Rule tested: how often luck may pass for a gain; 0.01.",
        rich_help_panel=THRESHOLDS,
    ),
    Setting("eval_alpha"),
]  # fmt: skip
MinGain = Annotated[
    float | None,
    typer.Option(
        "--eval-min-gain", metavar="GAIN", help="Rule tested: the least gain; 0.02.", rich_help_panel=THRESHOLDS
    ),
    Setting("eval_min_gain"),
]
NetGain = Annotated[
    float | None,
    typer.Option(
        "--eval-min-composite-gain", metavar="GAIN", help="Rule seed: the net gain must exceed it; 0.01.",
        rich_help_panel=THRESHOLDS,
    ),
    Setting("eval_min_composite_gain"),
]  # fmt: skip
Drop = Annotated[
    float | None,
    typer.Option(
        "--eval-regression-composite-drop", metavar="DROP", help="Rule seed: a larger drop of a task is one; 0.05.",
        rich_help_panel=THRESHOLDS,
    ),
    Setting("eval_regression_composite_drop"),
]  # fmt: skip
ObjectiveDrop = Annotated[
    bool | None,
    typer.Option(
        "--eval-objective-drop-is-regression/--no-eval-objective-drop-is-regression",
        help="Rule seed: whether fewer checks passed on a task are a regression; yes.",
        rich_help_panel=THRESHOLDS,
    ),
    Setting("eval_objective_drop_is_regression"),
]


class EvalRunRequest(Struct, frozen=True, kw_only=True):
    """What `assay eval run` takes."""

    tasks: Tasks
    baseline: Baseline
    candidate: Candidate
    repeats: Repeats = None
    jobs: TrialsAtOnce = 1
    max_cost: RunCost = None
    sequential: Sequential = False
    rule: RuleName = None
    want: Want = None
    attempt: AttemptNumber = None
    out: Out = None
    judge: Judge = None
    model: ModelName = None
    model_url: ModelUrl = None
    yes: Yes = False
    store: StorePath = None
    eval_alpha: Alpha = None
    eval_min_gain: MinGain = None
    eval_min_composite_gain: NetGain = None
    eval_regression_composite_drop: Drop = None
    eval_objective_drop_is_regression: ObjectiveDrop = None
    as_json: AsJson = False
    output: Outputs = None


def run_request(request: EvalRunRequest) -> EvaluationResult:
    """Run the evaluation that is asked for, or go on with it."""
    rule, repeats = pick_rule(request)
    overrides = {name: value for name, value in read_overrides(request).items() if name.startswith("eval_")}
    thresholds = build_thresholds(load_settings(**overrides).eval)
    suite = load_suite(request.tasks)
    root = request.out or ROOT
    arms: dict[Arm, AgentConfig] = {
        "baseline": load_config(request.baseline, root / "configs"),
        "candidate": load_config(request.candidate, root / "configs"),
    }
    folder = request.out or find_run_folder(ROOT, suite.sha256, arms["baseline"].sha256, arms["candidate"].sha256)
    attempt = request.attempt or count_attempts(folder, suite, arms)
    with open_judge(request, suite) as judge, open_progress() as report:
        is_judged = judge is not None
        promised = planner.plan_suite(
            len(suite.tasks), repeats, request.want, is_judged=is_judged, attempt=attempt, limits=thresholds
        )
        says = promise_gain(promised, is_sure=request.yes) if rule == "tested" else ()
        design = build_design(suite, repeats, attempt, is_sequential=request.sequential)
        decisions = Decisions(rule=rule, design=design, thresholds=thresholds, judge=judge.name if judge else NOBODY)
        plan = build_plan(
            RunRequest(
                suite=suite, arms=arms, folder=folder, env=os.environ, pins=pin_decisions(decisions), report=report,
                judge=judge, options=RunOptions(jobs=request.jobs, max_cost=request.max_cost),
            )
        )  # fmt: skip
        if request.out is None:
            hide_from_git(ROOT)
        return run_evaluation(plan, decisions, says)


def pick_rule(request: EvalRunRequest) -> tuple[Rule, int]:
    """The rule and the repeats, as they were asked for or follow from each other."""
    named = check_word(request.rule, ("seed", "tested"), "--rule")
    if request.sequential:
        if named == "seed" or request.repeats not in (None, sequential.CAP):
            raise BadInput(f"--sequential goes by rule tested, up to {sequential.CAP} repeats; leave --repeats out")
        return "tested", sequential.CAP
    repeats = request.repeats or (1 if named == "seed" else REPEATS)
    if named == "seed" and repeats > 1:
        raise BadInput(f"--rule seed goes by one run per side; for {repeats} repeats take --rule tested")
    return ("seed" if named == "seed" or (named is None and repeats == 1) else "tested"), repeats


class RubricRequest(Protocol):
    """The options of commands that may have rubrics judged."""

    @property
    def yes(self) -> bool: ...


@contextmanager
def open_judge(request: RubricRequest, suite: Suite) -> Iterator[RubricJudge | None]:
    """Who judges rubrics: a model, if one is asked for, the tasks have any, and the person agrees."""
    config = pick_quality_model(load_score_config(**read_overrides(cast(Struct, request))))
    rubrics = sum(bool(task.rubric) for task in suite.tasks)
    if not rubrics or not needs_model(config):
        yield None
        return
    ask_consent(
        request, f"{config.judge} is asked once for each trial of {format_count(rubrics, 'task')} with a rubric"
    )
    judge = RubricJudge(config, os.environ)
    try:
        yield judge
    finally:
        judge.close()


def ask_consent(request: RubricRequest, what: str) -> None:
    """Go on, or raise: a terminal is asked, a pipe must have said `--yes`."""
    if request.yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(f"{what}; nothing was sent. Add --yes to go on, or --judge offline to leave rubrics unjudged")
    if ask_person(f"{what}. Go on? [y/N] ").strip().lower() not in YES:
        raise BadInput("nothing was sent; --judge offline leaves rubrics unjudged")


def promise_gain(plan: SuitePlan, *, is_sure: bool) -> tuple[str, ...]:
    """What a suite can prove, in sentences, before anything is spent; a wanted gain that it can't show is refused."""
    told = planner.describe_plan(plan)
    remedies = "; ".join(plan.remedies)
    if plan.wanted_points is not None and not plan.is_decidable:
        raise BadInput(f"{'; '.join(plan.says)}. {planner.WOULD_DECIDE}: {remedies}")
    is_seen = sys.stderr.isatty()
    if is_seen or not plan.is_decidable:
        for line in told if is_seen else told[: len(plan.says) + 1]:
            print(f"assay: {sanitize_text(line)}", file=sys.stderr)
    is_asked = not plan.is_decidable and is_seen and sys.stdin.isatty() and not is_sure
    if is_asked and ask_person(ALL_THE_SAME).strip().lower() not in YES:
        raise BadInput("nothing was run and nothing spent")
    return told


def hide_from_git(root: Path) -> None:
    """Put a `.gitignore` beside runs, which are not for committing."""
    root.mkdir(parents=True, exist_ok=True)
    if not os.path.lexists(root / ".gitignore"):
        (root / ".gitignore").write_text("*\n", "utf-8")


@contextmanager
def open_progress() -> Iterator[Callable[[RunProgress], None]]:
    """A bar of trials on a terminal; nothing in a pipe."""
    with ProgressBar("trials", "items") as bar:

        def report(at: RunProgress) -> None:
            slot = at.slot
            name = format_line(f"{slot.task}, {slot.arm}, {slot.repeat}", 60)
            if at.event == "failed":
                bar.say(f"{name}: {format_line(at.why, 200)}; not the agent's failure")
            bar.show(at.done, at.planned, f"USD {at.usd:.2f}  {name}")

        yield report
