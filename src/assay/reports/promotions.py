"""What became of promoted configurations, in the terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from assay.reports.comparison import format_points, render_comparison
from assay.reports.format import format_count, format_line, format_project
from assay.reports.score import TITLE
from assay.scores.difference import FEWEST_COUNTED
from assay.scores.promotion import WORTHWHILE, PromotionOutcome, PromotionReview, PromotionVerdict

LONGEST_NAME = 60
SAYS: dict[PromotionVerdict, tuple[str, str]] = {
    "not_merged": ("not merged: the default branch has never had its files, as far as was fetched here", "yellow"),
    "too_early": (f"too early: fewer than {FEWEST_COUNTED} sessions count since", "yellow"),
    "nothing_before": (f"nothing to compare with: fewer than {FEWEST_COUNTED} sessions count before", "yellow"),
    "not_comparable": ("not comparable: sessions before and since were judged in different ways", "yellow"),
    "better": ("real sessions land more often since", "green"),
    "worse": ("did not help: real sessions land less often since", "red"),
    "no_better": (f"did not help: a gain of {WORTHWHILE:.0f} points or more is ruled out", "red"),
    "inconclusive": ("inconclusive: it may have helped or not", ""),
}


def render_promotions(found: PromotionReview, width: int) -> Group:
    """The newest promotion in full, the others in a line each, and which did not help."""
    first, *others = found.promotions
    parts: list[RenderableType] = [*render_head(first), Text("")]
    if first.comparison:
        parts += [render_comparison(first.comparison, width), Text("")]
    if others:
        parts.append(Text("Before it", TITLE))
        parts += [line for one in others for line in render_head(one)]
    if found.did_not_help:
        parts.append(describe_failures(found.did_not_help))
    return Group(*parts)


def render_head(one: PromotionOutcome) -> list[Text]:
    """What one promotion is, and what is to be said of it."""
    noted = one.promotion
    gain = "" if noted.gain is None else f" by {noted.gain:.3f}"
    where = f"{format_project(noted.project)}, {' and '.join(noted.agents) or 'all agents'}"
    promoted = f"promoted {noted.at[:10]}" if noted.at else "promoted"
    since = f", in effect since {one.in_effect[:10]}" if one.is_merged and one.in_effect else ""
    proof = f"{noted.verdict}{gain} on {format_count(noted.tasks, 'task')}"
    said, style = SAYS[one.verdict]
    lines = [
        Text.assemble((format_line(noted.name, LONGEST_NAME), TITLE), f"  {where}: {promoted}{since}; proven {proof}"),
        Text(f"  {said}{describe_numbers(one)}", style),
    ]
    return lines + [Text(f"  {line}", "dim") for line in one.says]


def describe_numbers(one: PromotionOutcome) -> str:
    """The difference with its interval and counts, where there is one."""
    if one.comparison is None:
        return ""
    before, since = (f"{side.score.crushed}/{side.score.counted}" for side in one.comparison.sides)
    told = one.comparison.difference
    if told.value is None or told.low is None or told.high is None:
        return f" ({since} since, {before} before)"
    ends = f"{format_points(told.low)} to {format_points(told.high)}"
    return f" ({before} before, {since} since: {format_points(told.value)} points, {ends})"


def describe_failures(names: Sequence[str]) -> Text:
    """Which configurations to look at again."""
    told = ", ".join(format_line(name, LONGEST_NAME) for name in names)
    return Text(f"did not help: {told}; look at it again with `assay eval run`, or take it out", "red")
