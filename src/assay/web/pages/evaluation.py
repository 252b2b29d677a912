"""One evaluation: the verdict and why, the grid of tasks and repeats, what its numbers are made of, every trial."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from assay.reports.evaluation import (
    MAY_GO_IN,
    describe_cost,
    describe_suspect,
    explain_composites,
    format_difference,
    format_number,
    format_passes,
    list_cautions,
    list_figures,
    sort_tasks,
)
from assay.reports.format import format_count, format_duration, format_line
from assay.types.evals import ARMS, Arm, CheckResult, Evaluation, TaskResult, TrialLine, Verdict
from assay.web.context import PageContext
from assay.web.frame import Page
from assay.web.html import Element, Node, draw, h, join_nodes, say
from assay.web.links import FileLinks, to_page
from assay.web.marks import (
    SIGNS,
    Tone,
    render_card,
    render_chip,
    render_doubt,
    render_facts,
    render_figure,
    render_list,
)
from assay.web.single import Place, render_file
from assay.web.tables import Column, render_table

TONES: dict[Verdict, Tone] = {
    "improved": "good", "regressed": "bad", "mixed": "bad", "invalid": "bad", "neutral": "quiet",
    "inconclusive": "quiet",
}  # fmt: skip
PASSED: dict[bool | None, tuple[Tone, str]] = {
    True: ("good", "passed"),
    False: ("bad", "failed"),
    None: ("quiet", "no result"),
}
MEANS: dict[Verdict, str] = {
    "improved": "The candidate is better, beyond luck.",
    "mixed": "The candidate gains on some tasks and breaks others.",
    "neutral": "The two are as good as each other.",
    "regressed": "The candidate is worse.",
    "inconclusive": "These trials can't tell the two apart.",
    "invalid": "Nothing can be said: something is wrong with the trials.",
}
BEYOND = (
    "A value below 0 or above 1 is no mistake: checks and judge go from 0 to 1, and cost moves a trial by a little "
    "beside them. Above 1 all checks passed at less cost than both sides' mean, below 0 none passed and it cost more."
)
MOST_DETAILED, MOST_DETAIL, MOST_TEXT = 400, 400, 600
LEAST_SCALE = 0.05


class EvaluationPlace(Struct, frozen=True, kw_only=True):
    """An evaluation, what it is called, and where its files are found from the page."""

    name: str
    found: Evaluation
    root: str | None = None
    """Put before the paths of files; `None`: they are named and not linked."""


def render_evaluation_file(found: Evaluation, beside: Path) -> bytes:
    """An evaluation as one file; `beside` is the folder in which it will lie, from which trials are linked."""
    root = quote(Path(os.path.relpath(found.run.folder, beside)).as_posix())
    context = PageContext(is_file=True, links=FileLinks({to_page("overview"): "evaluation"}))
    shown = EvaluationPlace(name=Path(found.run.folder).name, found=found, root=root)
    page = render_evaluation(shown, context)
    return render_file(page.title, [Place(id="evaluation", page=page)], context)


def render_evaluation(shown: EvaluationPlace, context: PageContext) -> Page:
    """The whole page."""
    found = shown.found
    ids = {id(one): f"trial-{n}" for n, one in enumerate(pick_trials(found), 1)}
    body = [
        h.div(".columns.hero")[render_verdict(found), render_sides(found)],
        render_broken(found),
        render_grid(found, ids, context),
        render_parts(found, context),
        render_lines("Run again", map(describe_suspect, found.suspects)),
        render_lines("Still wanted", (f"{one.task}: {one.repeats} {one.stage} trials a side" for one in found.wanted)),
        h.div(".columns")[render_lines("Planned", found.run.plan), render_lines("Notes", found.run.notes)]
        if found.run.plan or found.run.notes
        else None,
        render_trials(shown, ids),
    ]
    lead = f"{shown.name} · {describe_cost(found)} · {found.run.sandbox} · rubric judged by {found.run.judge}"
    return Page(name="evaluations", title="Evaluation", lead=lead, body=body)


def render_lines(title: str, said: Iterable[str]) -> Element | None:
    there = [format_line(one, MOST_TEXT) for one in said]
    return render_card(title, h.ul(".lines")[[h.li[one] for one in there]]) if there else None


# --- the verdict --------------------------------------------------------------------------------


def render_verdict(found: Evaluation) -> Element:
    """What it comes to, why, and the numbers behind it."""
    known = found.statistics
    name = "net gain" if found.rule == "seed" else "mean gain"
    figures = [
        render_figure(name, format_difference(found.net_gain), found.label, render_gain(found)),
        render_figure("tasks", f"{known.tasks:,}", f"{known.informative} neither always pass nor always fail"),
        render_figure("repeats a side", f"{known.repeats:,}", "of the task with the fewest"),
    ]
    so_far = " so far, stopped by the budget" if found.run.stopped else ""
    reasons = [f"{one[:1].upper()}{one[1:]}." for one in found.reasons]
    return render_card(
        [render_chip(TONES[found.verdict], found.verdict), f" the candidate {MAY_GO_IN[found.promote]}{so_far}"],
        h.p(".verdict")[MEANS[found.verdict]],
        h.ul(".lines")[[h.li[one] for one in reasons]] if reasons else None,
        h.div(".figures")[figures],
        render_list(list_figures(found)[1:]),
        [render_doubt(one) for one in list_cautions(found)],
        kind="verdict-card",
    )


def render_gain(found: Evaluation) -> Element | None:
    """The gain on a scale around 0, with its interval where there is one."""
    gain, low, high = found.net_gain, found.statistics.low, found.statistics.high
    if gain is None:
        return None
    known = [abs(one) for one in (gain, low, high) if one is not None]
    most = max(LEAST_SCALE, *known) * 1.1

    def place(value: float) -> float:
        return 50 + 50 * value / most

    band = (
        draw("rect", kind="band", x=place(low), y="1", width=max(0.8, place(high) - place(low)), height="8")
        if low is not None and high is not None
        else None
    )
    return h.svg(".interval", viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true")[
        draw("rect", kind="scale", x="0", y="4", width="100", height="2"),
        draw("line", kind="zero", x1="50", x2="50", y1="0", y2="10"),
        band,
        draw("line", kind="value", x1=place(gain), x2=place(gain), y1="0", y2="10"),
    ]


def render_sides(found: Evaluation) -> Element:
    """Both configurations, and what their agents had."""
    parts: list[Node] = []
    for name in ARMS:
        arm = found.run.arms[name]
        facts: list[tuple[str, Node]] = [
            ("agent", join_nodes([arm.agent, arm.version, arm.model])),
            ("commit", h.code[arm.commit[:12]] if arm.commit else None),
            ("hash", h.code[arm.sha256[:12]]),
        ]
        loaded = [
            h.li[
                f"{one.path} ", h.code[one.fingerprint.rpartition(":")[2][:12]], f" {one.evidence}, {one.trials} trials"
            ]
            for one in arm.loaded
        ]
        parts += [h.h3[f"{name}: {arm.config}"], render_facts(facts), h.ul(".lines")[loaded] if loaded else None]
    return render_card("The two sides", *parts)


def render_broken(found: Evaluation) -> Element | None:
    """Hard regressions: no gain elsewhere makes up for them."""
    if not found.regressions:
        return None
    lines = [
        h.li[h.b[one.task], f" {one.kind.replace('_', ' ')}: {format_line(one.detail, MOST_TEXT)}"]
        for one in found.regressions
    ]
    return render_card("Hard regressions", h.ul(".lines")[lines], kind="broken")


# --- tasks and repeats --------------------------------------------------------------------------


def render_grid(found: Evaluation, ids: dict[int, str], context: PageContext) -> Element:
    """A row for each task, those on which the sides differ first; a cell for each trial."""
    columns = [
        Column(words="task", kind="main"), *(Column(words=f"{arm} trials", kind="cells") for arm in ARMS),
        Column(words="passed", kind="number"), *(Column(words=arm, kind="number") for arm in ARMS),
        Column(words="difference", kind="number"),
    ]  # fmt: skip
    rows = [list(render_task(found, one, ids)) for one in sort_tasks(found)]
    said = [f"{one[:1].upper()}{one[1:]}." for one in explain_composites(found)]
    if any(is_beyond(value) for one in found.tasks for value in (one.baseline, one.candidate)):
        said.append(BEYOND)
    table = render_table(columns, rows, "Tasks and repeats", context, "grid") if rows else h.p["No task has a result."]
    differ = sum(one.is_discordant for one in found.tasks)
    lead = f"{differ} of {format_count(len(found.tasks), 'task')} passed unequally often; these stand first"
    return render_card("Tasks and repeats", table, h.ul(".lines")[[h.li[one] for one in said]], lead=lead)


def is_beyond(value: float | None) -> bool:
    return value is not None and not 0 <= round(value, 2) <= 1


def render_task(found: Evaluation, one: TaskResult, ids: dict[int, str]) -> Iterator[Node]:
    loses = (one.delta or 0) < 0
    sign = render_chip("bad" if loses else "good", "loses" if loses else "gains") if one.is_discordant else None
    why = h.span(".sub")[format_line(one.left_out, MOST_TEXT)] if one.left_out else None
    yield [one.task, " ", sign, why]
    for arm in ARMS:
        yield render_cells(list_trials(found, one.task, arm), ids)
    yield format_passes(one)
    yield render_composite(one.baseline)
    yield render_composite(one.candidate)
    tone = "bad" if loses else "good" if (one.delta or 0) > 0 else None
    yield h.span(class_=tone)[format_difference(one.delta)]


def render_composite(value: float | None) -> Node:
    """A composite; one beyond 0 or 1 says why it can be."""
    shown = format_number(value)
    if value is None or not is_beyond(value):
        return shown
    return [shown, h.span(".sub")["all passed, at less cost" if value > 1 else "none passed, at more cost"]]


def list_trials(found: Evaluation, task: str, arm: Arm) -> list[TrialLine]:
    """The trials of a task on one side, those of the guard behind the others."""
    there = [one for one in found.run.trials if (one.task, one.arm) == (task, arm)]
    return sorted(there, key=lambda one: (one.stage != "main", one.repeat))


def render_cells(trials: Sequence[TrialLine], ids: dict[int, str]) -> Node:
    """A sign for each trial, which leads to what is known of it."""
    cells = []
    for one in trials:
        tone, word = PASSED[one.is_passed]
        title = f"{one.stage} {one.repeat}: {word}"
        kind = ["cell", tone, "guard" if one.stage == "guard" else ""]
        place = ids.get(id(one))
        cell = h.a(class_=kind, href=f"#{place}", aria_label=title, title=title) if place else h.span(class_=kind)
        cells.append(cell[SIGNS[tone], None if place else h.span(".unseen")[title]])
    return h.span(".cells")[cells] if cells else "–"


# --- what the numbers are made of ---------------------------------------------------------------


def render_parts(found: Evaluation, context: PageContext) -> Element | None:
    """Checks, judge and cost of each difference, the largest first."""
    told = sorted((one for one in found.tasks if one.delta), key=lambda one: -abs(one.delta or 0.0))
    rows = [row for one in told if (row := list_parts(one, is_judged=any(one.is_judged for one in found.tasks)))]
    if not rows:
        return None
    is_judged = any(one.is_judged for one in found.tasks)
    names = ["difference", "checks", *(["checks and judge"] if is_judged else []), "cost adds"]
    columns = [Column(words="task", kind="main"), *(Column(words=one, kind="number") for one in names)]
    lead = "what each difference is made of, the largest first"
    return render_card("Where the differences come from", render_table(columns, rows, lead, context), lead=lead)


def list_parts(one: TaskResult, *, is_judged: bool) -> list[Node] | None:
    """A task's difference as its parts; nothing where they are not known."""
    bases, objectives = (one.baseline_base, one.candidate_base), (one.baseline_objective, one.candidate_objective)
    if one.delta is None or one.left_out or None in (*bases, *objectives):
        return None
    cost = one.delta - ((bases[1] or 0.0) - (bases[0] or 0.0))
    return [
        one.task,
        format_difference(one.delta),
        f"{format_number(objectives[0])} → {format_number(objectives[1])}",
        *([f"{format_number(bases[0])} → {format_number(bases[1])}" if one.is_judged else "no judge"] * is_judged),
        format_difference(cost),
    ]


