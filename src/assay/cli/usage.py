"""`assay usage`: what agents used, added up: cost, tokens and active time."""

from typing import Annotated

import typer
from msgspec import Struct

from assay.cli.answer import build_selection
from assay.cli.options import (
    AsJson,
    Jobs,
    Paths,
    Project,
    Since,
    StorePath,
    Timezone,
    Until,
    check_word,
    options,
    read_overrides,
)
from assay.cli.output import let_pipe_close, print_json, print_note
from assay.cli.progress import ProgressBar, open_transcripts
from assay.cli.settings import load_config
from assay.cli.terminal import Console
from assay.pipeline.usage import list_usage
from assay.reports.usage import render_usage
from assay.scores.usage import WAYS, build_usage

EXAMPLE = (
    "Example: `assay usage --since 7d --by model`: what the last seven days cost, by model. "
    "Each response counts once: copies in resumed and forked transcripts, and the lines that a client writes while a "
    "response is streamed, are one. Cost is by list price. Nothing is judged, and nobody is asked."
)
NOTHING = "nothing was used in what you asked for; without --since, --until and --project there may be more"

By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="WHAT",
        help=f"One table in full: by {', '.join(WAYS[:-1])} or {WAYS[-1]}. Without it, by model, project and day.",
    ),
]


class UsageRequest(Struct, frozen=True, kw_only=True):
    """What `assay usage` takes."""

    paths: Paths = None
    since: Since = None
    until: Until = None
    project: Project = None
    by: By = None
    timezone: Timezone = None
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


@options(UsageRequest)
def command(request: UsageRequest) -> None:
    """Add up what agents used: cost, tokens and active time, by day, week, month, project, model or agent."""
    check_word(request.by, WAYS, "--by")
    config = load_config(**read_overrides(request))
    selection = build_selection(request, config)
    with open_transcripts(request.paths, config, request.jobs) as found, ProgressBar("counting") as bar:
        cells = list_usage(found.store, config, found.changes.roots, selection, request.jobs, bar.show)
    usage = build_usage(cells)
    if request.as_json:
        print_json(usage)
    else:
        let_pipe_close()
        console = Console(highlight=False)
        console.print(render_usage(usage, console.width, request.by))
    if not cells:
        print_note(NOTHING)
