"""`assay session`: a person's corrections, which win over every later run."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer

from assay.cli.options import StorePath
from assay.cli.settings import load_last_config
from assay.config import Config
from assay.pipeline import corrections
from assay.pipeline.corrections import find_one_session
from assay.reports.format import format_line
from assay.stores import Store, open_existing_store, pick_store_url
from assay.types import Session

EXAMPLE = "Example: `assay session split 3f2a91c0 4`"

app = typer.Typer(
    help="Correct where sessions begin and what they are called; kept for good.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Id = Annotated[str, typer.Argument(metavar="SESSION", help="Id of a session, or how it begins.")]
Other = Annotated[str, typer.Argument(metavar="OTHER", help="Id of the session that belongs to it.")]
TurnOf = Annotated[str, typer.Argument(metavar="TURN", help="Number of a turn as `assay show` prints it, or its id.")]
Title = Annotated[list[str], typer.Argument(metavar="TITLE…", help="The new title, at most 60 characters.")]


@app.command("split")
def split(session: Id, turn: TurnOf, store: StorePath = None) -> None:
    """Let a new session begin with a turn of this one."""
    with open_corrections(store) as (kept, config):
        before, after = corrections.split_session(
            kept, config, find_one_session(kept, config, session), turn, format_now()
        )
    print_line(f"split {before.id} {quote_title(before)}: {after.id} {quote_title(after)} is a session of its own")


@app.command("merge")
def merge(session: Id, other: Other, store: StorePath = None) -> None:
    """Make one session of two."""
    with open_corrections(store) as (kept, config):
        one, two = find_one_session(kept, config, session), find_one_session(kept, config, other)
        whole = corrections.merge_sessions(kept, config, one, two, format_now())
    print_line(f"merged {two.id} into {one.id}: {whole.id} {quote_title(whole)} is both")


@app.command("rename")
def rename(session: Id, title: Title, store: StorePath = None) -> None:
    """Give a session another title."""
    with open_corrections(store) as (kept, config):
        old = find_one_session(kept, config, session)
        new = corrections.rename_session(kept, config, old, " ".join(title), format_now())
    print_line(f"renamed {new.id}: {quote_title(old)} is now {quote_title(new)}")


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