# --- trials -------------------------------------------------------------------------------------


def pick_trials(found: Evaluation) -> list[TrialLine]:
    """The trials that are told one by one, those of tasks on which the sides differ first."""
    places = {one.task: n for n, one in enumerate(sort_tasks(found))}
    return sorted(found.run.trials, key=lambda one: places.get(one.task, len(places)))[:MOST_DETAILED]


def render_trials(shown: EvaluationPlace, ids: dict[int, str]) -> Element | None:
    """Every trial: its checks, its cost, its files; the first task on which the sides differ is open."""
    trials = pick_trials(shown.found)
    if not trials:
        return None
    differ = {one.task for one in shown.found.tasks if one.is_discordant}
    parts: list[Node] = []
    for task, group in groupby(trials, key=lambda one: one.task):
        some = list(group)
        told = [render_trial(one, shown, ids[id(one)]) for one in some]
        parts.append(h.details(open=task in differ and not parts)[h.summary[f"{task} ({len(some)})"], told])
    left = len(shown.found.run.trials) - len(trials)
    more = f"{left:,} more trials; `assay eval compare --json` has them all" if left else ""
    return render_card("Trials", parts, lead=say(more) if more else None)


def render_trial(one: TrialLine, shown: EvaluationPlace, place: str) -> Element:
    tone, word = PASSED[one.is_passed]
    name = f"{one.arm}, {'fresh trial' if one.stage == 'guard' else 'repeat'} {one.repeat}"
    judged = (
        h.p[f"rubric {format_number(one.judge01)}: {format_line(one.rationale, MOST_TEXT)}"]
        if one.judge01 is not None
        else None
    )
    return h.article(".trial", id=place, tabindex="-1")[
        h.header[h.h3[name], render_chip(tone, word), h.span(".quiet")[" · ".join(list_costs(one))]],
        h.ul(".checks")[[render_check(check) for check in one.checks]] if one.checks else h.p[one.why or one.state],
        judged,
        h.p(".files")[join_nodes([link_file(file, one, shown.root) for file in (*one.transcripts, *one.files)])],
    ]


def render_check(one: CheckResult) -> Element:
    tone, word = PASSED[one.passed]
    return h.li[
        h.span(class_=tone)[SIGNS[tone], h.span(".unseen")[f" {word}: "]],
        f" {one.name} ",
        h.span(".quiet")[format_line(one.detail, MOST_DETAIL)],
    ]


def link_file(path: str, one: TrialLine, root: str | None) -> Node:
    """A file of a trial: a link where the page lies beside it."""
    name = path.removeprefix(f"{one.folder}/")
    return h.code[name] if root is None else h.a(href=f"{root}/{quote(path)}")[name]


def list_costs(one: TrialLine) -> list[str]:
    """What a trial took, as far as it is known."""
    cost = one.cost
    said = [
        f"{value:,} {name}"
        for name, value in (("tokens", cost.tokens), ("calls", cost.tool_calls), ("steps", cost.steps))
        if value is not None
    ]
    said += [format_duration(cost.wall_s)] if cost.wall_s is not None else []
    said += ["unpriced" if cost.usd is None else f"USD {cost.usd:.2f}"]
    return [*said, *([format_count(one.attempts, "attempt")] if one.attempts > 1 else [])]
