"""The report in a few lines: what fits a mail or a message in a chat."""

from collections.abc import Mapping

from assay.reports.comparison import describe_difference
from assay.reports.format import format_count, format_dollars, format_line, format_percent, format_words
from assay.reports.summary import describe_better, describe_ground, explain_no_score, format_interval, format_score
from assay.scores.comparison import ScoreComparison
from assay.scores.report import Report

MOST_REASONS, MOST_NAMED = 3, 2
TITLE_WIDTH = 60


def render_digest(found: Report, period: str, titles: Mapping[str, str]) -> str:
    """A report in plain text, at most some twenty lines; `titles` are those of sessions by id."""
    lines = [f"{period}: {describe_score(found)}"]
    if found.comparison:
        lines.append(f"Against {found.comparison.sides[0].name}: {describe_move(found.comparison)}")
    if found.waterfall.sessions:
        lines.append(describe_amount(found))
    if found.obstacles:
        lines += ["", "What held sessions back:"]
    for one in found.obstacles[:MOST_REASONS]:
        named = [describe_session(name, titles) for name in one.sessions[:MOST_NAMED]]
        more = len(one.sessions) - len(named)
        ending = f", and {more} more" if more else ""
        lines.append(f"- {len(one.sessions)} × {one.reason}: {', '.join(named)}{ending}")
    if found.obstacles:
        lines.append(f"Try: {found.obstacles[0].advice}")
    if better := describe_better(found):
        lines += ["", f"{better[:1].upper()}{better[1:]}."]
    judge = "the offline judge" if found.judge.model is None else format_line(found.judge.model, 60)
    return "\n".join([*lines, f"Judged by {judge}.", ""])


def describe_score(found: Report) -> str:
    """The score and how sure it is."""
    score = found.score
    if score.value is None and score.corrected is None:
        return f"no score, nothing counts: {explain_no_score(found)}."
    known = score.corrected or score.predicted
    ends = known or score
    how = "corrected by your audit" if score.corrected else "by how far this judge was off elsewhere" if known else ""
    sure = f"the truth lies between {format_interval(ends).replace('–', ' and ')}" + (f", {how}" if how else "")
    return f"PRISM Score {format_score(found)}, {describe_ground(found)}; {sure}."


def describe_move(found: ScoreComparison) -> str:
    """Whether the later days differ from those before."""
    before = found.sides[0].score
    then = "nothing counted" if before.value is None else f"{format_percent(before.value)} then"
    said = "; ".join(line for line, _ in describe_difference(found))
    return f"{then}, {said}." if before.value is not None else f"{then}: no difference to speak of."


def describe_amount(found: Report) -> str:
    """How much was worked, and what that cost."""
    parts = [format_count(found.waterfall.sessions, "session")]
    parts.append(f"in {format_count(len(found.slices.get('project', [])), 'project')}")
    each = found.measures.usd_per_crushed
    parts += [f"· {format_dollars(each)} a crushed session"] if each is not None else []
    return " ".join(parts) + "."


def describe_session(id: str, titles: Mapping[str, str]) -> str:
    title = titles.get(id, "")
    return f"{id} “{format_words(title, TITLE_WIDTH)}”" if title else id
