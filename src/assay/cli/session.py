"""`assay session`: a person's corrections, which win over every later run."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer

from assay.cli.shared import StorePath
from assay.cli.wanted import Given, as_reported
from assay.config import Config
from assay.pipeline import corrections
from assay.pipeline.corrections import find_one_session
from assay.reports.safe import one_line
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
    with opened(store) as (kept, config):
        before, after = corrections.split_session(kept, config, find_one_session(kept, config, session), turn, now())
    tell(f"split {before.id} {called(before)}: {after.id} {called(after)} is a session of its own")


@app.command("merge")
def merge(session: Id, other: Other, store: StorePath = None) -> None:
    """Make one session of two."""
    with opened(store) as (kept, config):
        one, two = find_one_session(kept, config, session), find_one_session(kept, config, other)
        whole = corrections.merge_sessions(kept, config, one, two, now())
    tell(f"merged {two.id} into {one.id}: {whole.id} {called(whole)} is both")


@app.command("rename")
def rename(session: Id, title: Title, store: StorePath = None) -> None:
    """Give a session another title."""
    with opened(store) as (kept, config):
        old = find_one_session(kept, config, session)
        new = corrections.rename_session(kept, config, old, " ".join(title), now())
    tell(f"renamed {new.id}: {called(old)} is now {called(new)}")


@contextmanager
def opened(store: str | None) -> Iterator[tuple[Store, Config]]:
    """A store that is there, and the settings that hold."""
    config = as_reported(Given(store=store))
    url = pick_store_url(config.store, os.environ)
    kept = open_existing_store(url)
    try:
        yield kept, config
    finally:
        kept.close()


def called(session: Session) -> str:
    return f"“{one_line(session.title, 60)}”"


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def tell(what: str) -> None:
    """One line."""
    sys.stdout.write(f"{what}\n")
