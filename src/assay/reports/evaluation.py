"""An evaluation on a terminal, and the phrases that every report of one shares."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.format import format_line
from assay.types.evals import ARMS, Checkup, Checkups, Evaluation, Suspect, TaskResult, TrialLine

STYLES = {"improved": "bold green", "regressed": "bold red", "mixed": "bold red", "invalid": "bold red"}
MOST_WORDS, MOST_NAME, MOST_LINES = 400, 60, 12
MAY_GO_IN = {True: "may go in", False: "stays out"}
MARK = {True: ("✓", "green"), False: ("✗", "red"), None: ("–", "dim")}


def render_evaluation(found: Evaluation) -> Group:
    """The whole report of an evaluation, for a terminal."""
    figures = "; ".join(list_figures(found))
    parts: list[RenderableType] = [render_verdict(found)]
    parts += [*render_lines([figures] if figures else [], "dim"), *render_lines(found.reasons)]
    parts += render_lines(list_cautions(found), "yellow")
    if found.regressions:
        broken = [f"{one.task}: {one.kind}: {one.detail}" for one in found.regressions]
        parts += render_section("Hard regressions", broken)
    parts += [Text(), render_tasks(found)]
    parts += render_section("How the numbers come about", [*explain_composites(found), *explain_differences(found)])
    parts += render_section("Run again", map(describe_suspect, found.suspects))
    wanted = [f"{one.task}: {one.repeats} {one.stage} trials a side" for one in found.wanted]
    parts += render_section("Still wanted", wanted)
    parts += render_section("Planned", found.run.plan)
    parts += render_section("Configurations", list_configurations(found))
    parts += render_section("Notes", found.run.notes)
    return Group(*parts, Text(), Text(describe_run(found), "dim"))


def render_verdict(found: Evaluation) -> Text:
    return Text.assemble((found.verdict, STYLES.get(found.verdict, "bold yellow")), describe_verdict(found))


def render_lines(said: Iterable[str], style: str = "") -> list[RenderableType]:
    return [Padding(Text(format_line(one, MOST_WORDS), style), (0, 0, 0, 2)) for one in said]


def render_section(title: str, said: Iterable[str]) -> list[RenderableType]:
    """A heading and its lines; nothing where there are none."""
    listed = list(said)
    more = [f"and {len(listed) - MOST_LINES} more"] if len(listed) > MOST_LINES else []
    return [Text(), Text(title, "bold"), *render_lines([*listed[:MOST_LINES], *more])] if listed else []


def render_tasks(found: Evaluation) -> Table:
    """Every task, those on which the sides differ first."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("task", style="bold", overflow="fold")
    for name in ("baseline", "candidate", "delta", "passed"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("trials, baseline over candidate", overflow="fold")
    for one in sort_tasks(found):
        style = "red" if (one.delta or 0) < 0 else "green" if (one.delta or 0) > 0 else "dim"
        table.add_row(
            Text(format_line(one.task, MOST_NAME)),
            format_number(one.baseline),
            format_number(one.candidate),
            Text(format_difference(one.delta), style),
            format_passes(one),
            Text(format_line(one.left_out, 100), "yellow") if one.left_out else render_grid(found.run.trials, one.task),
        )
    return table


def explain_composites(found: Evaluation) -> list[str]:
    """How the number of a task comes about, in a sentence."""
    if not found.tasks:
        return []
    judged = any(one.is_judged for one in found.tasks)
    base = "0.6 · checks passed + 0.4 · judge" if judged else "checks passed, from 0 to 1"
    costs = "cost in tokens, tool calls, steps and time"
    if found.rule == "seed":
        return [f"composite = {base}, and for the candidate up to 0.1 more or less for {costs}, kept within 0 and 1"]
    one = f"{base}, and up to 0.05 more or less for {costs} beside both sides"
    return [f"a side is the mean of its trials, and a trial is {one}"]


def explain_differences(found: Evaluation) -> list[str]:
    """What the difference of each task is made of, the largest first."""
    said = sorted(found.tasks, key=lambda one: -abs(one.delta or 0.0))
    return [line for one in said if (line := explain_difference(one))]


def explain_difference(one: TaskResult) -> str:
    """What a difference is made of: checks, judge, cost; nothing where there is none."""
    bases, objectives = (one.baseline_base, one.candidate_base), (one.baseline_objective, one.candidate_objective)
    if not one.delta or one.left_out or None in (*bases, *objectives):
        return ""
    cost = one.delta - ((bases[1] or 0.0) - (bases[0] or 0.0))
    parts = [f"checks {format_number(objectives[0])} → {format_number(objectives[1])}"]
    parts += [f"with the judge {format_number(bases[0])} → {format_number(bases[1])}"] if one.is_judged else []
    return f"{one.task}: {format_difference(one.delta)} = {', '.join([*parts, f'cost {format_difference(cost)}'])}"


def format_passes(one: TaskResult) -> str:
    """Trials in which every check passed, on both sides."""
    return f"{one.baseline_passes}/{one.baseline_trials} → {one.candidate_passes}/{one.candidate_trials}"


def render_grid(cells: Sequence[TrialLine], task: str) -> Text:
    """A mark for each repeat, the baseline's above the candidate's."""
    text = Text()
    for arm in ARMS:
        marks = [MARK[one.is_passed] for one in cells if (one.task, one.arm, one.stage) == (task, arm, "main")]
        text.append("\n" if text.plain else "")
        for sign, style in marks:
            text.append(sign, style)
    return text


def describe_suspect(one: Suspect) -> str:
    """What the guard's fresh trials say of a task."""
    from_, to = f"{one.baseline_passes}/{one.baseline_trials}", f"{one.candidate_passes}/{one.candidate_trials}"
    said = {True: "confirmed", False: "not confirmed", None: "waits for its trials"}[one.is_confirmed]
    return f"{one.task}: {from_} → {to} in fresh trials, {said}"


def list_configurations(found: Evaluation) -> list[str]:
    """Both sides, and every file of instructions that their agents had, with hashes."""
    said = []
    for name in ARMS:
        arm = found.run.arms[name]
        more = ", ".join(part for part in (arm.version, arm.model, arm.commit[:12]) if part)
        said.append(f"{name}: {arm.config} ({arm.agent}{f', {more}' if more else ''}) {arm.sha256[:12]}")
        said += [
            f"· {one.path} {one.fingerprint.rpartition(':')[2][:12]}, {one.evidence}, {one.trials} trials"
            for one in arm.loaded
        ]
    return said


def describe_run(found: Evaluation) -> str:
    """Where it ran, what it took, where it lies."""
    return format_line(f"{describe_cost(found)}; {found.run.sandbox}; kept in {found.run.folder}", MOST_WORDS)


def render_gate(found: Evaluation) -> Group:
    """The verdict and what stands in the way, nothing else."""
    return Group(render_verdict(found), *render_lines(found.objections), *render_lines(list_cautions(found), "yellow"))


def render_sentences(said: Iterable[str]) -> Group:
    """Sentences, one to a line."""
    return Group(*(Text(format_line(one, MOST_WORDS)) for one in said))


def render_checkups(found: Checkups) -> Group:
    """Every task and what is wrong with it."""
    parts: list[RenderableType] = []
    for one in found.tasks:
        parts.append(
            Text.assemble(
                MARK[not one.problems], " ", (format_line(one.task, MOST_NAME), "bold"), describe_checkup(one)
            )
        )
        parts += [*render_lines(one.problems, "red"), *render_lines(one.cautions, "yellow")]
    parts += [Text.assemble(MARK[True], " ", format_line(name, MOST_NAME), "  configuration") for name in found.configs]
    return Group(*parts)


def describe_checkup(one: Checkup) -> str:
    """How many checks pass untouched, and on the solution."""
    held = sum(bool(check.passed) for check in one.untouched)
    said = f"  {held} of {len(one.untouched)} checks pass untouched"
    if one.solved is None:
        return f"{said}, no reference solution"
    return f"{said}, {sum(bool(check.passed) for check in one.solved)} on the solution"


def sort_tasks(found: Evaluation) -> list[TaskResult]:
    """Tasks, those on which the sides differ first, losses before gains."""
    broken = {one.task for one in found.regressions}
    return sorted(
        found.tasks,
        key=lambda one: (
            one.task not in broken,
            not one.is_discordant,
            one.delta if one.delta is not None else -9.0,
            one.task,
        ),
    )


def format_difference(value: float | None, places: int = 3) -> str:
    """A difference as text, with its sign."""
    return "–" if value is None else f"{round(value, places) + 0.0:+.{places}f}"


def format_number(value: float | None, places: int = 2) -> str:
    return "–" if value is None else f"{round(value, places) + 0.0:.{places}f}"


def list_figures(found: Evaluation) -> list[str]:
    """The numbers behind a verdict, in phrases."""
    known, said = found.statistics, []
    if found.net_gain is not None:
        said.append(f"{'net' if found.rule == 'seed' else 'mean'} gain {format_difference(found.net_gain)}")
    if known.low is not None and known.high is not None:
        said.append(f"95 % interval {format_difference(known.low)} to {format_difference(known.high)}")
    if known.noise_floor is not None:
        said.append(f"luck alone exceeds {format_number(known.noise_floor, 3)} once in a hundred")
    chances = {"p of a gain": known.p_better, "p of a loss": known.p_worse, "p of better quality": known.p_quality}
    said += [f"{words} {format_number(chance, 4)}" for words, chance in chances.items() if chance is not None]
    if known.is_broad is False and found.verdict == "improved":
        said.append("proven on these tasks only: not shown to hold beyond them")
    return said


def list_cautions(found: Evaluation) -> list[str]:
    """What a reader must know before trusting the verdict."""
    if found.run.stopped == "budget":
        return ["stopped by --max-cost: not all trials were run, so whatever stands here is not the end of it"]
    if found.run.stopped:
        return ["stopped: --max-cost can't be held, because the price of a trial is not known"]
    return []


def describe_verdict(found: Evaluation) -> str:
    """The verdict and what follows from it, behind the verdict itself."""
    label = f" ({found.label})"
    so_far = " so far, stopped by the budget" if found.run.stopped else ""
    return f"{label}{so_far}: the candidate {MAY_GO_IN[found.promote]}"


def describe_cost(found: Evaluation) -> str:
    """How many trials a run had and what they cost."""
    run = found.run
    if run.unpriced and run.unpriced >= run.done:
        return f"{run.done} of {run.planned} trials, unpriced"
    more = f" and {run.unpriced} unpriced trials" if run.unpriced else ""
    return f"{run.done} of {run.planned} trials, USD {run.usd:.2f}{more}"
