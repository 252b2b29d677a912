"""From the options of `assay eval run` to an evaluation: everything is checked before anything is spent."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer
from msgspec import Struct
from msgspec.structs import asdict
from rich.console import Console, RenderableType

from assay.cli.consent import YES, ask_person
from assay.cli.options import check_word
from assay.cli.output import let_pipe_close, write_target
from assay.cli.progress import ProgressBar
from assay.cli.settings import load_config as load_score_config
from assay.cli.settings import load_settings
from assay.errors import BadInput
from assay.evals.deciding import planner, sequential
from assay.evals.deciding.compare import build_thresholds
from assay.evals.running import evaluation
from assay.evals.running.evaluation import EvaluationResult, build_design
from assay.evals.running.judge import NOBODY, RubricJudge
from assay.evals.running.plan import RunOptions, RunProgress, RunRequest, build_plan
from assay.evals.running.recorded_run import Decisions, pin_decisions
from assay.evals.running.run_folder import find_run_folder
from assay.evals.tasks.config import AgentConfig, load_config
from assay.evals.tasks.task import Suite, load_suite
from assay.pipeline.models import needs_model
from assay.pipeline.quality import pick_quality_model
from assay.reports import evaluation as shown
from assay.reports.evaluation_files import encode_evaluation, render_junit, render_markdown
from assay.reports.evaluation_page import render_page
from assay.reports.safe import many, one_line, safe
from assay.types.evals import Arm, Evaluation, Rule, SuitePlan

ROOT, REPEATS = Path(".assay/runs"), 3
FORMATS: dict[str, Callable[[Evaluation, Path], bytes]] = {
    ".json": lambda found, _: encode_evaluation(found),
    ".md": lambda found, _: render_markdown(found),
    ".html": lambda found, target: render_page(found, target.parent),
    ".xml": lambda found, _: render_junit(found),
}
Tell = Callable[[RunProgress], None]


class Asked(Struct, frozen=True, kw_only=True):
    """What `assay eval run` was asked; `None` was not given."""

    tasks: Path
    baseline: str
    candidate: str
    repeats: int | None
    jobs: int
    max_cost: float | None
    sequential: bool
    rule: str | None
    want: float | None
    attempt: int | None
    out: Path | None
    judge: str | None
    model: str | None
    url: str | None
    yes: bool
    store: str | None
    limits: "Limits"


class Limits(Struct, frozen=True, kw_only=True):
    """Thresholds as they were given on the command line; `None` were not."""

    alpha: float | None = None
    min_gain: float | None = None
    min_composite_gain: float | None = None
    regression_composite_drop: float | None = None
    objective_drop_is_regression: bool | None = None


def evaluated(asked: Asked) -> EvaluationResult:
    """Run what is asked for, or go on with it."""
    rule, repeats = how(asked)
    limits = build_thresholds(
        load_settings(**{f"eval_{name}": value for name, value in asdict(asked.limits).items()}).eval
    )
    suite = load_suite(asked.tasks)
    root = asked.out or ROOT
    arms: dict[Arm, AgentConfig] = {
        "baseline": load_config(asked.baseline, root / "configs"),
        "candidate": load_config(asked.candidate, root / "configs"),
    }
    folder = asked.out or find_run_folder(ROOT, suite.sha256, arms["baseline"].sha256, arms["candidate"].sha256)
    number = asked.attempt or evaluation.count_attempts(folder, suite, arms)
    with rubrics(asked, suite) as judge, telling() as tell:
        says = promised(suite, repeats, number, asked.want, is_judged=judge is not None) if rule == "tested" else ()
        design = build_design(suite, repeats, number, is_sequential=asked.sequential)
        decided = Decisions(rule=rule, design=design, thresholds=limits, judge=judge.name if judge else NOBODY)
        plan = build_plan(
            RunRequest(
                suite=suite, arms=arms, folder=folder, env=os.environ, pins=pin_decisions(decided), report=tell,
                judge=judge, options=RunOptions(jobs=asked.jobs, max_cost=asked.max_cost),
            )
        )  # fmt: skip
        if asked.out is None:
            unseen_by_git(ROOT)
        return evaluation.run_evaluation(plan, decided, says)


def how(asked: Asked) -> tuple[Rule, int]:
    """Rule and repeats, as they were asked for or follow from each other."""
    named = check_word(asked.rule, ("seed", "tested"), "--rule")
    if asked.sequential:
        if named == "seed" or asked.repeats not in (None, sequential.CAP):
            raise BadInput(f"--sequential goes by rule tested, up to {sequential.CAP} repeats; leave --repeats out")
        return "tested", sequential.CAP
    repeats = asked.repeats or (1 if named == "seed" else REPEATS)
    if named == "seed" and repeats > 1:
        raise BadInput(f"--rule seed goes by one run per side; for {repeats} repeats take --rule tested")
    return ("seed" if named == "seed" or (named is None and repeats == 1) else "tested"), repeats


@contextmanager
def rubrics(asked: Asked, suite: Suite) -> Iterator[RubricJudge | None]:
    """Who judges rubrics: a model, if one is asked for, the tasks have any, and the person agrees."""
    score_config = load_score_config(judge=asked.judge, model_name=asked.model, model_url=asked.url, store=asked.store)
    config, there = pick_quality_model(score_config), sum(bool(task.rubric) for task in suite.tasks)
    if not there or not needs_model(config):
        yield None
        return
    agree(asked, f"{config.judge} is asked once for each trial of {many(there, 'task')} with a rubric")
    judge = RubricJudge(config, os.environ)
    try:
        yield judge
    finally:
        judge.close()


def agree(asked: Asked, what: str) -> None:
    """Go on, or raise: a terminal is asked, a pipe must have said `--yes`."""
    if asked.yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(f"{what}; nothing was sent. Add --yes to go on, or --judge offline to leave rubrics unjudged")
    if ask_person(f"{what}. Go on? [y/N] ").strip().lower() not in YES:
        raise BadInput("nothing was sent; --judge offline leaves rubrics unjudged")


def promised(suite: Suite, repeats: int, attempt: int, want: float | None, *, is_judged: bool) -> tuple[str, ...]:
    """What this suite can prove, in sentences; a gain that it can't show is refused."""
    made: SuitePlan = planner.plan_suite(len(suite.tasks), repeats, want, is_judged=is_judged, attempt=attempt)
    if want is not None and not made.is_decidable:
        raise BadInput("; ".join(made.says))
    if sys.stderr.isatty() or not made.is_decidable:
        for line in planner.describe_plan(made) if sys.stderr.isatty() else made.says:
            print(f"assay: {safe(line)}", file=sys.stderr)
    return planner.describe_plan(made)


