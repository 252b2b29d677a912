"""`assay show`: one session, or one stream, on a screen; in full, with all evidence and turn by turn."""

import os
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import Annotated

import typer
from msgspec import Struct
from rich.console import Group
from rich.text import Text

from assay.cli.keeping import PrintedTerms, keep_printed
from assay.cli.options import (
    AsJson,
    AsOf,
    Commit,
    Judge,
    ModelName,
    ModelUrl,
    Repo,
    StorePath,
    Timezone,
    Votes,
    options,
    read_overrides,
)
from assay.cli.output import let_pipe_close, print_json
from assay.cli.progress import ProgressBar
from assay.cli.settings import check_id, list_what_ifs, load_last_config, load_last_report
from assay.cli.terminal import Console, open_pager
from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.pipeline import privacy
from assay.pipeline.lookup import LAST, SessionIndex, index_sessions, read_turns
from assay.pipeline.pool import Pool
from assay.pipeline.scan import establish_facts
from assay.pipeline.score import open_run
from assay.pipeline.scoring_run import ScoringRun
from assay.reports.format import format_line
from assay.reports.json import TranscriptPlace, build_place, build_session, build_stream
from assay.reports.score import render_section
from assay.reports.session import render_session
from assay.reports.session_screen import render_places, render_screen, render_stream_screen
from assay.reports.sessions import render_sessions
from assay.reports.streams import render_stream
from assay.stores import StreamName, open_existing_store, pick_store_url
from assay.types import Session, StreamSummary

EXAMPLE = "Example: `assay show last`, or `assay show 3f2a91c0 --full`, with an id from `assay sessions`"
LISTS = "`assay sessions` and `assay streams` list them"
MOST = 10

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A session or a stream, or how its id begins; `last` is the one that ended last. "
        "`assay sessions` and `assay streams` list them.",
    ),
]
InFull = Annotated[
    bool, typer.Option("--full", help="All of it: every piece of evidence, every check, and turn by turn.")
]
OfStream = Annotated[bool, typer.Option("--stream", help="The id is that of a stream, whatever sessions are called.")]


class ShowRequest(Struct, frozen=True, kw_only=True):
    """What `assay show` takes."""

    id: Id
    full: InFull = False
    stream: OfStream = False
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


class Showing(Struct, frozen=True, kw_only=True):
    """A scoring of a store in which something is looked up, and how what is found is shown."""

    run: ScoringRun
    is_stream: bool = False
    in_full: bool = False
    as_json: bool = False
    lists: str = LISTS
    """What to do where nothing is found."""
    name: str = "assay show"
    """The command that shows it."""


@options(ShowRequest)
def command(request: ShowRequest) -> None:
    """Show a session on one screen: how it ended and why, evidence, facts and prompts; or a stream."""
    config = load_last_config(**read_overrides(request))
    check_id(request.id)
    with (
        closing(open_existing_store(pick_store_url(config.store, os.environ))) as store,
        open_run(store, config) as run,
    ):
        lists = f"{LISTS}{describe_last_flags(config)}"
        showing = Showing(run=run, is_stream=request.stream, in_full=request.full, as_json=request.as_json, lists=lists)
        load = partial(load_last_config, **read_overrides(request))
        with keep_printed(PrintedTerms(store=store, config=config, load=load)):
            print_by_id(showing, request.id)


def describe_last_flags(config: Config) -> str:
    """With which options a session may be found, where the last report was made with others."""
    flags = [one for one in load_last_report(config).flags if one not in list_what_ifs(config)]
    return f"; the last report was made with {' '.join(flags)}: give the same" if flags else ""


def print_by_id(showing: Showing, prefix: str) -> None:
    """Print the session or stream whose id begins so."""
    run = showing.run
    with ProgressBar("judging") as bar:
        run.judge_streams(bar.show)
    index = index_sessions(run)
    found = find_by_id(showing, prefix, index)
    if isinstance(found, StreamSummary):
        print_stream(showing, found, index.load_sessions(index.find_in_stream((found.agent, found.id))))
    else:
        print_session(showing, found)


def find_streams(run: ScoringRun, prefix: str) -> list[StreamSummary]:
    """Streams whose id begins so, as they may be seen."""
    with closing(Pool(1)) as pool:
        establish_facts(run.store, pool, None, prefix)
    rules = run.terms.privacy
    return [privacy.redact_summary(one, rules) for one in run.store.transcripts.list_streams(None, prefix=prefix)]


def find_last_stream(run: ScoringRun) -> list[StreamSummary]:
    """The stream that ended last, if there is any."""
    there = run.store.transcripts.list_streams(None)
    newest = max(there, key=lambda one: one.ended_at, default=None)
    return [one for one in find_streams(run, newest.id) if one.id == newest.id] if newest else []


