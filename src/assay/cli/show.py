"""`assay show`: one session with its evidence, or one stream, turn by turn."""

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from assay.cli.shared import AsJson, StorePath, bar, leave_quietly
from assay.cli.wanted import AsOf, Given, Repo, as_reported
from assay.config import Config, zone
from assay.errors import BadInput
from assay.pipeline import privacy
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.lookup import read_turns
from assay.pipeline.pool import Pool
from assay.pipeline.scan import establish_facts
from assay.pipeline.score import open_run
from assay.pipeline.scoring_run import ScoringRun
from assay.reports import listing, machine, terminal
from assay.reports import session as one_session
from assay.reports.safe import one_line
from assay.scores.prism import has_crushed
from assay.sessions.linking import Linked
from assay.stores import Store, open_existing_store, pick_store_url
from assay.types import Session, Summary

EXAMPLE = "Example: `assay show 3f2a91c0`, with an id from `assay score`"
MOST = 10

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A session or a stream, or how its id begins; `assay sessions` and `assay streams` list them.",
    ),
]


def command(id: Id, repo: Repo = None, as_of: AsOf = None, as_json: AsJson = False, store: StorePath = None) -> None:
    """Show a session: how it ended and why, with every piece of evidence; or a stream, turn by turn."""
    config = as_reported(Given(repo=repo, as_of=as_of, store=store))
    url = pick_store_url(config.store, os.environ)
    opened = open_existing_store(url)
    try:
        show_in(opened, config, id, as_json)
    finally:
        opened.close()


def show_in(store: Store, config: Config, prefix: str, as_json: bool) -> None:
    """Show what an id stands for in a store."""
    with open_run(store, config) as run:
        with bar("judging") as progress:
            run.bring_up_to_date(progress)
        linked = run.linked()
        found = the_one(Called(linked=linked, streams=found_streams(store, prefix, run)), prefix, run)
        if isinstance(found, Summary):
            show_stream(store, config, found, sessions_in(run, found, linked), as_json)
        else:
            show_session(store, config, found, as_json)


def found_streams(store: Store, prefix: str, run: ScoringRun) -> list[Summary]:
    """Streams whose id begins so, as they may be seen."""
    with closing(Pool(1)) as pool:
        establish_facts(store, pool, None, prefix)
    return [
        privacy.redact_summary(one, run.terms.reading) for one in store.transcripts.list_streams(None, prefix=prefix)
    ]


class Called(Struct, frozen=True, kw_only=True):
    """All sessions, and the streams whose id begins as given."""

    linked: Sequence[Linked]
    streams: Sequence[Summary]


def the_one(there: Called, prefix: str, run: ScoringRun) -> Session | Summary:
    """The session or stream whose id begins so; none or several are told."""
    linked = [one for one in there.linked if any(part.id.startswith(prefix) for part in one.segments)]
    exact = [one for one in linked if any(part.id == prefix for part in one.segments)]
    streams = [one for one in there.streams if one.id == prefix]
    if not exact and not streams:
        exact, streams = linked, list(there.streams)
    if not exact and not streams:
        raise BadInput(
            f"no session or stream begins with {one_line(prefix, 60)!r}; `assay sessions` and `assay streams` list them"
        )
    if len(exact) + len(streams) > 1:
        raise several(prefix, run.followed(exact[:MOST], there.linked)[0], streams, len(exact))
    return streams[0] if streams else run.followed(exact, there.linked)[0][0]


def several(prefix: str, sessions: Sequence[Session], streams: Sequence[Summary], there: int) -> BadInput:
    """That an id says too little, and what it may mean."""
    names = [f"session {one.id}  {one_line(one.title, 60)}" for one in sessions]
    names += [f"stream  {one.id}  {one_line(one.title, 60)}" for one in streams]
    listed = "\n  ".join(names[:MOST])
    total = there + len(streams)
    return BadInput(f"{total} sessions and streams begin with {prefix!r}; give more of the id:\n  {listed}")


def sessions_in(run: ScoringRun, stream: Summary, linked: Sequence[Linked]) -> list[Session]:
    """The sessions that stand in a stream, wholly or in part."""
    name = (stream.agent, stream.id)
    there = [one for one in linked if any((part.agent, part.stream) == name for part in one.segments)]
    return [with_crush(one) for one in run.followed(there, linked)[0]]


def with_crush(session: Session) -> Session:
    """Whether it crushed, by what is known now: rework may have turned since it was judged."""
    return replace(session, crushed=has_crushed(session))


def show_session(store: Store, config: Config, session: Session, as_json: bool) -> None:
    turns = read_turns(store, config, session)
    session = with_crush(session)
    leave_quietly()
    if as_json:
        sys.stdout.buffer.write(machine.session_detail(session, turns) + b"\n")
    else:
        Console().print(one_session.report(session, turns, zone(config)))


def show_stream(store: Store, config: Config, one: Summary, sessions: Sequence[Session], as_json: bool) -> None:
    whole = privacy.redact_stream(
        store.transcripts.load_stream(one.agent, one.id), privacy.build_rules(config, pick_report_time(config))
    ).stream
    leave_quietly()
    if as_json:
        sys.stdout.buffer.write(machine.detail(one, whole, [found.id for found in sessions]) + b"\n")
        return
    console = Console()
    console.print(terminal.stream(one, whole))
    if sessions:
        console.print(Text("Sessions in it", "bold"))
        console.print(listing.sessions(sessions, zone(config), console.width))
