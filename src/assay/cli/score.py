"""`assay score`: do the sessions land? One number with its interval, and why."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from assay.cli.consent import Consent
from assay.cli.saving import Output, checked, save
from assay.cli.shared import AsJson, Jobs, Paths, StorePath, leave_quietly, one_of
from assay.cli.wanted import (
    Again,
    Answer,
    AsOf,
    Batch,
    Commit,
    Given,
    Judge,
    MaxCost,
    ModelName,
    ModelUrl,
    Project,
    Repo,
    Since,
    Timezone,
    Until,
    Votes,
    Wanted,
    Yes,
    answer,
    settled,
)
from assay.reports import scoreboard
from assay.reports.safe import encoded, safe
from assay.scores.breakdown import WAYS
from assay.scores.report import JudgeInfo

EXAMPLE = "Example: `assay score --since 30d --by project -o score.md`"

OVER_BUDGET = 5
"""Exit code of a run that stopped at its limit; the report is printed."""
STOPPED_SHORT = "stopped at --max-cost; what was answered is kept, the same command with a higher limit goes on"

By = Annotated[str | None, typer.Option("--by", metavar="SLICE", help=f"Also by {', '.join(WAYS[:-1])} or {WAYS[-1]}.")]


def command(  # noqa: PLR0913  each is an option
    paths: Paths = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    by: By = None,
    judge: Judge = None,
    commit: Commit = None,
    timezone: Timezone = None,
    repo: Repo = None,
    as_of: AsOf = None,
    model: ModelName = None,
    model_url: ModelUrl = None,
    votes: Votes = None,
    max_cost: MaxCost = None,
    batch: Batch = False,
    again: Again = False,
    yes: Yes = False,
    as_json: AsJson = False,
    output: Output = None,
    store: StorePath = None,
    jobs: Jobs = 0,
) -> None:
    """Score your sessions: how many landed, why the others did not, and what to do about it."""
    one_of(by, WAYS, "--by")
    target = checked(output)
    consent = Consent(yes=yes, batch=batch, again=again)
    wanted = Wanted(paths=paths, since=since, until=until, project=project, jobs=jobs, remembers=True, consent=consent)
    given = Given(
        judge=judge, commit=commit, timezone=timezone, repo=repo, as_of=as_of, store=store,
        model=model, url=model_url, votes=votes, max_cost=max_cost,
    )  # fmt: skip
    found = answer(wanted, settled(given))
    if target:
        save(found.report, found.zone, target)
        print(f"assay: wrote {safe(str(target))}", file=sys.stderr)
    show(found, by, as_json)
    told_short(found.report.judge)


def told_short(judge: JudgeInfo) -> None:
    """Say that a model was asked and did not answer all; a limit that was reached is no success."""
    if not judge.spending or not judge.fallback:
        return
    sys.stdout.flush()
    if "over_budget" in judge.spending.troubles:
        print(f"assay: {STOPPED_SHORT}", file=sys.stderr)
        raise typer.Exit(OVER_BUDGET)
    print(f"assay: {safe(judge.fallback)}; the offline judge judged what was not answered", file=sys.stderr)


def show(found: Answer, by: str | None, as_json: bool) -> None:
    """Print it; what is to be said of an empty choice goes to stderr."""
    leave_quietly()
    if as_json:
        sys.stdout.buffer.write(encoded(found.report) + b"\n")
    else:
        console = Console()
        console.print(scoreboard.report(found.report, found.zone, console.width, by))
    if found.note:
        sys.stdout.flush()
        print(f"assay: {safe(found.note)}", file=sys.stderr)
