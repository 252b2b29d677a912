"""`assay export`: what was told of sessions, as a lake of Parquet files or as JSON lines."""

import os
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from rich.text import Text

from assay.cli.options import AsJson, Jobs, Paths, StorePath, Timezone, check_word, options, read_overrides
from assay.cli.output import let_pipe_close, print_json
from assay.cli.progress import ProgressBar, open_transcripts
from assay.cli.settings import load_last_config
from assay.cli.terminal import Console
from assay.config import pick_zone
from assay.evals.running.recorded_run import load_run
from assay.lake.parquet import import_extra
from assay.lake.partitions import NewPartition, name_run
from assay.lake.rows import build_trial
from assay.pipeline.export import ExportChoice, ExportReport, export_lake, tell_sessions
from assay.pipeline.judgement import hash_values
from assay.pipeline.score import open_run
from assay.reports.format import format_count, sanitize_text
from assay.scores import profiles

EXAMPLE = "Example: `assay export -o lake`, then `assay score lake --by week`, or DuckDB on `lake/sessions/*/*.parquet`"
FORMS = ("parquet", "jsonl")

Folder = Annotated[
    Path,
    typer.Option("--output", "-o", metavar="DIR", help="The lake: a new folder, or one to bring up to date."),
]
FormName = Annotated[
    str, typer.Option("--format", metavar="FORM", help="`parquet`, which needs the extra `lake`, or `jsonl`.")
]
Words = Annotated[bool, typer.Option("--words", help="Of turns, what was said too, redacted; else facts alone.")]
Turns = Annotated[bool, typer.Option("--turns/--no-turns", help="A row for each turn; takes the longest.")]
QualityBy = Annotated[
    str | None,
    typer.Option("--quality", metavar="PROFILE", help="Judge quality offline by this profile, and export it."),
]
Runs = Annotated[
    list[Path] | None,
    typer.Option(
        "--run", metavar="DIR", help="Also the trials of this recorded evaluation; any number.", readable=False
    ),
]


class ExportRequest(Struct, frozen=True, kw_only=True):
    """What `assay export` takes."""

    output: Folder
    paths: Paths = None
    form: FormName = "parquet"
    turns: Turns = True
    words: Words = False
    quality: QualityBy = None
    runs: Runs = None
    timezone: Timezone = None
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


@options(ExportRequest)
def command(request: ExportRequest) -> None:
    """Write sessions, turns, judgements and ledger to a folder of files that `score`, DuckDB and others can read."""
    choice = build_choice(request)
    config = load_last_config(**read_overrides(request))
    zone = pick_zone(config)
    with (
        open_transcripts(request.paths, config, request.jobs) as transcripts,
        open_run(transcripts.store, config, transcripts.changes.roots, jobs=request.jobs) as run,
    ):
        with ProgressBar("judging") as bar:
            tell_sessions(run, zone, bar.show)
        with ProgressBar("exporting", "items") as bar:
            folder = request.output.expanduser()
            found = export_lake(run, folder, choice, zone, transcripts.changes.unreadable, bar.show)
    if request.as_json:
        print_json(found)
    else:
        print_export(found)


def build_choice(request: ExportRequest) -> ExportChoice:
    """What is asked for; what can't be is refused before anything is read."""
    check_word(request.form, FORMS, "--format")
    if request.form == "parquet":
        import_extra("pyarrow.parquet")
    profile = None
    if request.quality:
        profile = profiles.load_profile(request.quality, profiles.list_folders(os.environ, Path.cwd()))
    return ExportChoice(
        form="jsonl" if request.form == "jsonl" else "parquet",
        turns=request.turns,
        words=request.words,
        profile=profile,
        others=[load_trials(path) for path in request.runs or ()],
    )


def load_trials(path: Path) -> NewPartition:
    """The trials of a recorded run."""
    found = load_run(path.expanduser())
    name = found.folder.name
    rows = [build_trial(name, trial) for trial in found.trials]
    return NewPartition(table="evaluations", name=name_run(name), digest=hash_values(rows), list_rows=lambda: rows)


def print_export(found: ExportReport) -> None:
    """Print what a lake holds by now, for people."""
    let_pipe_close()
    rows = ", ".join(f"{table} {n:,}" for table, n in found.rows.items())
    words = "with words" if found.words else "no words of turns"
    changed = format_count(len(found.changed), "part") if found.changed else "nothing"
    console = Console()
    console.print(Text(sanitize_text(f"{found.folder}: {rows} ({words})")), soft_wrap=True)
    console.print(Text(f"{changed} written, of {format_count(found.parts, 'part')}"), soft_wrap=True)
