"""The report as Markdown, to keep or to hand on; what transcripts say is escaped."""

import re
from collections.abc import Iterable, Sequence
from datetime import tzinfo

from assay.reports.comparison import NO_EXPERIMENT, describe_difference, list_compared
from assay.reports.format import MARKS, UNKNOWN, format_time, sanitize_text, shorten_paths
from assay.reports.rework import describe_curve, describe_losses
from assay.reports.summary import (
    describe_ground,
    describe_judge,
    describe_measures,
    describe_slice,
    describe_tests,
    describe_truth,
    describe_windows,
    explain_no_score,
    explain_outcome,
    format_intent,
    format_interval,
    format_rate,
    format_score,
    list_notes,
    list_steps,
    name_slices,
)
from assay.scores.breakdown import Slice, name_project
from assay.scores.reasons import advise_session
from assay.scores.report import Report
from assay.types import Session

SPECIAL = re.compile(r"([\\`*_\[\]|~$]|^[#+=-]|:(?=//)|(?<=www)\.)")
"""Signs that Markdown gives a meaning, and what makes an address a link."""
COMMAND = re.compile(r"\\`(assay [a-z]+)\\`")
HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def render_markdown(found: Report, zone: tzinfo) -> bytes:
    """The whole report."""
    sliced = [
        part
        for by, some in found.slices.items()
        if len(some) > 1 and by != "day"
        for part in render_heading(f"By {by}", write_slices(some, by))
    ]
    parts = [
        "# PRISM Score",
        write_headline(found),
        *render_heading("Where sessions drop out", write_waterfall(found)),
        *render_heading(
            "Beside the score", [f"- {escape_markdown(line)}" for line in describe_measures(found.measures)]
        ),
        *render_heading(
            "Over time",
            [f"- {escape_markdown(said + how)}" for said, how, _ in describe_windows(found.windows)],
        ),
        *render_heading("Two sides compared", write_comparison(found)),
        *render_heading("Lost their crush since the last report", write_losses(found)),
        *render_heading("How long lines stay", write_curve(found)),
        *sliced,
        *render_heading("What held sessions back", write_obstacles(found)),
        *render_heading("Sessions", write_sessions(found.sessions, zone)),
        *render_heading("Notes", [f"- {line}" for line in list_notes(found)]),
    ]
    return ("\n\n".join(parts) + "\n").encode("utf-8")


def escape_markdown(text: str) -> str:
    """Hostile text as Markdown shows it: one line, no markup, no HTML, no links."""
    return SPECIAL.sub(r"\\\1", " ".join(sanitize_text(text).split())).translate(HTML)


def escape_prose(text: str) -> str:
    """Our own sentence with others' words in it: the commands that it names stay code."""
    return COMMAND.sub(r"`\1`", escape_markdown(text))


def render_heading(title: str, lines: Iterable[str]) -> list[str]:
    """A heading and what stands under it; nothing where there is nothing."""
    body = "\n".join(lines)
    return [f"## {title}", body] if body else []


def render_table(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A table; its cells are escaped already."""
    made = [f"| {' | '.join(cells)} |" for cells in body]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *made] if made else []


def write_headline(found: Report) -> str:
    score, who = found.score, f"J{escape_prose(describe_judge(found)).removeprefix('j')}"
    if score.value is None and score.corrected is None:
        return f"**No score**, nothing counts: {escape_markdown(explain_no_score(found))}. {who}."
    truth = "".join(f" {line[:1].upper()}{line[1:]}." for line in describe_truth(found))
    return f"**{format_score(found)}**: {describe_ground(found)}.{truth} {who}."


def write_waterfall(found: Report) -> list[str]:
    return render_table(
        ["", "left", "lost"],
        [[name, str(left), escape_markdown(lost)] for name, left, lost in list_steps(found)],
    )


def write_comparison(found: Report) -> list[str]:
    """Two groups of sessions beside each other, and whether they differ."""
    if found.comparison is None:
        return []
    head = ["", *(escape_markdown(one.name) for one in found.comparison.sides)]
    body = [[name, *(escape_markdown(cell) for cell in cells)] for name, cells in list_compared(found.comparison)]
    said = [escape_markdown(line) for line, _ in describe_difference(found.comparison)]
    return [*render_table(head, body), "", f"{'; '.join(said)}. {NO_EXPERIMENT[:1].upper()}{NO_EXPERIMENT[1:]}."]


def write_losses(found: Report) -> list[str]:
    """Sessions whose lines were replaced since."""
    return [f"- {escape_markdown(name)}: {escape_markdown(what)}" for name, what in describe_losses(found.lost)]


def write_curve(found: Report) -> list[str]:
    """The survival curve."""
    body = [[days, share, lines] for days, _, share, lines in describe_curve(found.survival)]
    return render_table(["after", "still there", "followed so long"], body)


def write_slices(found: Sequence[Slice], by: str) -> list[str]:
    names = name_slices(found, by)
    body = [
        [escape_markdown(names[one.name]), format_rate(one.score), format_interval(one.score), describe_slice(one)[0]]
        for one in found
    ]
    table = render_table([by, "raw score", "95 % interval of chance alone", "against the rest"], body)
    return [*table, "", f"{describe_tests(found)}."]


def write_obstacles(found: Report) -> list[str]:
    """Reasons, where they were met, and what helps."""
    lines = []
    for one in found.obstacles:
        ids = ", ".join(escape_markdown(session) for session in one.sessions)
        lines.append(f"- {len(one.sessions)} × {escape_markdown(one.reason)} ({ids}). {escape_markdown(one.advice)}")
    return lines


def write_sessions(found: Sequence[Session], zone: tzinfo) -> list[str]:
    head = ["began", "session", "project", "intent", "turns", "grade", "crushed", "what it was about", "what helps"]
    named = shorten_paths(map(name_project, found))
    body = [
        [
            escape_markdown(format_time(one.started_at, zone)),
            escape_markdown(one.id),
            escape_markdown(named[name_project(one)]),
            format_intent(one),
            str(one.facts.get("turns", UNKNOWN)),
            escape_markdown(one.grade or UNKNOWN),
            f"{MARKS[one.crushed][0]} {escape_markdown(explain_outcome(one))}",
            escape_markdown(one.title),
            escape_markdown(advise_session(one) or ""),
        ]
        for one in found
    ]
    return render_table(head, body)
