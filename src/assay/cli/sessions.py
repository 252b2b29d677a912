"""`assay sessions`: all sessions, or the ledger that says where each begins and why."""

import sys
from collections.abc import Sequence
from typing import Annotated, get_args

import typer
from rich.console import Console
from rich.text import Text

from assay.cli.shared import AsJson, Jobs, Paths, StorePath, leave_quietly, one_of
from assay.cli.wanted import (
    Answer,
    AsOf,
    Commit,
    Given,
    Judge,
    Project,
    Repo,
    Since,
    Timezone,
    Until,
    Wanted,
    answer,
    as_reported,
)
from assay.reports import listing, machine
from assay.reports.safe import many, safe
from assay.types import Entry, Intent, Session

EXAMPLE = "Example: `assay sessions --since 7d --not-crushed`, then `assay show ID` for why"
INTENTS = get_args(Intent)

Crushed = Annotated[
    bool | None, typer.Option("--crushed/--not-crushed", help="Only those that did, or did not, crush.")
]
OfIntent = Annotated[str | None, typer.Option("--intent", metavar="INTENT", help=f"Only {', '.join(INTENTS)}.")]
AsLedger = Annotated[
    bool, typer.Option("--ledger", help="Show where sessions begin and were joined, and by what sign.")
]

Limit = Annotated[
    int | None,
    typer.Option("--limit", min=0, metavar="N", help="Only the newest N; 0 is all. Else what a terminal can show."),
]
AROUND = 5
"""Lines of a terminal that are not rows of the table."""


def command(  # noqa: PLR0913  each is an option
    paths: Paths = None,
    since: Since = None,
    until: Until = None,
    project: Project = None,
    crushed: Crushed = None,
    intent: OfIntent = None,
    limit: Limit = None,
    ledger: AsLedger = False,
    judge: Judge = None,
    commit: Commit = None,
    timezone: Timezone = None,
    repo: Repo = None,
    as_of: AsOf = None,
    as_json: AsJson = False,
    store: StorePath = None,
    jobs: Jobs = 0,
) -> None:
    """List sessions: when, where, what for, and whether they crushed."""
    one_of(intent, INTENTS, "--intent")
    wanted = Wanted(paths=paths, since=since, until=until, project=project, jobs=jobs)
    given = Given(judge=judge, commit=commit, timezone=timezone, repo=repo, as_of=as_of, store=store)
    found = answer(wanted, as_reported(given))
    chosen = [
        one
        for one in found.report.sessions
        if (crushed is None or one.crushed is crushed) and (intent is None or one.intent == intent)
    ]
    entries = entries_of(chosen, found.report.ledger)
    leave_quietly()
    if as_json:
        sys.stdout.buffer.write(machine.sessions(chosen, entries) + b"\n")
    else:
        show(found, chosen, entries if ledger else None, limit)
    note = found.note or ("" if chosen else f"none of {many(len(found.report.sessions), 'session')} is like that")
    if note:
        sys.stdout.flush()
        print(f"assay: {safe(note)}", file=sys.stderr)


def entries_of(chosen: Sequence[Session], ledger: Sequence[Entry]) -> list[Entry]:
    """What the ledger says of these sessions, and of those that were joined to them."""
    ids = {one.id for one in chosen} | {join.id for one in chosen for join in one.merged_from}
    return [one for one in ledger if one.session in ids]


def show(found: Answer, chosen: Sequence[Session], entries: Sequence[Entry] | None, limit: int | None) -> None:
    """The table of sessions, or that of the ledger."""
    console = Console()
    if entries is not None:
        console.print(listing.ledger(entries, found.zone, console.width))
    elif chosen:
        fitting = max(console.height - AROUND, 1) if console.is_terminal else 0
        most = fitting if limit is None else limit
        shown = chosen[-most:] if most else chosen
        console.print(listing.sessions(shown, found.zone, console.width, listing.id_length(chosen)))
        counted = [one.crushed for one in chosen if one.crushed is not None]
        counts = f"{many(len(chosen), 'session')}, {len(counted)} counted, {sum(counted)} crushed"
        earlier = len(chosen) - len(shown)
        hint = f"; {earlier} earlier ones with --limit 0" if earlier else ""
        console.print(Text(f"\n{counts}{hint}; `assay show ID` says why", "dim"))
