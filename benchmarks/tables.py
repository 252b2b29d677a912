"""Figures to tables: a count beside every figure, a dash where there is none."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from benchmarks.agreement import Band, Verdicts
from benchmarks.findings import Boundaries, Findings, Goals, Intents, Signal, Slice
from benchmarks.left_out import LeftOut

DASH = "–"
OUTSIDE = {True: "", False: "outside"}
VERDICTS = "n true false accuracy balanced AUC Brier F1-false recall-false precision-false".split()


def tables(found: Findings) -> Iterator[RenderableType]:
    """Everything, in the order in which a transcript is understood."""
    if found.left_out:
        yield from left_out(found.left_out)
    yield from boundaries(found.boundaries)
    yield from intents(found.intents)
    yield from goals("Goal complete", found.goals)
    yield reliability(found.goals.reliability)
    yield from goals("Goal complete, goals that end properly only", found.ended_properly)
    yield signals(found.signals)
    yield from slices(found.slices)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """The first column holds names, all others numbers."""
    made = Table(
        title=f"\n{title}", title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="bold"
    )
    for at, name in enumerate(head):
        made.add_column(Text(name), justify="right" if at else "left")
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def shown(value: float | None) -> str:
    return DASH if value is None else f"{value:.3f}"


def left_out(found: LeftOut) -> Iterator[RenderableType]:
    """The figures that count: on repositories that nothing was fitted to."""
    head = "method n false unclear balanced 95% AUC 95% Brier surest-2/3".split()
    rows = [
        [
            row.method,
            *map(str, (row.n, row.false, row.unclear)),
            shown(row.balanced_accuracy),
            between(row.balanced_interval),
            shown(row.auc),
            between(row.auc_interval),
            *map(shown, (row.brier, row.surest)),
        ]
        for row in found.methods
    ]
    yield table(f"Goal complete, one of {found.repositories} repositories left out at a time", head, rows)
    yield Text(f"Brier of the share of completed goals said of every goal: {shown(found.base_brier)}", "dim")
    rows = [[name, shown(value), between(range_)] for name, (value, range_) in found.boundary_f1.items()]
    rows.append(["read, plan or change", shown(found.coarse_intent), between(found.coarse_interval)])
    yield table("Boundary F1 and coarse intent, intervals over repositories", ["", "value", "95%"], rows)
    held = sum(one.is_held for one in found.coverage)
    rows = [
        [one.repository, str(one.goals), f"{one.share:.0f}", f"{one.low:.0f}–{one.high:.0f}", OUTSIDE[one.is_held]]
        for one in found.coverage
    ]
    width = sum(one.high - one.low for one in found.coverage) / max(1, len(found.coverage))
    title = f"Printed interval without an audit: holds {held} of {len(found.coverage)}, mean width {width:.0f}"
    yield table(title, ["repository", "goals", "true share", "interval", ""], rows)
    fitted = found.spread
    yield Text(
        f"Fitted on all: start {fitted.start:.2f}, slope {fitted.slope:.2f}, between {fitted.between:.2f} "
        f"({fitted.goals} goals of {fitted.repositories} repositories)",
        "dim",
    )


def between(range_: tuple[float, float] | None) -> str:
    return f"{range_[0]:.2f}–{range_[1]:.2f}" if range_ else DASH


def boundaries(found: Boundaries) -> Iterator[RenderableType]:
    rate = DASH if not found.gaps else f"{found.boundaries / found.gaps:.1%}"
    head = "method tp fp fn precision recall F1 95% Pk WindowDiff".split()
    rows = [
        [
            row.method,
            *map(str, (row.tp, row.fp, row.fn)),
            *map(shown, (row.precision, row.recall, row.f1)),
            between(row.f1_interval),
            *map(shown, (row.pk, row.windowdiff)),
        ]
        for row in found.methods
    ]
    yield table("Boundaries", head, rows)
    recall = shown(found.prompts_found / found.prompts if found.prompts else None)
    yield Text(
        f"{found.streams} streams, {found.prompts} prompts ({found.prompts_found} in a session, recall {recall}), "
        f"{found.gaps} gaps, {found.boundaries} boundaries ({rate}), {found.maybe} more that only one reader saw: "
        "they count neither way.\n"
        "Pk, WindowDiff: windows of all streams pooled; a stream's window is half the mean length of its labelled "
        "goals, in gaps, rounded down, at least 1. Interval: 1,000 bootstrap samples of streams.",
        "dim",
    )
    for method, why in found.left_out.items():
        yield Text(f"{method}: left out, {why}", "yellow")


def intents(found: Intents) -> Iterator[RenderableType]:
    head = ["method", "n", "accuracy", "kappa", "macro-F1"]
    rows = [
        [row.method, str(row.n), shown(row.accuracy), shown(row.kappa), shown(row.macro_f1)] for row in found.methods
    ]
    yield table("Intent", head, rows)
    yield Text(
        f"{found.without_session} goals are in no session and not in n. A label that is a list accepts any member. "
        "macro-F1: over classes that have a label.",
        "dim",
    )
    said = list(next(iter(found.confusion.values()), {}))
    lines = [
        [label, str(found.recall[label][0]), shown(found.recall[label][1]), *(str(row[name] or "·") for name in said)]
        for label, row in found.confusion.items()
    ]
    yield table("Intent: labels (rows) and what was said (columns)", ["label", "n", "recall", *said], lines)


def verdict_cells(row: Verdicts) -> list[str]:
    figures = (row.accuracy, row.balanced_accuracy, row.auc, row.brier, row.f1_false)
    return [
        *map(str, (row.n, row.true, row.false)),
        *map(shown, (*figures, row.recall_false, row.precision_false)),
    ]


def goals(title: str, found: Goals) -> Iterator[RenderableType]:
    yield table(title, ["method", *VERDICTS], [[name, *verdict_cells(row)] for name, row in found.methods.items()])
    share = shown(found.graded / found.labelled if found.labelled else None)
    yield Text(
        f"{found.labelled} labelled goals: {found.graded} graded (coverage {share}), {found.ungraded} ungraded, "
        f"{found.without_session} in no session. Every row is scored on the graded ones.",
        "dim",
    )


def reliability(bands: Sequence[Band]) -> Table:
    rows = [[f"{one.low:.1f}–{one.high:.1f}", str(one.n), shown(one.mean_p), shown(one.share_true)] for one in bands]
    return table("Reliability of the confidence", ["p", "n", "mean p", "share true"], rows)


def signals(found: Sequence[Signal]) -> Table:
    head = ["signal", "n", "labelled", "fired", "hits", "precision", "recall"]
    rows = [
        [row.kind, *map(str, (row.n, row.labelled, row.fired, row.hits)), shown(row.precision), shown(row.recall)]
        for row in found
    ]
    return table("Failure signals (any: against goals not complete)", head, rows)


def slices(found: Sequence[Slice]) -> Iterator[RenderableType]:
    head = ["", "n", "intent accuracy", "n graded", "true", "false", "accuracy", "balanced", "AUC"]
    rows = [
        [
            f"{row.by}: {row.name}",
            str(row.intent_n),
            shown(row.intent_accuracy),
            *map(str, (row.goals.n, row.goals.true, row.goals.false)),
            *map(shown, (row.goals.accuracy, row.goals.balanced_accuracy, row.goals.auc)),
        ]
        for row in found
    ]
    yield table("By agent, and by script of the goal's first prompt", head, rows)
    if not any(row.by == "script" for row in found):
        yield Text("script: left out, needs the transcripts", "yellow")