def unseen_by_git(root: Path) -> None:
    """Runs are not for committing."""
    root.mkdir(parents=True, exist_ok=True)
    if not os.path.lexists(root / ".gitignore"):
        (root / ".gitignore").write_text("*\n", "utf-8")


@contextmanager
def telling() -> Iterator[Tell]:
    """A bar of trials on a terminal; nothing in a pipe."""
    with ProgressBar("trials", "items") as bar:

        def tell(at: RunProgress) -> None:
            slot = at.slot
            name = one_line(f"{slot.task}, {slot.arm}, {slot.repeat}", 60)
            if at.event == "failed":
                bar.say(f"{name}: {one_line(at.why, 200)}; not the agent's failure")
            bar.show(at.done, at.planned, f"USD {at.usd:.2f}  {name}")

        yield tell


def leave(found: Evaluation, targets: Sequence[Path], as_json: bool, short: RenderableType | None = None) -> None:
    """Write and print an evaluation, and leave with what it says."""
    for target in targets:
        write_target(FORMATS[target.suffix.lower()](found, target), target)
        print(f"assay: wrote {safe(str(target))}", file=sys.stderr)
    let_pipe_close()
    if as_json:
        sys.stdout.buffer.write(encode_evaluation(found))
    else:
        Console().print(short or shown.render_evaluation(found))
    sys.stdout.flush()
    raise typer.Exit(found.exit_code)
