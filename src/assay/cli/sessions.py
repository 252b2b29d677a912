"""`assay sessions`: all sessions, or the ledger that says where each begins and why."""

import os
from collections.abc import Sequence
from contextlib import closing
from datetime import tzinfo
from functools import partial
from typing import Annotated, get_args

import typer
from msgspec import Struct
from rich.text import Text

from assay.cli.answer import ReportAnswer, answer_request, find_lake
from assay.cli.keeping import describe_terms, keep_printed
from assay.cli.options import (
    AsJson,
    AsOf,
    Commit,
    Engine,
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
from assay.cli.settings import load_last_config
from assay.cli.terminal import Console
from assay.config import Config
from assay.errors import BadInput
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.privacy import build_rules
from assay.pipeline.search import search_sessions
from assay.reports.format import format_count
from assay.reports.json import SessionsView
from assay.reports.sessions import BEGAN, SORTS, TIMES, render_ledger, render_sessions, sort_sessions
from assay.scores.breakdown import name_intent
from assay.scores.prism import Score, has_substance, score_sessions
from assay.stores import open_store, pick_store_url
from assay.types import Aim, Intent, LedgerLine, Session

EXAMPLE = "Example: `assay sessions --since 7d --not-crushed`, then `assay show ID` for why"
INTENTS = (*get_args(Intent), *(aim for aim in get_args(Aim) if aim not in get_args(Intent)))

Crushed = Annotated[
    bool | None, typer.Option("--crushed/--not-crushed", help="Only those that did, or did not, crush.")
]
OfIntent = Annotated[str | None, typer.Option("--intent", metavar="INTENT", help=f"Only {', '.join(INTENTS)}.")]
Search = Annotated[
    str | None,
    typer.Option(
        "--search",
        metavar="WORDS",
        help='Only those with all these words in their prompts or title; `"a phrase"` in quotes stays together.',
    ),
]
Sort = Annotated[
    str | None,
    typer.Option(
        "--sort",
        metavar="BY",
        help=f"By {', '.join(SORTS)}: the most first; the least chance; the newest last.",
    ),
]
Everything = Annotated[bool, typer.Option("--all", help="List trivial sessions, too: else a line counts them.")]
AsLedger = Annotated[
    bool, typer.Option("--ledger", help="Show where sessions begin and were joined, and by what sign.")
]

Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=0,
        metavar="N",
        help="Only the newest N, or the first by --sort; 0 is all.",
    ),
]
PORTION = 200
IN_A_PIPE = 100
"""Sessions that are listed where nobody says how many; --limit 0 lists them all."""
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
    search: Search = None
    sort: Sort = None
    limit: Limit = None
    everything: Everything = False
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
    engine: Engine = None


@options(SessionsRequest)
def command(request: SessionsRequest) -> None:
    """List sessions: when, where, what for, and whether they crushed."""
    check_word(request.intent, INTENTS, "--intent")
    check_word(request.sort, [*SORTS], "--sort")
    config = load_last_config(**read_overrides(request))
    load = partial(load_last_config, **read_overrides(request))
    with answer_request(request, config) as answer, keep_printed(describe_terms(answer, config, load)):
        print_answer(request, config, answer)


def print_answer(request: SessionsRequest, config: Config, answer: ReportAnswer) -> None:
    """Print those sessions of an answer that are wanted; of all there are, only those are read that are shown."""
    report = answer.report
    is_all = request.crushed is None and request.intent is None and request.search is None and not request.sort
    sessions = report.sessions if is_all else find_wanted(request, config, report.sessions)
    chosen = limit_sessions(sessions, request, request.limit)
    if request.as_json:
        is_whole = is_all and not request.limit
        entries = report.ledger if is_whole else select_entries(chosen, report.ledger)
        print_json(SessionsView(sessions=chosen, ledger=entries))
    elif request.ledger:
        print_ledger(select_entries(chosen, report.ledger), answer.zone)
    elif is_all:
        counts = SessionCounts(report.waterfall.sessions, report.waterfall.substance, report.score)
        print_sessions(sessions, counts, answer.zone, request)
    elif sessions:
        print_sessions(sessions, count_sessions(sessions), answer.zone, request)
    note = answer.note or (
        "" if len(sessions) else f"none of {format_count(report.waterfall.sessions, 'session')} is like that"
    )
    if note:
        print_note(note)


