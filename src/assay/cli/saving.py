"""`-o FILE`: a report in a file, in the format that its ending names."""

import os
from collections.abc import Callable, Collection
from datetime import tzinfo
from pathlib import Path
from typing import Annotated

import typer

from assay.errors import BadInput
from assay.reports import markdown, table
from assay.reports.safe import encoded
from assay.scores.report import Report

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Keep it in a file too: .json, .csv or .md.", readable=False),
]

FORMATS: dict[str, Callable[[Report, tzinfo], bytes]] = {
    ".json": lambda report, _: encoded(report) + b"\n",
    ".csv": lambda report, _: table.table(report),
    ".md": markdown.report,
}


def checked(path: Path | None, formats: Collection[str] = FORMATS) -> Path | None:
    """The file, if it can be written to; told before anything is judged."""
    if path is None:
        return None
    if path.suffix.lower() not in formats:
        raise BadInput(f"-o {path}: give a file that ends in {', '.join(formats)}")
    try:
        target = Path(os.path.realpath(path.expanduser()))
    except (RuntimeError, ValueError, OSError) as error:
        raise BadInput(f"-o {path}: {error}") from None
    if target.is_dir():
        raise BadInput(f"-o {path}: is a folder; give a file in it")
    if not target.parent.is_dir():
        raise BadInput(f"-o {path}: there is no folder {target.parent}; make it first")
    return target


def save(report: Report, zone: tzinfo, target: Path) -> None:
    """Write a report."""
    write(FORMATS[target.suffix.lower()](report, zone), target)


def write(content: bytes, target: Path) -> None:
    """Write the file whole or not at all: what was there stays until the new one is complete."""
    beside = target.with_name(f".assay.{os.getpid()}.part")
    try:
        try:
            beside.write_bytes(content)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(f"-o {target}: can't be written: {error.strerror or error}") from None
