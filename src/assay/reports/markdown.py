"""The report as Markdown, to keep or to hand on; what transcripts say is escaped."""

import re
from collections.abc import Iterable, Sequence
from datetime import tzinfo

from assay.reports import gist, later
from assay.reports.listing import id_length
from assay.reports.safe import safe
from assay.reports.terminal import moment
from assay.reports.words import MARKS, UNKNOWN, places, plainly, why
from assay.scores.breakdown import Slice
from assay.scores.reasons import advise_session
from assay.scores.report import Report
from assay.types import Session

SPECIAL = re.compile(r"([\\`*_\[\]|~$]|^[#+=-]|:(?=//)|(?<=www)\.)")
"""Signs that Markdown gives a meaning, and what makes an address a link."""
HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def report(found: Report, zone: tzinfo) -> bytes:
    """The whole report."""
    length = id_length(found.sessions)
    sliced = [
        part for by, some in found.slices.items() if len(some) > 1 for part in section(f"By {by}", by_slice(some, by))
    ]
    parts = [
        "# PRISM Score",
        headline(found),
        *section("Where sessions drop out", waterfall(found)),
        *section("Beside the score", [f"- {escaped(line)}" for line in gist.measures(found.measures)]),
        *section("Over time", [f"- {escaped(said + how)}" for said, how, _ in gist.windows(found.windows)]),
        *section("Lost their crush since the last report", lost(found, length)),
        *section("How long lines stay", curve(found)),
        *sliced,
        *section("What held sessions back", held_back(found, length)),
        *section("Sessions", sessions(found.sessions, zone, length)),
        *section("Notes", [f"- {line}" for line in gist.notes(found)]),
    ]
    return ("\n\n".join(parts) + "\n").encode("utf-8")


def escaped(text: str) -> str:
    """Hostile text as Markdown shows it: one line, no markup, no HTML, no links."""
    return SPECIAL.sub(r"\\\1", " ".join(safe(text).split())).translate(HTML)


def section(title: str, lines: Iterable[str]) -> list[str]:
    """A heading and what stands under it; nothing where there is nothing."""
    body = "\n".join(lines)
    return [f"## {title}", body] if body else []


def rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """A table; its cells are escaped already."""
    made = [f"| {' | '.join(cells)} |" for cells in body]
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *made] if made else []


def headline(found: Report) -> str:
    score, who = found.score, f"J{escaped(gist.judged_by(found)).removeprefix('j')}"
    if score.value is None:
        return f"**No score**, nothing counts: {escaped(gist.nothing(found))}. {who}."
    return f"**{gist.number(found)}**, 95 % interval {gist.interval(score)}: {gist.tally(score)}. {who}."


def waterfall(found: Report) -> list[str]:
    return rows(["", "left", "lost"], [[name, str(left), escaped(lost)] for name, left, lost in gist.steps(found)])


def lost(found: Report, length: int) -> list[str]:
    """Sessions whose lines were replaced since."""
    return [f"- {escaped(name)}: {escaped(what)}" for name, what in later.losses(found.lost, length)]


def curve(found: Report) -> list[str]:
    """The survival curve."""
    body = [[days, share, lines] for days, _, share, lines in later.curve(found.survival)]
    return rows(["after", "still there", "followed so long"], body)


def by_slice(found: Sequence[Slice], by: str) -> list[str]:
    names = gist.slice_names(found, by)
    body = [[escaped(names[one.name]), gist.rate(one.score), gist.interval(one.score)] for one in found]
    return rows([by, "score", "95 % interval"], body)


def held_back(found: Report, length: int) -> list[str]:
    """Reasons, where they were met, and what helps."""
    lines = []
    for one in found.obstacles:
        ids = ", ".join(escaped(session[:length]) for session in one.sessions)
        lines.append(f"- {len(one.sessions)} × {escaped(one.reason)} ({ids}). {escaped(one.advice)}")
    return lines


def sessions(found: Sequence[Session], zone: tzinfo, length: int) -> list[str]:
    head = ["began", "session", "project", "intent", "turns", "grade", "crushed", "what it was about", "what helps"]
    named = places(one.project for one in found)
    body = [
        [
            escaped(moment(one.started_at, zone)),
            escaped(one.id[:length]),
            escaped(named[one.project]),
            plainly(one.intent) if one.intent else UNKNOWN,
            str(one.facts.get("turns", UNKNOWN)),
            escaped(one.grade or UNKNOWN),
            f"{MARKS[one.crushed][0]} {escaped(why(one))}",
            escaped(one.title),
            escaped(advise_session(one) or ""),
        ]
        for one in found
    ]
    return rows(head, body)
