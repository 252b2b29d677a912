"""`-o FILE`: a report in a file, in the format that its ending names."""

import os
from collections.abc import Callable, Collection
from datetime import tzinfo
from pathlib import Path
from typing import Annotated

import typer

from assay.errors import BadInput
from assay.files import write_atomically
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
    if target.exists() and not target.is_file():
        raise BadInput(f"-o {path}: is a pipe or a device, which a report does not replace; give a file")
    if target.suffix.lower() != path.suffix.lower():
        raise BadInput(f"-o {path}: leads to {target}, which ends otherwise; give that file itself")
    if not target.parent.is_dir():
        raise BadInput(f"-o {path}: there is no folder {target.parent}; make it first")
    return target


def save(report: Report, zone: tzinfo, target: Path) -> None:
    """Write a report."""
    write(FORMATS[target.suffix.lower()](report, zone), target)


def write(content: bytes, target: Path) -> None:
    """Write the file whole or not at all; the mode of one that was there holds."""
    try:
        write_atomically(target, content, target.stat().st_mode & 0o777 if target.is_file() else 0o666)
    except OSError as error:
        raise BadInput(f"-o {target}: can't be written: {error.strerror or error}") from None
