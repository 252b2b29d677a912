"""`assay import`: runs of benchmarks with the verdicts that their graders gave."""
# ruff: noqa: N999, a command's file is called like the command

import os
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from assay.cli.options import AsJson, Jobs, StorePath, options, read_overrides
from assay.cli.output import check_target, let_pipe_close, print_json, print_note
from assay.cli.progress import open_transcripts
from assay.cli.settings import load_settings
from assay.cli.terminal import Console
from assay.errors import BadInput
from assay.files import write_atomically
from assay.pipeline import privacy
from assay.pipeline.graded_runs import GradedRuns, Label, encode_labels, find_labels, merge_labels, read_labels
from assay.pipeline.inputs import find_files, pick_report_time
from assay.reports.format import format_count, sanitize_text
from assay.sessions.redaction import Redactor
from assay.stores import pick_store_url

EXAMPLE = "Example: `assay import runs/ && python -m benchmarks.gold --graded ~/.local/share/assay/labels.jsonl`"
ENDING = ".jsonl"

Runs = Annotated[
    list[Path],
    typer.Argument(readable=False, help="Folders with trajectories and the results of their benchmark."),
]
LabelsFile = Annotated[
    Path | None,
    typer.Option("--labels", metavar="FILE", help="Where labels are kept; else `labels.jsonl` beside the store."),
]


class ImportRequest(Struct, frozen=True, kw_only=True):
    """What `assay import` takes."""

    runs: Runs
    labels: LabelsFile = None
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


@options(ImportRequest)
def command(request: ImportRequest) -> None:
    """Read graded runs of benchmarks, and keep their verdicts as labels that count as nobody's word."""
    config = load_settings(**read_overrides(request))
    target = pick_labels_file(request.labels, pick_store_url(config.store, os.environ))
    redactor = Redactor(privacy.build_rules(config, pick_report_time(config)).options)
    with open_transcripts(request.runs, config, request.jobs) as found:
        labels, ungraded, disputed = find_labels(found.store, find_files(request.runs))
    clean = [redact_label(one, redactor) for one in labels]
    merged, new = merge_labels(read_labels(target), clean)
    if new:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, encode_labels(merged))
    told = GradedRuns(
        labels_file=redactor.text(str(target)), labels=clean, new=new, ungraded=ungraded, disputed=disputed
    )
    if request.as_json:
        print_json(told)
    else:
        print_runs(told)


def pick_labels_file(given: Path | None, store: str) -> Path:
    """The file of labels: the one that was given, else beside the store; a store that is no file has none beside it."""
    if given is not None:
        return check_target(given, (ENDING,), "--labels") or given
    scheme, _, place = store.partition(":///")
    if scheme != "sqlite" or not place:
        raise BadInput("the store is no file on this machine; say where labels are kept: --labels FILE.jsonl")
    return Path(place).parent / f"labels{ENDING}"


def redact_label(label: Label, redactor: Redactor) -> Label:
    """A label as it may be kept and told: the names of runs are whatever somebody called them."""
    texts = ("stream", "file", "task", "told_by")
    return replace(label, **{name: redactor.text(getattr(label, name)) for name in texts})


def print_runs(told: GradedRuns) -> None:
    """Print what was labelled, by benchmark."""
    let_pipe_close()
    console = Console()
    for name in sorted({one.benchmark for one in told.labels}):
        mine = [one for one in told.labels if one.benchmark == name]
        passed = sum(one.passed for one in mine)
        console.print(Text(f"{name}: {format_count(len(mine), 'run')} graded, {passed:,} did the task"))
    if not told.labels:
        console.print(Text("no run here has a verdict; give the folder that holds results beside trajectories"))
    if told.ungraded:
        print_note(f"{format_count(told.ungraded, 'transcript')} without a verdict")
    if told.disputed:
        print_note(f"{format_count(told.disputed, 'transcript')} of which results disagree: without a label")
    if told.labels:
        print_note(f"{told.new:,} new in {sanitize_text(told.labels_file)}; they count for no score")
