"""`assay egress`: what would be sent where, word for word, without sending it."""

import os
import sys
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from assay.cli.shared import AsJson, Jobs, Paths, StorePath, leave_quietly, scanned
from assay.cli.wanted import Given, Judge, ModelName, ModelUrl, Project, Since, Until, Votes, chosen, settled
from assay.llm.egress import Egress
from assay.pipeline.egress import connect_without_key, list_egress
from assay.pipeline.models import needs_model
from assay.reports import leaving
from assay.reports.safe import encoded

EXAMPLE = "Example: `assay egress --judge anthropic --since 7d --words`"
NOWHERE = Egress(judge="offline", to=None, model=None, estimate=None, requests=[])

Words = Annotated[bool, typer.Option("--words", help="Print the very words of every question.")]


def command(  # noqa: PLR0913  each is an option
    paths: Paths = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    judge: Judge = None,
    model: ModelName = None,
    model_url: ModelUrl = None,
    votes: Votes = None,
    words: Words = False,
    as_json: AsJson = False,
    store: StorePath = None,
    jobs: Jobs = 0,
) -> None:
    """Show what scoring would send, where to, and what was redacted; nothing is sent."""
    config = settled(Given(judge=judge, model=model, url=model_url, votes=votes, store=store))
    choice = chosen(config, since, until, project)
    found = msgspec.structs.replace(NOWHERE, judge=config.judge)
    if needs_model(config):
        way = connect_without_key(config, dict(os.environ))
        with scanned(paths, config, jobs) as up_to_date:
            estimate, requests = list_egress(up_to_date.store, up_to_date.changes.roots, config, jobs, way, choice)
        found = Egress(judge=config.judge, to=way.where, model=way.model, estimate=estimate, requests=requests)
    leave_quietly()
    if as_json:
        sys.stdout.buffer.write(encoded(found) + b"\n")
    else:
        console = Console()
        console.print(leaving.report(found, console.width, words=words))
