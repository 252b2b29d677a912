"""`assay streams`: the conversations that were found, with their facts."""

from typing import Annotated

import typer
from msgspec import Struct
from rich.text import Text

from assay.cli.options import AsJson, Engine, Jobs, Paths, StorePath, options, read_overrides
from assay.cli.output import let_pipe_close, print_json
from assay.cli.progress import open_transcripts
from assay.cli.settings import load_settings
from assay.cli.terminal import Console
from assay.pipeline import privacy
from assay.pipeline.inputs import parse_project, parse_time, pick_report_time
from assay.pipeline.score import Transcripts
from assay.reports.format import format_count, sanitize_text
from assay.reports.json import ReadLines, ScanView, Skip, StreamsView, build_skips, build_stream_view
from assay.reports.streams import describe_doubts, render_streams
from assay.types import StreamSummary

Since = Annotated[str | None, typer.Option(help="Only streams that went on after this: 2026-11-01, or 7d.")]
Until = Annotated[str | None, typer.Option(help="Only streams that began before this.")]
Project = Annotated[
    str | None,
    typer.Option("--project", help="Only streams whose folder has this in its path; `.` is the current one."),
]


EXAMPLE = "Example: `assay streams --since 7d --project .`"


class StreamsRequest(Struct, frozen=True, kw_only=True):
    """What `assay streams` takes."""

    paths: Paths = None
    since: Since = None
    until: Until = None
    project: Project = None
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0
    engine: Engine = None


@options(StreamsRequest)
def command(request: StreamsRequest) -> None:
    """List conversations with what can be established about them without asking any model."""
    selection = (
        parse_time(request.since, "--since"),
        parse_time(request.until, "--until"),
        parse_project(request.project),
    )
    config = load_settings(**read_overrides(request))
    rules = privacy.build_rules(config, pick_report_time(config))
    with open_transcripts(request.paths, config, request.jobs, with_facts=True) as found:
        streams = found.store.transcripts.list_streams(found.changes.roots, *selection)
        summaries = [privacy.redact_summary(stream, rules) for stream in streams]
        if request.as_json:
            print_json(build_streams(found, summaries, rules))
        else:
            print_streams(found, summaries, rules)


def build_streams(found: Transcripts, summaries: list[StreamSummary], rules: privacy.PrivacyRules) -> StreamsView:
    """The streams as JSON, with what was read and what was skipped."""
    files = [row for row in found.store.transcripts.list_tallies(found.changes.roots) if not row.is_gone]
    read = sum(row.lines_read for row in files)
    skipped = sum(row.lines_skipped for row in files)
    unread = found.changes.unreadable
    return StreamsView(
        files=found.changes.files,
        lines=ReadLines(total=read + skipped, read=read, skipped=skipped),
        skipped=[
            *build_skips(privacy.redact_skips(found.store.transcripts.list_skips(found.changes.roots), rules)),
            *(Skip(file=path, line=None, why=why) for path, why in privacy.redact_unreadable(unread, rules)),
        ],
        scan=ScanView(
            seconds=round(found.seconds, 6),
            bytes_read=found.changes.bytes_read,
            new=found.changes.new,
            changed=found.changes.changed,
            gone=found.changes.gone,
        ),
        streams=[build_stream_view(one) for one in summaries],
    )


def explain_nothing(found: Transcripts, rules: privacy.PrivacyRules) -> str:
    """Why there is no stream to list."""
    there = len(found.store.transcripts.list_streams(found.changes.roots))
    if there:
        return f"none of {format_count(there, 'stream')} fits --since, --until and --project"
    if found.changes.unreadable:
        closed = format_count(len(found.changes.unreadable), "file")
        return f"{closed} could not be opened; `assay doctor` says which and why"
    skipped = privacy.redact_skips(found.store.transcripts.list_skips(found.changes.roots), rules)
    foreign = [(path, why) for path, line, why in skipped if not line]
    if foreign:
        path, why = foreign[0]
        more = f", and {format_count(len(foreign) - 1, 'more file')}" if len(foreign) > 1 else ""
        return f"no streams here: {sanitize_text(path)} is {why}{more}"
    return "no transcripts here; give the folder that has them, or see `assay doctor` (what was found) and `assay demo`"


def print_streams(found: Transcripts, summaries: list[StreamSummary], rules: privacy.PrivacyRules) -> None:
    """Print the table of streams."""
    let_pipe_close()
    console = Console()
    if not summaries:
        console.print(Text(explain_nothing(found, rules)))
        return
    console.print(render_streams(summaries, console.width))
    files = f"{format_count(found.changes.files, 'file')}, {found.changes.new} new, {found.changes.changed} changed"
    console.print(Text(f"\n{format_count(len(summaries), 'stream')} in {files}, read in {found.seconds:.2f} s", "dim"))
    skips = found.store.transcripts.list_skips(found.changes.roots)
    if doubts := describe_doubts(len(skips), len(found.changes.unreadable)):
        console.print(Text(doubts, "yellow"))
