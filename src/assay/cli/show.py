"""`assay show`: one session with its evidence, or one stream, turn by turn."""

import os
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

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
from assay.cli.settings import list_what_ifs, load_last_config, load_last_report
from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.pipeline import privacy
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.lookup import read_turns
from assay.pipeline.pool import Pool
from assay.pipeline.scan import establish_facts
from assay.pipeline.score import open_run
from assay.pipeline.scoring_run import ScoringRun
from assay.reports.format import format_line
from assay.reports.json import build_session, build_stream
from assay.reports.session import render_session
from assay.reports.sessions import render_sessions
from assay.reports.streams import render_stream
from assay.scores.prism import has_crushed
from assay.sessions.links import LinkedSession
from assay.stores import Store, open_existing_store, pick_store_url
from assay.types import Session, StreamSummary

EXAMPLE = "Example: `assay show 3f2a91c0`, with an id from `assay score`"
LISTS = "`assay sessions` and `assay streams` list them"
MOST = 10

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A session or a stream, or how its id begins; `assay sessions` and `assay streams` list them.",
    ),
]


class ShowRequest(Struct, frozen=True, kw_only=True):
    """What `assay show` takes."""

    id: Id
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


@options(ShowRequest)
def command(request: ShowRequest) -> None:
    """Show a session: how it ended and why, with every piece of evidence; or a stream, turn by turn."""
    config = load_last_config(**read_overrides(request))
    with closing(open_existing_store(pick_store_url(config.store, os.environ))) as store:
        print_by_id(store, config, request.id, as_json=request.as_json, lists=f"{LISTS}{describe_last_flags(config)}")


def describe_last_flags(config: Config) -> str:
    """With which options a session may be found, where the last report was made with others."""
    flags = [one for one in load_last_report(config).flags if one not in list_what_ifs(config)]
    return f"; the last report was made with {' '.join(flags)}: give the same" if flags else ""


def print_by_id(store: Store, config: Config, prefix: str, *, as_json: bool, lists: str = LISTS) -> None:
    """Print the session or stream of a store whose id begins so; `lists` says what lists them."""
    with open_run(store, config) as run:
        with ProgressBar("judging") as bar:
            run.judge_streams(bar.show)
        linked = run.link_all()
        there = Candidates(linked=linked, streams=find_streams(store, prefix, run), lists=lists)
        found = find_by_id(there, prefix, run)
        if isinstance(found, StreamSummary):
            print_stream(store, config, found, list_sessions_in(run, found, linked), as_json=as_json)
        else:
            print_session(store, config, found, as_json=as_json)


def find_streams(store: Store, prefix: str, run: ScoringRun) -> list[StreamSummary]:
    """Streams whose id begins so, as they may be seen."""
    with closing(Pool(1)) as pool:
        establish_facts(store, pool, None, prefix)
    return [
        privacy.redact_summary(one, run.terms.privacy) for one in store.transcripts.list_streams(None, prefix=prefix)
    ]


class Candidates(Struct, frozen=True, kw_only=True):
    """All sessions, and the streams whose id begins as given."""

    linked: Sequence[LinkedSession]
    streams: Sequence[StreamSummary]
    lists: str = LISTS


def find_by_id(there: Candidates, prefix: str, run: ScoringRun) -> Session | StreamSummary:
    """The session or stream whose id begins so; none or several are refused."""
    linked = [one for one in there.linked if any(part.id.startswith(prefix) for part in one.segments)]
    exact = [one for one in linked if any(part.id == prefix for part in one.segments)]
    streams = [one for one in there.streams if one.id == prefix]
    if not exact and not streams:
        exact, streams = linked, list(there.streams)
    if not exact and not streams:
        raise BadInput(f"no session or stream begins with {format_line(prefix, 60)!r}; {there.lists}")
    if len(exact) + len(streams) > 1:
        raise build_ambiguity_error(prefix, run.follow_sessions(exact[:MOST], there.linked)[0], streams, len(exact))
    return streams[0] if streams else build_sessions(run, exact, there.linked)[0]


def build_sessions(run: ScoringRun, chosen: Sequence[LinkedSession], linked: Sequence[LinkedSession]) -> list[Session]:
    """Sessions as a report tells them; whether they crushed is said by what is known now."""
    sessions = run.name_projects(run.follow_sessions(chosen, linked)[0], chosen)
    return [replace(one, crushed=has_crushed(one)) for one in sessions]


def build_ambiguity_error(
    prefix: str, sessions: Sequence[Session], streams: Sequence[StreamSummary], there: int
) -> BadInput:
    """The error that an id says too little, with what it may mean."""
    names = [f"session {one.id}  {format_line(one.title, 60)}" for one in sessions]
    names += [f"stream  {one.id}  {format_line(one.title, 60)}" for one in streams]
    listed = "\n  ".join(names[:MOST])
    total = there + len(streams)
    return BadInput(f"{total} sessions and streams begin with {prefix!r}; give more of the id:\n  {listed}")


def list_sessions_in(run: ScoringRun, stream: StreamSummary, linked: Sequence[LinkedSession]) -> list[Session]:
    """The sessions that stand in a stream, wholly or in part."""
    name = (stream.agent, stream.id)
    there = [one for one in linked if any((part.agent, part.stream) == name for part in one.segments)]
    return build_sessions(run, there, linked)


def print_session(store: Store, config: Config, session: Session, *, as_json: bool) -> None:
    turns = read_turns(store, config, session)
    if as_json:
        print_json(build_session(session, turns))
    else:
        let_pipe_close()
        has_floors = config.outcome.floors == "published"
        Console().print(render_session(session, turns, pick_zone(config), has_floors=has_floors))


def print_stream(
    store: Store, config: Config, summary: StreamSummary, sessions: Sequence[Session], *, as_json: bool
) -> None:
    whole = privacy.redact_stream(
        store.transcripts.load_stream(summary.agent, summary.id), privacy.build_rules(config, pick_report_time(config))
    ).stream
    if as_json:
        print_json(build_stream(summary, whole, [session.id for session in sessions]))
        return
    let_pipe_close()
    console = Console()
    console.print(render_stream(summary, whole))
    if sessions:
        console.print(Text("Sessions in it", "bold"))
        console.print(render_sessions(sessions, pick_zone(config), console.width))
