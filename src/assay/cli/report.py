"""`assay report`: the score of some days or a project as a file to look at, hand on or mail."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from assay.cli.answer import ReportAnswer, answer_request
from assay.cli.options import (
    AsJson,
    AsOf,
    Commit,
    Jobs,
    Judge,
    Paths,
    Project,
    Repo,
    Since,
    StorePath,
    Timezone,
    Until,
    options,
    read_overrides,
)
from assay.cli.output import (
    FORMATS,
    Output,
    check_targets,
    let_pipe_close,
    print_json,
    print_note,
    print_written,
    render_markdown,
    write_report,
    write_target,
)
from assay.cli.settings import load_last_config
from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.sides import compare_words
from assay.reports.digest import render_digest
from assay.reports.format import sanitize_text
from assay.scores.comparison import ScoreComparison
from assay.scores.report import Report

EXAMPLE = (
    "Example: `assay report -o report.html`, `assay report --project . --since 30d --compare last-month this-month "
    "-o report.md`, `assay report --digest` (the last seven days in a message)"
)
DIGEST_DAYS = 7
TEXT = (".txt", ".md")

Compare = Annotated[
    tuple[str, str] | None,
    typer.Option("--compare", metavar="A B", help="Also two sides beside each other, as `assay compare` names them."),
]
Digest = Annotated[
    bool,
    typer.Option("--digest", help="A few lines for a mail or a chat: the last 7 days beside the 7 before them."),
]


class ReportCommandRequest(Struct, frozen=True, kw_only=True):
    """What `assay report` takes."""

    paths: Paths = None
    since: Since = None
    until: Until = None
    project: Project = None
    compare: Compare = None
    digest: Digest = False
    judge: Judge = None
    commit: Commit = None
    timezone: Timezone = None
    repo: Repo = None
    as_of: AsOf = None
    as_json: AsJson = False
    output: Output = None
    store: StorePath = None
    jobs: Jobs = 0


@options(ReportCommandRequest)
def command(request: ReportCommandRequest) -> None:
    """Write a report to look at or hand on: a page, Markdown, JSON, CSV, or a digest for a mail."""
    targets = check_targets(request.output, TEXT if request.digest else FORMATS)
    config = load_last_config(**read_overrides(request))
    now = pick_report_time(config).astimezone(pick_zone(config))
    if request.digest:
        request = complete_digest(request, now)
    comparison = compare_sides(request, config, now) if request.compare else None
    with answer_request(request, config) as answer:
        found = replace(answer, report=replace(answer.report, comparison=comparison))
        if request.digest:
            give_digest(found, targets, name_period(request, now))
        else:
            give_report(found, targets, as_json=request.as_json)


def complete_digest(request: ReportCommandRequest, now: datetime) -> ReportCommandRequest:
    """A digest is about the last seven days beside those before, unless something else was asked for."""
    if request.as_json:
        raise BadInput("--digest --json: a digest is text; `assay report --since 7d --json` has all of it as JSON")
    if request.since or request.until:
        return request
    first = (now - timedelta(days=DIGEST_DAYS - 1)).date().isoformat()
    beside = request.compare or (f"{2 * DIGEST_DAYS}d..{DIGEST_DAYS}d", f"{DIGEST_DAYS}d")
    return replace(request, since=first, compare=beside)


def compare_sides(request: ReportCommandRequest, config: Config, now: datetime) -> ScoreComparison | None:
    """The two sides of `--compare`, of all sessions whenever they began; `None` for a digest of too little."""
    first, second = request.compare or ("", "")
    with answer_request(replace(request, since=None, until=None), config) as answer:
        sessions = list(answer.report.sessions)
    try:
        return compare_words(first, second, sessions, now)
    except BadInput:
        if request.digest:
            return None
        raise


def give_report(answer: ReportAnswer, targets: Sequence[Path], *, as_json: bool) -> None:
    """Write a report to the files that were asked for, or print it."""
    for target in targets:
        write_report(answer.report, answer.zone, target)
        print_written(target)
    if as_json:
        print_json(answer.report)
    elif not targets:
        let_pipe_close()
        print(render_markdown(answer.report, answer.zone).decode(), end="")
    if answer.note:
        print_note(answer.note)


def give_digest(answer: ReportAnswer, targets: Sequence[Path], period: str) -> None:
    """Write a digest to the files that were asked for, or print it."""
    text = sanitize_text(render_digest(answer.report, period, find_titles(answer.report)))
    for target in targets:
        write_target(text.encode(), target)
        print_written(target)
    if not targets:
        let_pipe_close()
        print(text, end="")
    if answer.note:
        print_note(answer.note)


def name_period(request: ReportCommandRequest, now: datetime) -> str:
    """What a digest is about, in words."""
    if request.since and request.until:
        return f"Sessions from {request.since} to {request.until}"
    return f"Sessions until {request.until}" if request.until else f"Sessions from {request.since} to {now.date()}"


def find_titles(report: Report) -> dict[str, str]:
    """The titles of the sessions that a digest may name."""
    wanted = {name for one in report.obstacles for name in one.sessions}
    return {one.id: one.title for one in report.sessions if one.id in wanted} if wanted else {}
