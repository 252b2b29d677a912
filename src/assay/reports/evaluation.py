"""An evaluation on a terminal: the verdict, the tasks on which the sides differ, and what stands behind it."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from assay.reports.evaluated import (
    ARMS,
    Cell,
    CheckupLine,
    Checkups,
    Evaluation,
    SuspectLine,
    TaskLine,
    cautions,
    figures,
    headline,
    number,
    ordered,
    plain,
    spent,
)
from assay.reports.safe import one_line

STYLES = {"improved": "bold green", "regressed": "bold red", "mixed": "bold red", "invalid": "bold red"}
MOST_WORDS, MOST_NAME, MOST_LINES = 400, 60, 12
MARK = {True: ("✓", "green"), False: ("✗", "red"), None: ("–", "dim")}


def report(found: Evaluation) -> Group:
    """The whole report."""
    parts: list[RenderableType] = [verdict(found), *lines(told(figures(found)), "dim"), *lines(found.reasons)]
    parts += lines(cautions(found), "yellow")
    if found.regressions:
        parts += section("Hard regressions", [f"{one.task}: {one.kind}: {one.detail}" for one in found.regressions])
    parts += [Text(), tasks(found)]
    parts += section("Run again", map(suspect, found.suspects))
    parts += section("Still wanted", [f"{one.task}: {one.repeats} {one.stage} trials a side" for one in found.wanted])
    parts += section("Planned", found.run.plan)
    parts += section("Configurations", configurations(found))
    parts += section("Notes", found.run.notes)
    return Group(*parts, Text(), Text(foot(found), "dim"))


def verdict(found: Evaluation) -> Text:
    return Text.assemble((found.verdict, STYLES.get(found.verdict, "bold yellow")), headline(found))


def lines(said: Iterable[str], style: str = "") -> list[RenderableType]:
    return [Padding(Text(one_line(one, MOST_WORDS), style), (0, 0, 0, 2)) for one in said]


def told(said: Sequence[str]) -> list[str]:
    """Phrases in one line, where there are any."""
    return ["; ".join(said)] if said else []


def section(title: str, said: Iterable[str]) -> list[RenderableType]:
    """A heading and its lines; nothing where there are none."""
    listed = list(said)
    more = [f"and {len(listed) - MOST_LINES} more"] if len(listed) > MOST_LINES else []
    return [Text(), Text(title, "bold"), *lines([*listed[:MOST_LINES], *more])] if listed else []


def tasks(found: Evaluation) -> Table:
    """Every task, those on which the sides differ first."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("task", style="bold", overflow="fold")
    for name in ("baseline", "candidate", "delta", "passed"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("trials, baseline over candidate", overflow="fold")
    for one in ordered(found):
        style = "red" if (one.delta or 0) < 0 else "green" if (one.delta or 0) > 0 else "dim"
        table.add_row(
            Text(one_line(one.task, MOST_NAME)),
            plain(one.baseline),
            plain(one.candidate),
            Text(number(one.delta), style),
            passed(one),
            Text(one_line(one.left_out, 100), "yellow") if one.left_out else grid(found.run.trials, one.task),
        )
    return table


def passed(one: TaskLine) -> str:
    """Trials in which every check passed, on both sides."""
    return f"{one.baseline_passes}/{one.baseline_trials} → {one.candidate_passes}/{one.candidate_trials}"


def grid(cells: Sequence[Cell], task: str) -> Text:
    """A mark for each repeat, the baseline's above the candidate's."""
    text = Text()
    for arm in ARMS:
        marks = [MARK[one.is_passed] for one in cells if (one.task, one.arm, one.stage) == (task, arm, "main")]
        text.append("\n" if text.plain else "")
        for sign, style in marks:
            text.append(sign, style)
    return text


def suspect(one: SuspectLine) -> str:
    """What the guard's fresh trials say of a task."""
    from_, to = f"{one.baseline_passes}/{one.baseline_trials}", f"{one.candidate_passes}/{one.candidate_trials}"
    said = {True: "confirmed", False: "not confirmed", None: "waits for its trials"}[one.is_confirmed]
    return f"{one.task}: {from_} → {to} in fresh trials, {said}"


def configurations(found: Evaluation) -> list[str]:
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


def foot(found: Evaluation) -> str:
    """Where it ran, what it took, where it lies."""
    return one_line(f"{spent(found)}; {found.run.sandbox}; kept in {found.run.folder}", MOST_WORDS)


def gate(found: Evaluation) -> Group:
    """The verdict and what stands in the way, nothing else."""
    return Group(verdict(found), *lines(found.objections), *lines(cautions(found), "yellow"))


def sentences(said: Iterable[str]) -> Group:
    """Lines as they are."""
    return Group(*(Text(one_line(one, MOST_WORDS)) for one in said))


def checkups(found: Checkups) -> Group:
    """Every task and what is wrong with it."""
    parts: list[RenderableType] = []
    for one in found.tasks:
        parts.append(Text.assemble(MARK[not one.problems], " ", (one_line(one.task, MOST_NAME), "bold"), tried(one)))
        parts += [*lines(one.problems, "red"), *lines(one.cautions, "yellow")]
    parts += [Text.assemble(MARK[True], " ", one_line(name, MOST_NAME), "  configuration") for name in found.configs]
    return Group(*parts)


def tried(one: CheckupLine) -> str:
    """How many checks pass untouched, and on the solution."""
    held = sum(bool(check.passed) for check in one.untouched)
    said = f"  {held} of {len(one.untouched)} checks pass untouched"
    if one.solved is None:
        return f"{said}, no reference solution"
    return f"{said}, {sum(bool(check.passed) for check in one.solved)} on the solution"
