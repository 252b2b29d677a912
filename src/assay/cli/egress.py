"""`assay egress`: what would be sent where, word for word, without sending it."""

import os
from typing import Annotated

import msgspec
import typer
from msgspec import Struct

from assay.cli.answer import build_selection
from assay.cli.options import (
    AsJson,
    Jobs,
    Judge,
    ModelName,
    ModelUrl,
    Paths,
    Project,
    Since,
    StorePath,
    Until,
    Votes,
    options,
    read_overrides,
)
from assay.cli.output import let_pipe_close, print_json
from assay.cli.progress import open_transcripts
from assay.cli.settings import load_config
from assay.cli.terminal import Console
from assay.llm.egress import Egress
from assay.pipeline.egress import list_egress
from assay.pipeline.inputs import resolve_path
from assay.pipeline.models import describe_model, needs_model
from assay.pipeline.projects import name_projects, tally_folders
from assay.reports.egress import render_egress

EXAMPLE = "Example: `assay egress --judge anthropic --since 7d --words`"
NOWHERE = Egress(judge="offline", to=None, model=None, estimate=None, requests=[])

Words = Annotated[bool, typer.Option("--words", help="Print the very words of every question.")]


class ShowEgressRequest(Struct, frozen=True, kw_only=True):
    """What `assay egress` takes."""

    paths: Paths = None
    since: Since = None
    until: Until = None
    project: Project = None
    judge: Judge = None
    model: ModelName = None
    model_url: ModelUrl = None
    votes: Votes = None
    words: Words = False
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


@options(ShowEgressRequest)
def command(request: ShowEgressRequest) -> None:
    """Show what scoring would send, where to, and what was redacted; nothing is sent."""
    config = load_config(**read_overrides(request))
    for path in request.paths or ():
        resolve_path(path)
    selection = build_selection(request, config)
    found = msgspec.structs.replace(NOWHERE, judge=config.judge)
    if needs_model(config):
        way = describe_model(config, os.environ)
        with open_transcripts(request.paths, config, request.jobs) as transcripts:
            estimate, requests = list_egress(
                transcripts.store, transcripts.changes.roots, config, request.jobs, way, selection
            )
        found = Egress(judge=config.judge, to=way.where, model=way.model, estimate=estimate, requests=requests)
    print_egress(found, words=request.words, as_json=request.as_json)


def print_egress(found: Egress, *, words: bool, as_json: bool) -> None:
    """Print what would be sent, with the very words where they are wanted."""
    if as_json:
        print_json(found)
        return
    let_pipe_close()
    console = Console()
    console.print(render_egress(name_as_reports_do(found), console.width, words=words))


def name_as_reports_do(found: Egress) -> Egress:
    """What would be sent, each of the project that reports would tell."""
    names = name_projects(tally_folders((one.project, "") for one in found.requests))
    named = [msgspec.structs.replace(one, project=names[one.project]) for one in found.requests]
    return msgspec.structs.replace(found, requests=named)
