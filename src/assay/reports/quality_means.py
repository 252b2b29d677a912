"""The quality of many sessions in the terminal: means, what pulls them down, and groups."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from assay.reports.format import UNKNOWN, fit_names, format_count, format_name, shorten_paths
from assay.reports.markdown import escape_markdown, render_table
from assay.reports.quality import BAR, SHORT_BAR, WIDE, render_bar
from assay.reports.summary import name_models
from assay.types.quality import DimensionMean, Qualities, QualityGroup

MOST_GROUPS = 20
LEAST_PULL = 0.005
NUMBERS, LEAST_NAME, MOST_NAME = 60, 12, 36
PERIODS = ("day", "week", "month")
MIXED = "several judges judged these: means of what they say together are not comparable"


def render_means(found: QualityGroup, width: int) -> list[RenderableType]:
    """The mean of each dimension, the weightiest loss first."""
    if found.mean is None:
        return []
    table = Table.grid(padding=(0, 2, 0, 0))
    for justify in ("left", "left", "right", "left", "right", "left"):
        table.add_column(justify=justify, no_wrap=True)
    for one in sorted(found.dimensions, key=lambda one: (-(one.pull or 0), one.name)):
        table.add_row(
            Text(format_name(one.name)),
            render_bar(one.mean, BAR if width >= WIDE else SHORT_BAR),
            Text(UNKNOWN if one.mean is None else f"{one.mean:.2f}", "bold"),
            Text(format_ends(one), "dim"),
            Text(f"of {one.scored}", "dim"),
            Text(describe_pull(one), "yellow" if (one.pull or 0) >= 0.05 else "dim"),
        )
    count = format_count(found.scored, "session")
    head = Text.assemble(
        ("mean quality ", "bold"),
        (f"{found.mean:.2f}", "bold"),
        f" {format_ends(found)} of {count}",
    )
    return [Text(""), head, table, *([Text(MIXED, "yellow")] if len(found.judges) > 1 else [])]


def format_ends(one: QualityGroup | DimensionMean) -> str:
    """The ends of an interval."""
    return "" if one.low is None or one.high is None else f"({one.low:.2f}–{one.high:.2f})"


def describe_pull(one: DimensionMean) -> str:
    """How much a dimension takes from the whole."""
    return f"pulls it down by {one.pull:.2f}" if (one.pull or 0) >= LEAST_PULL else ""


def render_groups(groups: Sequence[QualityGroup], by: str, width: int) -> list[RenderableType]:
    """A row for each group: its mean, and what pulls that down most."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(f"by {by}", no_wrap=True)
    for head, justify in (("quality", "left"), ("", "right"), ("95 %", "left"), ("of", "right")):
        table.add_column(head, justify="right" if justify == "right" else "left", no_wrap=True)
    table.add_column("pulled down by", no_wrap=True)
    shown = groups[-MOST_GROUPS:] if by in PERIODS else groups[:MOST_GROUPS]
    names = name_groups([one.name for one in shown], by)
    fitted = fit_names(names.values(), max(LEAST_NAME, min(MOST_NAME, width - NUMBERS)))
    for one in shown:
        table.add_row(
            Text(fitted[names[one.name]]),
            render_bar(one.mean, SHORT_BAR),
            Text(UNKNOWN if one.mean is None else f"{one.mean:.2f}", "bold"),
            Text(format_ends(one), "dim"),
            Text(str(one.scored)),
            Text(describe_worst(one), "dim"),
        )
    left = len(groups) - len(shown)
    return [table, *([Text(f"and {left} more; --json has them all", "dim")] if left else [])]


def write_means(found: Qualities) -> bytes:
    """The means as Markdown, and those of the groups that were asked for."""
    whole = found.summary
    rows = [
        [format_name(one.name), format_mean(one), f"{one.pull or 0:.2f}", str(one.scored)] for one in whole.dimensions
    ]
    rows.append(["**overall quality**", format_mean(whole), "", str(whole.scored)])
    parts = ["\n## Means\n", *render_table(["dimension", "mean", "pulls it down by", "sessions"], rows)]
    if found.by:
        groups = [
            [escape_markdown(one.name), format_mean(one), describe_worst(one), str(one.scored)] for one in found.groups
        ]
        head = [found.by, "mean quality", "pulled down by", "sessions"]
        parts += [f"\n## By {found.by}\n", *render_table(head, groups)]
    return ("\n".join(parts) + "\n").encode("utf-8")


def format_mean(one: QualityGroup | DimensionMean) -> str:
    """A mean and its interval."""
    return UNKNOWN if one.mean is None else f"{one.mean:.2f} {format_ends(one)}".strip()


def name_groups(names: Sequence[str], by: str) -> dict[str, str]:
    if by == "project":
        return shorten_paths(names)
    return name_models(names) if by == "model" else {name: name for name in names}


def describe_worst(group: QualityGroup) -> str:
    """The dimension that takes most, and how much."""
    worst = max(group.dimensions, key=lambda one: (one.pull or 0, one.name), default=None)
    return f"{format_name(worst.name)} {worst.pull:.2f}" if worst and (worst.pull or 0) >= LEAST_PULL else ""
