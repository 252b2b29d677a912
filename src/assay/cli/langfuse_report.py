"""What `assay langfuse` says: what became of configs, sessions and scores, for people and for machines."""

import sys
from collections import Counter
from pathlib import Path
from typing import TypeVar

import typer
from msgspec import Struct

from assay.cli.output import let_pipe_close, print_json
from assay.cli.settings import load_settings
from assay.langfuse import PulledSession, PullReport, PushedSession, PushReport, SetupReport, build_delivery_view
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.privacy import build_rules, redact_struct
from assay.reports.format import format_count, format_line
from assay.types import Document

INCOMPLETE = 2
NAME = 120
T = TypeVar("T", bound=Struct)


def redact_answer(found: T) -> T:
    """An answer as it may be told: names and errors are the server's, and may hold anything."""
    config = load_settings()
    return redact_struct(found, build_rules(config, pick_report_time(config)))


def print_answer(as_json: bool, found: Document, lines: list[str]) -> None:
    """Print an answer, for machines or for people."""
    if as_json:
        print_json(found)
    else:
        let_pipe_close()
        sys.stdout.write("".join(f"{line}\n" for line in lines))


def describe_setup(found: SetupReport) -> list[str]:
    """What became of each config."""
    return [
        *(f"{name}: there" for name in found.found),
        *(f"{name}: created" for name in found.created),
        *(f"{name}: would be created" for name in found.missing),
        *(f"{one.name}: left alone, {format_line(one.why, 300)}" for one in found.mismatched),
    ]


def describe_pull(found: PullReport, folder: Path) -> list[str]:
    """What became of each session."""
    return [
        *(describe_pulled_session(one) for one in found.pulled),
        *(f"{format_line(name, NAME)}: nothing there (yet)" for name in found.empty),
        *(f"{format_line(name, NAME)}: {format_line(why, 300)}" for name, why in found.failed),
        f"{format_count(len(found.pulled), 'session')} in {format_line(str(folder), 300)}",
    ]


def describe_pulled_session(one: PulledSession) -> str:
    is_silent = "" if one.has_text else ", without any text"
    how = "" if one.is_changed else ", as before"
    size = f"{format_count(one.traces, 'trace')}, {format_count(one.observations, 'observation')}"
    return f"{format_line(one.session, NAME)}: {size}{how}{is_silent}"


# --- what became of it --------------------------------------------------------------------------


def print_delivery(done: PushReport | None, found: PullReport, as_json: bool) -> None:
    """Print what became of all, and leave with code 2 where anything is missing."""
    done, found = redact_answer(done) if done else None, redact_answer(found)
    lines = [
        *(f"{format_line(name, NAME)}: nothing there (yet)" for name in found.empty),
        *(f"{format_line(name, NAME)}: {format_line(why, 300)}" for name, why in found.failed),
        *(describe_delivery(done) if done else ()),
    ]
    print_answer(as_json, build_delivery_view(done, found), lines or ["no session is like that; nothing to write"])
    if (done and not done.is_complete) or found.empty or found.failed:
        raise typer.Exit(INCOMPLETE)


def describe_delivery(done: PushReport) -> list[str]:
    """A line for each session, each score that is missing, and the sum."""
    became = dict.fromkeys(done.written.stored, "stored") | dict.fromkeys(done.written.unchanged, "there already")
    became |= dict.fromkeys(done.written.would_write, "would be written")
    became |= {one.id: "not stored" for one in done.written.not_stored}
    left = Counter(format_line(f"{one.session}: {one.why}", NAME + 300) for one in done.left_out)
    return [
        *(f"{name}: score config created" for name in done.configs_created),
        *(describe_sent(one, Counter(became[score.id] for score in one.scores)) for one in done.sessions),
        *(f"{line} ({n} goals)" if n > 1 else line for line, n in left.items()),
        *(
            f"{format_line(one.session, NAME)}: {one.name} not stored: {format_line(one.why, 300)}"
            for one in done.written.not_stored
        ),
        *(f"{one.id}: not taken out: {format_line(one.why, 300)}" for one in done.withdrawal.not_withdrawn),
        ", ".join(f"{n:,} {what}" for what, n in count_all(done, became).items()) or "nothing to write",
    ]


def count_all(done: PushReport, became: dict[str, str]) -> Counter[str]:
    """How many scores came to what."""
    found = Counter(became.values())
    told = {
        "taken out, for nothing stands behind them": done.withdrawal.withdrawn,
        "would be taken out": done.withdrawal.would_withdraw,
        "could not be taken out": done.withdrawal.not_withdrawn,
    }
    found.update({what: len(some) for what, some in told.items() if some})
    return found


def describe_sent(one: PushedSession, became: Counter[str]) -> str:
    """A session, and what became of its scores."""
    part = f", goal {one.part}" if one.part else ""
    overall = "" if one.overall_quality is None else f", overall quality {one.overall_quality:.2f}"
    ungraded = f"; ungraded: {', '.join(one.ungraded)}" if one.ungraded else ""
    sums = ", ".join(f"{n} {what}" for what, n in became.items())
    return f"{format_line(one.session, NAME)}{part}: {sums}{overall}{ungraded}"
