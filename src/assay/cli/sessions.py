"""`assay sessions`: all sessions, or the ledger that says where each begins and why."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Annotated, get_args

import typer
from msgspec import Struct
from rich.console import Console
from rich.text import Text

from assay.cli.options import (
    AsJson,
    AsOf,
    Commit,
    Jobs,
    Judge,
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
    check_word,
    options,
    read_overrides,
)
from assay.cli.output import let_pipe_close, print_json, print_note
from assay.cli.report import answer_request
from assay.cli.settings import load_last_config
from assay.reports.format import format_count
from assay.reports.json import SessionsView
from assay.reports.sessions import measure_session_ids, render_ledger, render_sessions
from assay.types import Intent, LedgerLine, Session

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


class SessionsRequest(Struct, frozen=True, kw_only=True):
    """What `assay sessions` takes."""

    paths: Paths = None
    since: Since = None
    until: Until = None
    project: Project = None
    crushed: Crushed = None
    intent: OfIntent = None
    limit: Limit = None
    ledger: AsLedger = False
    judge: Judge = None
    model: ModelName = None
    model_url: ModelUrl = None
    votes: Votes = None
    commit: Commit = None
    timezone: Timezone = None
    repo: Repo = None
    as_of: AsOf = None
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


@options(SessionsRequest)
def command(request: SessionsRequest) -> None:
    """List sessions: when, where, what for, and whether they crushed."""
    check_word(request.intent, INTENTS, "--intent")
    answer = answer_request(request, load_last_config(**read_overrides(request)))
    sessions = select_sessions(request, answer.report.sessions)
    entries = select_entries(sessions, answer.report.ledger)
    if request.as_json:
        print_json(SessionsView(sessions=sessions, ledger=entries))
    elif request.ledger:
        print_ledger(entries, answer.zone)
    else:
        print_sessions(sessions, answer.zone, request.limit)
    note = answer.note or (
        "" if sessions else f"none of {format_count(len(answer.report.sessions), 'session')} is like that"
    )
    if note:
        print_note(note)


def select_sessions(request: SessionsRequest, sessions: Sequence[Session]) -> list[Session]:
    """Those of the sessions that `--crushed` and `--intent` leave."""
    return [
        session
        for session in sessions
        if (request.crushed is None or session.crushed is request.crushed)
        and (request.intent is None or session.intent == request.intent)
    ]


def select_entries(sessions: Sequence[Session], ledger: Sequence[LedgerLine]) -> list[LedgerLine]:
    """What the ledger says of these sessions, and of those that were joined to them."""
    ids = {session.id for session in sessions} | {join.id for session in sessions for join in session.merged_from}
    return [entry for entry in ledger if entry.session in ids]


def print_ledger(entries: Sequence[LedgerLine], zone: tzinfo) -> None:
    """Print where sessions begin and were joined."""
    let_pipe_close()
    console = Console()
    console.print(render_ledger(entries, zone, console.width))


def print_sessions(sessions: Sequence[Session], zone: tzinfo, limit: int | None) -> None:
    """Print the table of sessions: as many as asked for, else as a terminal can show."""
    let_pipe_close()
    console = Console()
    if not sessions:
        return
    fitting = max(console.height - AROUND, 1) if console.is_terminal else 0
    most = fitting if limit is None else limit
    shown = sessions[-most:] if most else sessions
    console.print(render_sessions(shown, zone, console.width, measure_session_ids(sessions)))
    counted = [session.crushed for session in sessions if session.crushed is not None]
    counts = f"{format_count(len(sessions), 'session')}, {len(counted)} counted, {sum(counted)} crushed"
    earlier = len(sessions) - len(shown)
    hint = f"; {earlier} earlier ones with --limit 0" if earlier else ""
    console.print(Text(f"\n{counts}{hint}; `assay show ID` says why", "dim"))
