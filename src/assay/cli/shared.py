"""What several commands need: options, the scan with its progress bar, times."""

import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from assay.config import store_url
from assay.errors import BadInput
from assay.pipeline import scan as scanning
from assay.pipeline.discover import Found, discover, usual_roots
from assay.pipeline.pool import cores
from assay.stores.sql import Store, open_store

Paths = Annotated[
    list[Path] | None,
    typer.Argument(
        readable=False,
        help="Transcripts or folders of them; without any, the places where Claude Code and Codex keep theirs.",
    ),
]
StorePath = Annotated[
    str | None,
    typer.Option("--store", metavar="FILE", help="Where results are kept; else $ASSAY_STORE, else your data folder."),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=0, help="Processes to read with; 0 is one per core.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else.")]

AGO = re.compile(r"(\d+)([hdw])")
UNITS = {"h": "hours", "d": "days", "w": "weeks"}


class UpToDate(Struct, frozen=True):
    """An open store that is up to date, and what bringing it there took."""

    store: Store
    outcome: scanning.Changes
    seconds: float


@contextmanager
def scanned(
    paths: Sequence[Path] | None, store: str | None, jobs: int, *, may_be_empty: bool = False
) -> Iterator[UpToDate]:
    """Read what is new, then hand out the store; without paths, from where the agents keep transcripts."""
    found = discover(paths) if paths else usual()
    opened = open_store(store_url(store, os.environ))
    try:
        if not found.files and not paths and not may_be_empty and not opened.known(found.roots):
            raise nowhere()
        began = time.perf_counter()
        with bar() as progress:
            outcome = scanning.scan(opened, found, jobs or cores(), progress)
        yield UpToDate(opened, outcome, time.perf_counter() - began)
    finally:
        opened.close()


def usual_places() -> list[Path]:
    """Folders in which the agents keep transcripts."""
    return [root for roots in usual_roots(os.environ, Path.home()).values() for root in roots]


def usual() -> Found:
    """What lies in the usual places; those that vanished count too, for what was read of them is kept."""
    places = usual_places()
    found = discover([place for place in places if place.exists()])
    missing = tuple(os.path.realpath(place) for place in places if not place.exists())
    return replace(found, roots=(*found.roots, *missing))


def nowhere() -> BadInput:
    """There is nothing to read in any of the usual places."""
    looked = "\n  ".join(str(place) for place in usual_places())
    return BadInput(
        f"no transcripts found; looked in\n  {looked}\n"
        "give the folder that has them, or try `assay demo` for bundled examples"
    )


@contextmanager
def bar() -> Iterator[scanning.Progress]:
    """A progress bar on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    task = shown.add_task("reading", total=None)

    def show(done: int, total: int) -> None:
        if done and not shown.live.is_started:
            shown.start()
        shown.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        shown.stop()


def moment(given: str | None, option: str) -> str:
    """A day, a time or "7d" ago, as records write it."""
    if not given:
        return ""
    ago = AGO.fullmatch(given.strip())
    try:
        if ago:
            when = datetime.now(UTC) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        else:
            when = datetime.fromisoformat(given.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadInput(f"{option} {given!r}: give a day (2026-11-01), a time, or how long ago (12h, 7d, 4w)") from None
    return when.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def project(given: str | None) -> str:
    """A part of a folder's path; a path that exists stands for itself."""
    if given and (given in (".", "..") or "/" in given) and Path(given).expanduser().is_dir():
        return os.path.realpath(Path(given).expanduser())
    return given or ""


def leave_quietly() -> None:
    """Before printing: whoever reads may leave early, as `head` does."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
