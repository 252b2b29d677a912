"""`assay session`: a person's corrections, which win over every later run."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer

from assay.cli.options import AsJson, StorePath, check_word
from assay.cli.output import let_pipe_close, print_json, print_note
from assay.cli.settings import check_id, load_last_config
from assay.cli.terminal import Console
from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.pipeline import corrections
from assay.pipeline.corrections import find_one_session
from assay.reports.format import format_count, format_line
from assay.reports.json import SessionsView
from assay.reports.sessions import render_marks
from assay.reports.summary import explain_outcome
from assay.stores import Store, open_existing_store, pick_store_url
from assay.types import Session, VerdictKind

EXAMPLE = "Example: `assay session mark 3f2a91c0 not --why 'the export is still empty'`"

VERDICTS: dict[str, VerdictKind] = {"landed": "landed", "not": "not", "exclude": "exclude"}

app = typer.Typer(
    help="Correct where sessions begin, what they are called and how they ended; kept for good.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Id = Annotated[str, typer.Argument(metavar="SESSION", help="Id of a session, or how it begins.")]
Other = Annotated[str, typer.Argument(metavar="OTHER", help="Id of the session that belongs to it.")]
TurnOf = Annotated[str, typer.Argument(metavar="TURN", help="Number of a turn as `assay show` prints it, or its id.")]
Verdict = Annotated[
    str | None,
    typer.Argument(
        metavar="VERDICT", help="`landed`: its goal was reached; `not`: it was not; `exclude`: it shall not count."
    ),
]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="Why, in your words; `show` and JSON repeat it.")]
Undo = Annotated[bool, typer.Option("--undo", help="Take back what you said of it: the judge's word holds again.")]
Title = Annotated[list[str], typer.Argument(metavar="TITLE…", help="The new title, at most 60 characters.")]


@app.command("split")
def split(session: Id, turn: TurnOf, store: StorePath = None) -> None:
    """Let a new session begin with a turn of this one."""
    with open_corrections(store) as (kept, config):
        before, after = corrections.split_session(kept, config, find_given(kept, config, session), turn, format_now())
    print_line(f"split {before.id} {quote_title(before)}: {after.id} {quote_title(after)} is a session of its own")


@app.command("merge")
def merge(session: Id, other: Other, store: StorePath = None) -> None:
    """Make one session of two."""
    with open_corrections(store) as (kept, config):
        one, two = find_given(kept, config, session), find_given(kept, config, other)
        whole = corrections.merge_sessions(kept, config, one, two, format_now())
    print_line(f"merged {two.id} into {one.id}: {whole.id} {quote_title(whole)} is both")


@app.command("rename")
def rename(session: Id, title: Title, store: StorePath = None) -> None:
    """Give a session another title."""
    with open_corrections(store) as (kept, config):
        old = find_given(kept, config, session)
        new = corrections.rename_session(kept, config, old, " ".join(title), format_now())
    print_line(f"renamed {new.id}: {quote_title(old)} is now {quote_title(new)}")


@app.command("mark")
def mark(session: Id, verdict: Verdict = None, why: Why = "", undo: Undo = False, store: StorePath = None) -> None:
    """Say how a session ended. Your word wins, over the judge and over rework, in every report."""
    if (verdict is None) is not undo:
        raise BadInput(f"give either a verdict ({', '.join(VERDICTS)}) or --undo")
    check_word(verdict, [*VERDICTS], "VERDICT")
    with open_corrections(store) as (kept, config):
        found = find_given(kept, config, session)
        if verdict is None:
            after = corrections.withdraw_verdict(kept, config, found, format_now())
            print_line(f"{after.id} {quote_title(after)}: {describe_withdrawal(after)}")
        else:
            after = corrections.mark_landing(kept, config, found, VERDICTS[verdict], why, format_now())
            print_line(f"marked {after.id} {quote_title(after)}: {explain_outcome(after)}")


@app.command("marks")
def marks(as_json: AsJson = False, store: StorePath = None) -> None:
    """List the sessions of which you said how they ended, by mark or in an audit."""
    with open_corrections(store) as (kept, config):
        found = corrections.list_marked(kept, config)
        strangers = corrections.count_strangers(kept)
    if as_json:
        print_json(SessionsView(sessions=found, ledger=()))
    elif found:
        let_pipe_close()
        console = Console()
        console.print(render_marks(found, pick_zone(config), console.width))
    if not found:
        print_note("no session is marked yet; `assay session mark ID landed` marks one, `assay audit 40` asks you")
    if strangers:
        print_note(f"{format_count(strangers, 'verdict')} on sessions that are not here; they hold once these turn up")


def describe_withdrawal(session: Session) -> str:
    """What holds of a session after a verdict was taken back."""
    return f"taken back; {explain_outcome(session)}" if session.marked else "taken back; the judge's word holds again"


def find_given(kept: Store, config: Config, given: str) -> Session:
    """The session that is meant; a path is none."""
    check_id(given)
    return find_one_session(kept, config, given)


@contextmanager
def open_corrections(store: str | None) -> Iterator[tuple[Store, Config]]:
    """A store that is there, and the settings that hold."""
    config = load_last_config(store=store)
    with closing(open_existing_store(pick_store_url(config.store, os.environ))) as kept:
        yield kept, config


def quote_title(session: Session) -> str:
    return f"“{format_line(session.title, 60)}”"


def format_now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def print_line(what: str) -> None:
    sys.stdout.write(f"{what}\n")
