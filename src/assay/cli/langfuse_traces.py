"""Transcripts sent into Langfuse as sessions, and what was written there taken back: `upload` and `forget`."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated

import typer
from msgspec import Struct

from assay.cli.answer import build_selection
from assay.cli.consent import YES, ask_person
from assay.cli.langfuse_options import DryRun, Recheck, Sessions, Wait, find_pull_folder, open_client
from assay.cli.langfuse_report import INCOMPLETE, NAME, print_answer, redact_answer
from assay.cli.options import AsJson, Jobs, Paths, Project, StorePath, Until, read_overrides
from assay.cli.progress import open_transcripts
from assay.cli.settings import load_settings
from assay.errors import BadInput
from assay.langfuse import (
    LONE,
    WAIT_S,
    Delivery,
    ForgetReport,
    UploadedSession,
    UploadReport,
    fetch_own_ids,
    find_project,
    name_file,
    take_out,
)
from assay.pipeline.langfuse_upload import list_uploadable, upload_streams
from assay.pipeline.store_care import forget_files
from assay.reports.format import format_count, format_line, sanitize_text
from assay.stores import UPLOADED, open_store, pick_store_url

Into = Annotated[
    str, typer.Option("--environment", metavar="NAME", help="The environment that the sessions get in Langfuse.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking you first.")]


class UploadRequest(Struct, frozen=True, kw_only=True):
    """What `assay langfuse upload` takes."""

    paths: Paths = None
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only what went on after this.")] = None
    until: Until = None
    project: Project = None
    environment: Into = ""
    yes: Yes = False
    dry_run: DryRun = False
    recheck: Recheck = False
    wait: Wait = WAIT_S
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


def upload_transcripts(request: UploadRequest) -> None:
    """Send what is wanted, and say what became of it."""
    config = load_settings(**read_overrides(request))
    selection = build_selection(request, config)
    with open_client() as client, open_transcripts(request.paths, config, request.jobs) as transcripts:
        store, project = transcripts.store, find_project(client)
        streams = list_uploadable(store, transcripts.changes.roots, selection)
        what = f"the words of {format_count(len(streams), 'conversation')}, redacted, to {client.host}"
        if streams and not request.dry_run:
            confirm(f"this sends {what}", request.yes, "assay langfuse upload --dry-run")
        delivery = Delivery(
            client=client,
            store=store,
            project=project,
            dry_run=request.dry_run,
            recheck=request.recheck,
            wait_s=request.wait,
        )
        done = upload_streams(delivery, streams, config, request.environment)
    found = redact_answer(UploadReport(host=project.host, project=project.project, sessions=done))
    print_answer(request.as_json, found, describe_upload(found.sessions))
    if any(one.is_fault for one in found.sessions):
        raise typer.Exit(INCOMPLETE)


def confirm(what: str, yes: bool, instead: str) -> None:
    """Go on, or raise: a terminal is asked, a pipe must have said `--yes`."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(f"{what}; nothing was done. Add --yes to go on, `{instead}` says what it would do")
    if ask_person(f"{sanitize_text(what[:1].upper() + what[1:])}. Go on? [y/N] ").strip().lower() not in YES:
        raise BadInput(f"nothing was done; `{instead}` says what it would do")


def describe_upload(done: Sequence[UploadedSession]) -> list[str]:
    """A line for each conversation, and the sum."""
    sums: Counter[str] = Counter()
    lines = []
    for one in done:
        counts = {"sent": one.sent, "there already": one.unchanged, "would be sent": one.would_send}
        sums.update(counts)
        told = [f"{n:,} {what}" for what, n in counts.items() if n] + ([format_line(one.why, 300)] if one.why else [])
        lines.append(f"{format_line(one.session, NAME)}: {', '.join(told) or 'nothing to send'}")
    total = ", ".join(f"{format_count(n, 'trace')} {what}" for what, n in sums.items() if n)
    return [*lines, f"{format_count(len(done), 'session')}: {total or 'nothing to send'}"]


# --- forget -------------------------------------------------------------------------------------


class ForgetRequest(Struct, frozen=True, kw_only=True):
    """What `assay langfuse forget` takes."""

    sessions: Sessions = None
    everything: Annotated[bool, typer.Option("--everything", help="All that this store wrote to the project.")] = False
    yes: Yes = False
    dry_run: DryRun = False
    wait: Wait = WAIT_S
    as_json: AsJson = False
    store: StorePath = None


def forget_scores(request: ForgetRequest) -> None:
    """Take scores out of Langfuse, and delete what was pulled."""
    if bool(request.sessions) == request.everything:
        raise BadInput("say what to forget: ids of sessions, or --everything")
    settings = load_settings(**read_overrides(request))
    with open_client() as client, closing(open_store(pick_store_url(settings.store, os.environ))) as store:
        project = find_project(client)
        delivery = Delivery(client=client, store=store, project=project, dry_run=request.dry_run, wait_s=request.wait)
        ids, sessions = list_forgotten(delivery, request.sessions)
        if ids and not request.dry_run:
            what = f"this deletes {format_count(len(ids), 'score')} of Assay's in {client.host}"
            confirm(what, request.yes, "assay langfuse forget --dry-run")
        scores = take_out(delivery, ids)
        paths = [name_file(find_pull_folder(), project.host, project.project, one) for one in sessions]
        there = [path for path in paths if path.is_file()]
        if not request.dry_run:
            forget_files(store, [str(path) for path in paths])
            for path in there:
                path.unlink()
    done = ForgetReport(
        host=project.host, project=project.project, sessions=sessions, files=[str(one) for one in there], scores=scores
    )
    done = redact_answer(done)
    print_answer(request.as_json, done, describe_forgotten(done))
    if done.scores.not_withdrawn:
        raise typer.Exit(INCOMPLETE)


def list_forgotten(delivery: Delivery, sessions: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """Ids of the scores that shall go, and their sessions: what this store knows of, and what the server shows."""
    rows = [one for one in delivery.store.written.list_rows(delivery.project, sessions) if one.family != UPLOADED]
    found = dict.fromkeys(one.id for one in rows)
    named = list(dict.fromkeys(sessions or (one.session for one in rows if one.session)))
    for one in sessions or ():
        place = {"traceId": one.removeprefix(LONE)} if one.startswith(LONE) else {"sessionId": one}
        found |= dict.fromkeys(fetch_own_ids(delivery.client, place))
    return list(found), named


def describe_forgotten(done: ForgetReport) -> list[str]:
    """What went, and what did not."""
    scores = done.scores
    counts = {"taken out": scores.withdrawn, "would be taken out": scores.would_withdraw}
    told = [f"{format_count(len(some), 'score')} {what}" for what, some in counts.items() if some]
    return [
        *(f"{one.id}: not taken out: {format_line(one.why, 300)}" for one in scores.not_withdrawn),
        *(f"{format_line(path, 300)}: deleted" for path in done.files if not scores.would_withdraw),
        ", ".join(told) or "nothing of ours is there",
    ]