def find_by_id(showing: Showing, prefix: str, index: SessionIndex) -> Session | StreamSummary:
    """The session or stream whose id begins so; none or several are refused."""
    run = showing.run
    there = find_last_stream(run) if showing.is_stream and prefix == LAST else find_streams(run, prefix)
    wanted = [] if showing.is_stream else find_begun(index, prefix)
    exact = [name for name, segment in wanted if segment == prefix.lower()]
    streams = [one for one in there if one.id == prefix or one.id.startswith(f"{prefix}@")]
    if not exact and not streams:
        exact, streams = list(dict.fromkeys(name for name, _ in wanted)), there
    if not exact and not streams:
        what = "stream" if showing.is_stream else "session or stream"
        if prefix == LAST:
            raise BadInput(f"there is no {what} yet; `assay score` reads yours, `assay demo` shows examples")
        raise BadInput(f"no {what} begins with {format_line(prefix, 60)!r}; {showing.lists}")
    if len(exact) + len(streams) > 1:
        raise build_ambiguity_error(prefix, index.load_sessions(exact[:MOST]), streams, len(exact))
    return streams[0] if streams else index.load_sessions(exact)[0]


def find_begun(index: SessionIndex, prefix: str) -> list[tuple[StreamName, str]]:
    """Sessions whose id, or that of one joined to them, begins so; `last` is the one that ended last."""
    if prefix == LAST:
        last = index.find_last()
        return [(last, last[1])] if last else []
    return index.find_begun(prefix.lower())


def build_ambiguity_error(
    prefix: str, sessions: Sequence[Session], streams: Sequence[StreamSummary], there: int
) -> BadInput:
    """The error that an id says too little, with what it may mean."""
    names = [f"session {name_session(prefix, one)}  {format_line(one.title, 60)}" for one in sessions]
    names += [f"stream  {one.id}  {format_line(one.title, 60)}" for one in streams]
    total = there + len(streams)
    listed = "\n  ".join([*names[:MOST], *([f"and {total - MOST} more"] if total > MOST else [])])
    more = "give more of the id" + (", or --stream" if there and streams else "")
    return BadInput(f"{total} sessions and streams begin with {prefix!r}; {more}:\n  {listed}")


def name_session(prefix: str, session: Session) -> str:
    """The id of a session, and of the one joined to it whose id begins so."""
    joined = next((one.id for one in session.merged_from if one.id.startswith(prefix.lower())), "")
    return session.id if session.id.startswith(prefix.lower()) or not joined else f"{session.id} (with {joined})"


def list_places(run: ScoringRun, session: Session) -> list[TranscriptPlace]:
    """Where the streams of a session are kept, as may be seen."""
    return [
        build_place(one)
        for stream in session.streams
        for one in find_streams(run, stream)
        if (one.agent, one.id) == (session.agent, stream)
    ]


def print_session(showing: Showing, session: Session) -> None:
    run = showing.run
    config, zone = run.config, pick_zone(run.config)
    turns, places = read_turns(run.store, config, session), list_places(run, session)
    if showing.as_json:
        print_json(build_session(session, turns, places))
        return
    let_pipe_close()
    console = Console()
    if not showing.in_full:
        again = f"{showing.name} {session.id} --full"
        print_screen(console, render_screen(session, turns, zone, console.width), render_places(places, again))
        return
    has_floors = config.outcome.floors == "published"
    with open_pager(console):
        console.print(render_session(session, turns, zone, has_floors=has_floors))
        console.print(*render_places(places), sep="\n", soft_wrap=True)


def print_screen(console: Console, screen: Group, places: Sequence[Text]) -> None:
    """Print what should fit on a screen, and lines to copy, which are never broken."""
    with open_pager(console, len(console.render_lines(screen)) + len(places) + 1):
        console.print(screen)
        console.print(*places, sep="\n", soft_wrap=True)


def print_stream(showing: Showing, summary: StreamSummary, sessions: Sequence[Session]) -> None:
    run = showing.run
    kept = run.store.transcripts.load_stream(summary.agent, summary.id)
    whole = privacy.redact_stream(kept, run.terms.privacy).stream
    if showing.as_json:
        print_json(build_stream(summary, whole, [session.id for session in sessions]))
        return
    let_pipe_close()
    console, zone = Console(), pick_zone(run.config)
    listed = render_section("Sessions in it", [render_sessions(sessions, zone, console.width)] if sessions else [])
    if showing.in_full:
        with open_pager(console):
            console.print(Group(render_stream(summary, whole, zone), *listed))
    else:
        again = f"{showing.name} --stream {summary.id} --full"
        screen = render_stream_screen(summary, whole, listed, zone, console.width)
        print_screen(console, screen, render_places([build_place(summary)], again))
