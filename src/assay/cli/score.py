"""`assay score`: do the sessions land? One number with its interval, and why."""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Annotated

import typer
from msgspec import Struct

from assay.cli.answer import ReportAnswer, answer_request
from assay.cli.consent import check_complete, read_consent
from assay.cli.keeping import describe_terms, keep_printed
from assay.cli.options import (
    Again,
    AsJson,
    AsOf,
    Batch,
    Commit,
    Engine,
    Fallback,
    Jobs,
    Judge,
    MaxCost,
    ModelName,
    ModelUrl,
    Paths,
    Project,
    Repo,
    Since,
    StorePath,
    Timezone,
    Until,
    Votes,
    Yes,
    check_word,
    options,
    read_overrides,
)
from assay.cli.output import Output, check_targets, let_pipe_close, print_json, print_note, print_written, write_report
from assay.cli.settings import load_config
from assay.scores.breakdown import WAYS

EXAMPLE = "Example: `assay score --since 30d --by project -o score.md`"

By = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="SLICE", help=f"Also by {', '.join(WAYS[:-1])} or {WAYS[-1]}; any number."),
]


class ScoreRequest(Struct, frozen=True, kw_only=True):
    """What `assay score` takes."""

    paths: Paths = None
    since: Since = None
    until: Until = None
    project: Project = None
    by: By = None
    judge: Judge = None
    fallback: Fallback = None
    commit: Commit = None
    timezone: Timezone = None
    repo: Repo = None
    as_of: AsOf = None
    model: ModelName = None
    model_url: ModelUrl = None
    votes: Votes = None
    max_cost: MaxCost = None
    batch: Batch = False
    again: Again = False
    yes: Yes = False
    as_json: AsJson = False
    output: Output = None
    store: StorePath = None
    jobs: Jobs = 0
    engine: Engine = None


@options(ScoreRequest)
def command(request: ScoreRequest) -> None:
    """Score your sessions: how many landed, why the others did not, and what to do about it."""
    for by in request.by or ():
        check_word(by, WAYS, "--by")
    targets = check_targets(request.output)
    config = load_config(**read_overrides(request))
    with answer_request(request, config, read_consent(request), remembers=True) as answer:
        for target in targets:
            write_report(answer.report, answer.zone, target)
            print_written(target)
        load = partial(load_config, **read_overrides(request))
        with keep_printed(None if targets else describe_terms(answer, config, load)):
            print_report(answer, request.by or (), as_json=request.as_json)
    if answer.report.judge.spending:
        check_complete(answer.report.judge.fallback, config)


def print_report(answer: ReportAnswer, ways: Sequence[str] = (), *, as_json: bool) -> None:
    """Print a report; what is to be said of an empty selection goes to stderr."""
    if as_json:
        print_json(answer.report)
    else:
        let_pipe_close()
        console = import_module("assay.cli.terminal").Console()  # JSON needs nothing that draws
        render_score = import_module("assay.reports.score").render_score
        console.print(render_score(answer.report, answer.zone, console.width, ways))
    if answer.note:
        print_note(answer.note)