class SessionCounts(Struct, frozen=True):
    """Sessions in numbers."""

    sessions: int
    substance: int
    score: Score


def count_sessions(sessions: Sequence[Session]) -> SessionCounts:
    return SessionCounts(len(sessions), sum(map(has_substance, sessions)), score_sessions(sessions))


def find_wanted(request: SessionsRequest, config: Config, sessions: Sequence[Session]) -> list[Session]:
    """Those of all sessions that were asked for, in the order that was asked for."""
    if request.search is not None and find_lake(request.paths):
        raise BadInput("--search needs the words of a store; a lake is searched by DuckDB, in turns/*/*.parquet")
    found = select_sessions(request, sessions)
    if request.search is not None:
        found = find_words(request.search, config, found)
    return sort_sessions(found, request.sort) if request.sort else found


def select_sessions(request: SessionsRequest, sessions: Sequence[Session]) -> list[Session]:
    """Those of the sessions that `--crushed` and `--intent` leave; of the intent, what is listed."""
    return [
        one
        for one in sessions
        if (request.crushed is None or one.crushed is request.crushed)
        and (request.intent is None or request.intent == name_intent(one) or (one.intent and request.intent == one.aim))
    ]


def find_words(text: str, config: Config, sessions: Sequence[Session]) -> list[Session]:
    """Those of the sessions in which words were said."""
    rules = build_rules(config, pick_report_time(config))
    with closing(open_store(pick_store_url(config.store, os.environ))) as store:
        return search_sessions(store, sessions, text, rules)


def limit_sessions(sessions: Sequence[Session], request: SessionsRequest, most: int | None) -> Sequence[Session]:
    """As many as are wanted: the newest, or the first by what they are sorted by; all for 0."""
    if not most:
        return sessions
    return sessions[:most] if request.sort and request.sort not in TIMES else sessions[-most:]


def select_entries(sessions: Sequence[Session], ledger: Sequence[LedgerLine]) -> list[LedgerLine]:
    """What the ledger says of these sessions, and of those that were joined to them."""
    ids = {session.id for session in sessions} | {join.id for session in sessions for join in session.merged_from}
    return [entry for entry in ledger if entry.session in ids]


def print_ledger(entries: Sequence[LedgerLine], zone: tzinfo) -> None:
    """Print where sessions begin and were joined."""
    let_pipe_close()
    console = Console()
    console.print(render_ledger(entries, zone, console.width))


def print_sessions(sessions: Sequence[Session], counts: SessionCounts, zone: tzinfo, request: SessionsRequest) -> None:
    """Print the table of sessions: as many as asked for, else as a screen can show; trivial ones in a line."""
    let_pipe_close()
    console = Console()
    is_all = bool(request.everything or request.search or not counts.substance)
    there = counts.sessions if is_all else counts.substance
    fitting = max(console.height - AROUND, 1) if console.is_terminal else IN_A_PIPE
    most = fitting if request.limit is None else request.limit
    shown = read_sessions(sessions, request, most or there, is_all=is_all)
    if not shown:
        return
    console.print(render_sessions(shown, zone, console.width, request.sort))
    counted = f"{counts.score.counted} counted, {counts.score.crushed} crushed"
    said = f"{format_count(counts.sessions, 'session')}, {counted}"
    folded, more = counts.sessions - there, there - len(shown)
    said += f"; {folded} trivial not listed (--all)" if folded else ""
    said += f"; {more} {'earlier' if (request.sort or BEGAN) in TIMES else 'more'} with --limit 0" if more else ""
    console.print(Text(f"\n{said}; `assay show ID` says why", "dim"))


def read_sessions(
    sessions: Sequence[Session], request: SessionsRequest, most: int, *, is_all: bool
) -> Sequence[Session]:
    """As many sessions as are wanted, without trivial ones unless all are: read from the end that is wanted."""
    is_newest = not request.sort or request.sort in TIMES
    found: list[Session] = []
    for start in range(0, len(sessions), PORTION):
        end = len(sessions) - start
        some = sessions[max(0, end - PORTION) : end] if is_newest else sessions[start : start + PORTION]
        fitting = [one for one in some if is_all or has_substance(one)]
        found = [*fitting, *found] if is_newest else [*found, *fitting]
        if len(found) >= most:
            break
    return found[-most:] if is_newest else found[:most]
