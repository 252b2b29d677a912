"""Where answers go: JSON to stdout, and with `-o FILE` a report to a file, in the format that its ending names."""

import os
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, tzinfo
from importlib import import_module
from pathlib import Path
from typing import Annotated, cast

import typer

from assay.errors import BadInput
from assay.files import write_atomically
from assay.reports.format import sanitize_text
from assay.reports.json import encode_document
from assay.reports.spreadsheet import render_csv
from assay.scores.report import Report
from assay.types import Document

Output = Annotated[
    list[Path] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Keep it in a file too: .html, .md, .csv or .json; any number.",
        readable=False,
    ),
]


def render_markdown(report: Report, zone: tzinfo) -> bytes:
    """A report as Markdown; what draws it is imported only here."""
    return cast(bytes, import_module("assay.reports.markdown").render_markdown(report, zone))


def render_page(report: Report, zone: tzinfo) -> bytes:
    """A report as one page that needs nothing else; what draws it is not on every machine."""
    try:
        page = import_module("assay.web.report")
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("assay"):
            raise
        raise BadInput("a page needs htpy: pip install 'assay[web]'") from None
    return cast(bytes, page.render_report(report, zone, datetime.now(zone).date().isoformat()))


FORMATS: dict[str, Callable[[Report, tzinfo], bytes]] = {
    ".json": lambda report, _: b"".join(encode_document(report)) + b"\n",
    ".csv": lambda report, _: render_csv(report),
    ".md": render_markdown,
    ".html": render_page,
}


def check_target(path: Path | None, formats: Collection[str] = FORMATS, option: str = "-o") -> Path | None:
    """The file of an option, if it can be written to; refused before anything is judged."""
    if path is None:
        return None
    try:
        target = Path(os.path.realpath(path.expanduser()))
    except (RuntimeError, ValueError, OSError) as error:
        raise BadInput(f"{option} {path}: {error}") from None
    if target.is_dir():
        raise BadInput(f"{option} {path}: is a folder; give a file in it")
    if path.suffix.lower() not in formats:
        raise BadInput(f"{option} {path}: give a file that ends in {', '.join(formats)}")
    if target.exists() and not target.is_file():
        raise BadInput(f"{option} {path}: is a pipe or a device, which a report does not replace; give a file")
    if target.suffix.lower() != path.suffix.lower():
        raise BadInput(f"{option} {path}: leads to {target}, which ends otherwise; give that file itself")
    if not target.parent.is_dir():
        raise BadInput(f"{option} {path}: there is no folder {target.parent}; make it first")
    return target


def check_targets(paths: Sequence[Path] | None, formats: Collection[str] = FORMATS) -> list[Path]:
    """The files of every `-o`, each once and checked before anything is judged."""
    return [*dict.fromkeys(target for path in paths or () if (target := check_target(path, formats)))]


def write_report(report: Report, zone: tzinfo, target: Path) -> None:
    """Write a report to the file of `-o`."""
    write_target(FORMATS[target.suffix.lower()](report, zone), target)


def write_target(content: bytes, target: Path, option: str = "-o") -> None:
    """Write the file whole or not at all; the mode of one that was there holds."""
    try:
        write_atomically(target, content, target.stat().st_mode & 0o777 if target.is_file() else 0o666)
    except OSError as error:
        raise BadInput(f"{option} {target}: can't be written: {error.strerror or error}") from None


def print_written(target: Path) -> None:
    """Print on stderr that a file was written."""
    print(f"assay: wrote {sanitize_text(str(target))}", file=sys.stderr)


def print_note(note: str) -> None:
    """Print a line on stderr, behind all that was printed before."""
    sys.stdout.flush()
    print(f"assay: {sanitize_text(note)}", file=sys.stderr)


def print_json(document: Document) -> None:
    """Print a document for machines: every `--json` is an object with `kind` and `schema_version`."""
    let_pipe_close()
    for part in encode_document(document):
        sys.stdout.buffer.write(part)
    sys.stdout.buffer.write(b"\n")


def let_pipe_close() -> None:
    """Before printing: whoever reads may leave early, as `head` does."""
    if hasattr(signal, "SIGPIPE") and sys.stdout is sys.__stdout__:  # not where somebody else runs us and listens
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
