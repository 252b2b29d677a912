"""`assay store`: what is kept and where, moved, backed up, checked, and cleared of old words."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text

from assay.cli.options import AsJson, StorePath
from assay.cli.output import let_pipe_close, print_json
from assay.cli.progress import ProgressBar
from assay.cli.settings import load_settings, name_person
from assay.cli.terminal import Console
from assay.config import load_own_tenants
from assay.errors import BadInput, StoreError
from assay.pipeline.retention import forget_expired, note_deletion
from assay.pipeline.store_care import copy_store, forget_before
from assay.reports.format import format_count, format_number, sanitize_text
from assay.reports.store import StoreAction, StoreCheckup, StoreInfo, render_store
from assay.stores import Store, open_existing_store, pick_store_url

EXAMPLE = "Example: `assay store backup ~/assay-backup.db`, `assay store move postgresql://ada@db.example/assay`"

app = typer.Typer(
    help="See what is kept and where; move it, back it up, check it, clear it of old words.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Target = Annotated[str, typer.Argument(metavar="STORE", help="A file that is not there yet, or postgresql://…")]
BackupFile = Annotated[str, typer.Argument(metavar="FILE", help="A file that is not there yet.")]
Backup = Annotated[str, typer.Argument(metavar="FILE", help="A backup, or any store.")]
OlderThan = Annotated[
    int | None,
    typer.Option(
        "--older-than", metavar="DAYS", min=1, help="Words of all sessions that ended longer ago, whosever they are."
    ),
]
Sure = Annotated[bool, typer.Option("--yes", "-y", help="Delete without asking first.")]


@app.command("info")
def info(store: StorePath = None, as_json: AsJson = False) -> None:
    """Tell where the store is, how large it is, and what it holds."""
    with open_own(store) as kept:
        found = StoreInfo(where=kept.where, bytes=kept.count_bytes(), holds=kept.measure())
    if as_json:
        print_json(found)
    else:
        let_pipe_close()
        Console().print(render_store(found))


@app.command("check")
def check(store: StorePath = None, as_json: AsJson = False) -> None:
    """Look through the whole store for damage; exit code 2 where there is some."""
    with open_own(store) as kept:
        found = StoreCheckup(where=kept.where, problems=kept.check())
    if as_json:
        print_json(found)
    else:
        let_pipe_close()
        print_lines(*(found.problems or [f"{found.where} is sound"]))
    if found.problems:
        raise StoreError(
            f"{found.where} is damaged; restore a backup (`assay store restore FILE`), or move it away and score anew"
        )


@app.command("move")
def move(target: Target, store: StorePath = None, as_json: AsJson = False) -> None:
    """Copy all that is kept to another store, in a file or in PostgreSQL; the old one stays until you delete it."""
    with open_own(store) as kept:
        done = copy(kept, target)
        old = kept.where
    tell(done, as_json, f"{old} is as it was; use the new one with --store, ASSAY_STORE or `store` in assay.toml")


@app.command("backup")
def backup(file: BackupFile, store: StorePath = None, as_json: AsJson = False) -> None:
    """Copy all that is kept to a file, while others go on using the store."""
    if "://" in file:
        raise BadInput(f"{file}: a backup is a file; `assay store move` copies to a server")
    with open_own(store) as kept:
        done = copy(kept, file)
    tell(done, as_json, f"bring it back with `assay store restore {file}`")


@app.command("restore")
def restore(file: Backup, store: StorePath = None, as_json: AsJson = False) -> None:
    """Fill a store that is not there yet from a backup; one that is there is moved away by you, never by this."""
    target = pick_store_url(load_settings(store=store).store, os.environ)
    with closing(open_existing_store(pick_store_url(file, os.environ))) as kept:
        if problems := kept.check():
            raise StoreError(f"{kept.where} is damaged ({problems[0]}); restore another backup")
        done = copy(kept, target)
    tell(done, as_json, "")


@app.command("prune")
def prune(older_than: OlderThan = None, store: StorePath = None, yes: Sure = False, as_json: AsJson = False) -> None:
    """Delete words that are kept too long, by `retention_days` or by age; facts stay, but no score counts them."""
    now = datetime.now(UTC)
    with open_own(store) as kept:
        before = kept.count_bytes()
        if older_than is not None:
            confirm(yes, f"Delete the words of what ended more than {older_than} days ago? It will count in no score.")
            forgotten = forget_before(kept, now - timedelta(days=older_than))
            note_deletion(kept, name_person(), f"what ended more than {older_than} days ago", forgotten)
        else:
            forgotten = forget_expired(kept, load_own_tenants(os.environ), now)
        kept.shrink()
        done = StoreAction(where=kept.where, forgotten=forgotten, bytes=kept.count_bytes())
    if as_json:
        print_json(done)
        return
    gone = format_count(forgotten, "conversation")
    print_lines(f"deleted the words of {gone}; {format_number(before)}B before, {format_number(done.bytes)}B now")


def copy(kept: Store, target: str) -> StoreAction:
    """Copy a store, with a bar."""
    url = pick_store_url(target, os.environ)
    with ProgressBar("copying", "items") as bar:
        rows = copy_store(kept, url, bar.show)
    with closing(open_existing_store(url)) as there:
        return StoreAction(where=there.where, rows=rows, bytes=there.count_bytes())


def tell(done: StoreAction, as_json: bool, then: str) -> None:
    """Say what was copied where, and what to do with it."""
    if as_json:
        print_json(done)
        return
    print_lines(
        f"{format_count(done.rows, 'row')} now in {done.where} ({format_number(done.bytes)}B)", *filter(None, [then])
    )


def confirm(is_sure: bool, question: str) -> None:
    """Ask before anything is deleted; where nobody can answer, `--yes` must have been said."""
    if is_sure:
        return
    if not os.isatty(0):
        raise BadInput("prune --older-than deletes for good, and what has no words counts in no score: say --yes")
    typer.confirm(question, abort=True)


def print_lines(*lines: str) -> None:
    for line in lines:
        Console().print(Text(sanitize_text(line)), soft_wrap=True)


@contextmanager
def open_own(given: str | None) -> Iterator[Store]:
    """The store of the settings, which must be there."""
    with closing(open_existing_store(pick_store_url(load_settings(store=given).store, os.environ))) as kept:
        yield kept
