"""The progress bar of every command: on a terminal; in a pipe there is none."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from assay.config import Config
from assay.pipeline.score import Transcripts, read_transcripts

if TYPE_CHECKING:
    from rich.progress import Progress

COLUMNS = {
    "bytes": ("BarColumn", "DownloadColumn", "TimeRemainingColumn"),
    "items": ("BarColumn", "MofNCompleteColumn", "TimeElapsedColumn"),
}


class ProgressBar:
    """How much of something is done; it is drawn from the first step on, and goes away at the end."""

    def __init__(self, doing: str, unit: Literal["bytes", "items"] = "bytes") -> None:
        self.unit = unit
        self.bar: Progress | None = None
        if sys.stderr.isatty():
            self.bar = build_bar(doing, unit)
            self.task = self.bar.add_task(doing, total=None, note="")

    def show(self, done: int, total: int, note: str = "") -> None:
        """Draw how much of all is done, with a note behind it."""
        if self.bar is None:
            return
        if (done or self.unit == "items") and not self.bar.live.is_started:
            self.bar.start()
        self.bar.update(self.task, completed=done, total=total, note=note)
        if self.unit == "items" and done == total:
            self.bar.stop()

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self.bar:
            self.bar.console.print(line, markup=False, highlight=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()


def build_bar(doing: str, unit: str) -> "Progress":
    """A bar of the library's; that is imported only where somebody looks."""
    from rich import progress  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    drawn = [getattr(progress, name)() for name in COLUMNS[unit]]
    columns = [progress.TextColumn(doing), *drawn, progress.TextColumn("{task.fields[note]}")]
    return progress.Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def open_transcripts(
    paths: Sequence[Path] | None, config: Config, jobs: int, *, may_be_empty: bool = False, with_facts: bool = False
) -> Iterator[Transcripts]:
    """Read what is new under a progress bar, then hand out the store."""
    with ExitStack() as stack:
        with ProgressBar("reading") as bar:
            transcripts = stack.enter_context(
                read_transcripts(paths, config, jobs, bar.show, may_be_empty=may_be_empty, with_facts=with_facts)
            )
        yield transcripts
