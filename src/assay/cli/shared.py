"""What several commands need: options, settings, the scan with its progress bar."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from assay.config import Config, load
from assay.errors import BadInput
from assay.pipeline.pool import Progress as Bytes
from assay.pipeline.score import Transcripts, read_transcripts

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


def settings(**flags: str | float | tuple[str, ...] | None) -> Config:
    """The settings that hold here; flags by their name in `assay.toml`, `_` for its dots."""
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise BadInput("the folder you are in no longer exists; go to another one") from None
    return load(os.environ, here, **flags)


def one_of(given: str | None, allowed: Sequence[str], option: str) -> str | None:
    """A word from a list."""
    if given is not None and given not in allowed:
        raise BadInput(f"{option} {given!r}: give one of {', '.join(allowed)}")
    return given


@contextmanager
def scanned(
    paths: Sequence[Path] | None, config: Config, jobs: int, *, may_be_empty: bool = False, with_facts: bool = False
) -> Iterator[Transcripts]:
    """Read what is new under a progress bar, then hand out the store."""
    with ExitStack() as stack:
        with bar("reading") as progress:
            found = stack.enter_context(
                read_transcripts(paths, config, jobs, progress, may_be_empty=may_be_empty, with_facts=with_facts)
            )
        yield found


@contextmanager
def bar(doing: str) -> Iterator[Bytes]:
    """A progress bar on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    columns = (TextColumn(doing), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    task = shown.add_task(doing, total=None)

    def show(done: int, total: int) -> None:
        if done and not shown.live.is_started:
            shown.start()
        shown.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        shown.stop()


def leave_quietly() -> None:
    """Before printing: whoever reads may leave early, as `head` does."""
    if hasattr(signal, "SIGPIPE") and sys.stdout is sys.__stdout__:  # not where somebody else runs us and listens
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
