"""What became of sessions' lines, in words: they were later replaced, which is not to say that they were wrong."""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import tzinfo
from typing import Any

from assay.reports.format import format_count, format_line, format_list, format_name, format_percent, format_time
from assay.scores.prism import Score
from assay.scores.survival import LostSession, Survival

ID, SHORT_COMMIT = 12, 10
MOST_REASONS = 3
NO_REASON = "nobody can tell"


def describe_rework(facts: dict[str, Any]) -> str:
    """What is known of later changes to its lines, on one line."""
    found = facts.get("rework") or {"state": "unknown"}
    detail = format_line(found.get("detail") or "", 120)
    if found["state"] == "yes":
        return f"later replaced{format_author(found)}{format_gone(found)}"
    return {
        "no": f"still there{format_gone(found)}",
        "open": f"too young to tell whether it stays{format_gone(found)}",
        "unknown": f"unknown whether it stayed{f': {detail}' if detail else ''}",
        "not_judged": "too few lines to follow",
    }.get(found["state"], format_name(found["state"]))


def explain_rework(facts: dict[str, Any], zone: tzinfo) -> list[str]:
    """Whose work replaced its lines, how many, and where to look; nothing for a session of which that is not known."""
    found = facts.get("rework") or {}
    if found.get("state") != "yes":
        return []
    said = [f"later replaced{format_author(found)}{format_gone(found)}"]
    if commit := format_line(found.get("commit") or "", 40):
        at = f" of {format_time(found['at'], zone)}" if found.get("at") else ""
        said.append(f"commit {commit[:SHORT_COMMIT]}{at}: `git show {commit[:SHORT_COMMIT]}` shows what replaced them")
    if session := format_line(found.get("session") or "", ID):
        said.append(f"`assay show {session}` shows the session that did it")
    if detail := format_line(found.get("detail") or "", 200):
        said.append(detail)
    return said


def format_author(found: dict[str, Any]) -> str:
    return f" by {format_line(found['by'], 60)}" if found.get("by") else ""


def format_gone(found: dict[str, Any]) -> str:
    """How many of its lines are gone."""
    if found.get("share") is None:
        return ""
    known = found.get("lines") is not None and found.get("gone") is not None
    counts = f" ({found['gone']:,} of {found['lines']:,})" if known else ""
    return f", {format_percent(100 * found['share'])} % of its lines{counts} gone"


def describe_losses(found: Iterable[LostSession]) -> list[tuple[str, str]]:
    """Sessions that lost their crush since the last report: id and title, and what happened."""
    return [
        (
            f"{format_line(one.id, ID)}  {format_line(one.title, 60) or '(nobody said anything)'}",
            f"later replaced{format_author({'by': one.by})}{format_gone({'share': one.share})}",
        )
        for one in found
    ]


def describe_curve(found: Survival | None) -> list[tuple[str, float, str, str]]:
    """The days of the survival curve: how long, the share that is still there, the same in words, of how many lines."""
    points = found.points if found else []
    return [
        (
            format_count(one.days, "day"),
            one.alive,
            f"{format_percent(100 * one.alive)} %",
            format_count(one.lines, "line"),
        )
        for one in points
        if one.alive is not None
    ]


def list_rework_notes(score: Score, unknown: Mapping[str, int]) -> list[str]:
    """For how many crushed sessions nobody knows whether their lines stay, and why."""
    said = []
    crushed = format_count(score.crushed, "crushed session")
    if score.rework_unknown:
        whys: Counter[str] = Counter()
        for why, n in unknown.items():
            whys[format_line(why or NO_REASON, 60)] += n
        ordered = sorted(whys.items(), key=lambda pair: (-pair[1], pair[0]))
        told = (
            f" ({format_list([f'{n} {why}' for why, n in ordered], MOST_REASONS)})" if set(whys) - {NO_REASON} else ""
        )
        said.append(f"whether the code was later replaced is unknown for {score.rework_unknown} of {crushed}{told}")
    if score.rework_open:
        said.append(f"{score.rework_open} of {crushed} may still be replaced: too young to tell")
    return said
