"""From a request to a report: transcripts are read, sessions judged, and an empty selection is explained."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import tzinfo
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from assay.cli.consent import Consent, open_allowed_models
from assay.cli.options import list_given
from assay.cli.progress import ProgressBar, open_transcripts
from assay.cli.settings import list_what_ifs, load_settings, save_last_report
from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.files import LAKE
from assay.llm import Question
from assay.pipeline import privacy
from assay.pipeline.inputs import parse_project, parse_time, pick_report_time
from assay.pipeline.judgement import is_judge
from assay.pipeline.models import ModelAccess
from assay.pipeline.pool import ignore_progress
from assay.pipeline.score import Transcripts, open_run, score_run
from assay.pipeline.scoring_run import Selection
from assay.reports.format import format_count, format_line, format_list, format_time, shorten_paths
from assay.scores.report import Report, WhatIf


class SelectionRequest(Protocol):
    """The options that select sessions."""

    @property
    def since(self) -> str | None: ...
    @property
    def until(self) -> str | None: ...
    @property
    def project(self) -> str | None: ...


class ReportRequest(SelectionRequest, Protocol):
    """The options that every command with a report has."""

    @property
    def paths(self) -> Sequence[Path] | None: ...
    @property
    def jobs(self) -> int: ...


class ReportAnswer(Struct, frozen=True, kw_only=True):
    """A report, the time zone it is printed in, and a note where it is empty."""

    report: Report
    zone: tzinfo
    note: str = ""
    transcripts: Transcripts | None = None
    """What it was made of, where it is about all of them."""


@contextmanager
def answer_request(
    request: ReportRequest, config: Config, consent: Consent | None = None, *, remembers: bool = False
) -> Iterator[ReportAnswer]:
    """Read what is new, judge what is new, and report; without consent no model is asked anything new.

    Of a report that is remembered, the next one tells what changed since. Its sessions can be read while it is open.
    """
    if folder := find_lake(request.paths):
        with answer_from_lake(folder, request, config) as answer:
            yield answer
        return
    here = pick_zone(config)
    selection = build_selection(request, config)
    with open_transcripts(request.paths, config, request.jobs) as transcripts:
        score = partial(score_transcripts, transcripts, config, jobs=request.jobs)
        report = score(selection, consent=consent, remembers=remembers)
        if report.waterfall.sessions:
            is_all = selection == Selection() and not report.lost and not report.what_if
            yield ReportAnswer(report=report, zone=here, transcripts=transcripts if is_all else None)
            return
        everything = score(Selection()) if selection != Selection() else report
        if not everything.waterfall.sessions:
            rules = privacy.build_rules(config, pick_report_time(config))
            raise BadInput(import_module("assay.cli.streams").explain_nothing(transcripts, rules))
        yield ReportAnswer(report=report, zone=here, note=explain_empty_selection(request, everything, here))


def find_lake(paths: Sequence[Path] | None) -> Path | None:
    """The lake that a question is about, if it is about one."""
    named = [os.path.expanduser(path) for path in paths or ()]
    lakes = [Path(one) for one in named if os.path.isfile(os.path.join(one, LAKE))]  # what is closed is no lake
    if lakes and len(paths or ()) > 1:
        raise BadInput(f"{lakes[0]} is a lake: ask about it alone, without other paths")
    return lakes[0] if lakes else None


@contextmanager
def answer_from_lake(folder: Path, request: ReportRequest, config: Config) -> Iterator[ReportAnswer]:
    """The report on a lake, as it was told when it was exported."""
    if given := [one for one in list_given(request) if one not in ("--store", "--timezone")]:
        raise BadInput(f"{folder} is a lake, told as it was exported: {given[0]} can't change that; leave it out")
    with import_module("assay.pipeline.lake_report").open_lake_reports(folder) as lake:
        here = lake.zone or pick_zone(config)
        if config.timezone and str(pick_zone(config)) != str(here):
            raise BadInput(f"{folder}: days begin in {here} in this lake; leave --timezone out, or export it anew")
        selection = build_selection(request, config, here)
        report = lake.report(selection)
        note = ""
        if not report.waterfall.sessions:
            note = explain_empty_selection(request, lake.report(Selection()), here)
        yield ReportAnswer(report=report, zone=here, note=note)


def build_selection(request: SelectionRequest, config: Config, zone: tzinfo | None = None) -> Selection:
    """Which sessions a request selects, made exact."""
    here = zone or pick_zone(config)
    selection = Selection(
        since=parse_time(request.since, "--since", here),
        until=parse_time(request.until, "--until", here),
        project=parse_project(request.project),
    )
    if selection.since and selection.until and selection.since >= selection.until:
        raise BadInput(f"--since {request.since} is not before --until {request.until}; nothing can lie between them")
    return selection


def score_transcripts(
    transcripts: Transcripts,
    config: Config,
    selection: Selection,
    *,
    jobs: int,
    consent: Consent | None = None,
    remembers: bool = False,
) -> Report:
    """The report on the sessions that are selected; one that is remembered is what the next tells changes from."""
    open_one = partial(open_run, transcripts.store, config, transcripts.changes.roots, selection=selection, jobs=jobs)
    changes = transcripts.changes
    flags = list_what_ifs(config) if remembers else ()
    beside = score_by_settings(transcripts, config, selection) if flags else None

    def list_questions(desk: ModelAccess) -> Iterator[Question]:
        with open_one(models=desk) as run:
            yield from run.list_questions()

    with (
        open_allowed_models(transcripts.store, config, consent, list_questions) as models,
        ProgressBar("judging") as bar,
    ):
        watch = ignore_progress if models.client else bar.show
        with open_one(models=models) as run:
            is_told = remembers and not flags
            report = score_run(run, changes.unreadable, watch, remembers=is_told, listing=changes.listing).report
    if remembers:
        save_last_report(transcripts.store, config, report.judge.model)
    what_if = WhatIf(flags=list(flags), score=beside.score if beside else None) if flags else None
    return replace(report, what_if=what_if)


def score_by_settings(transcripts: Transcripts, config: Config, selection: Selection) -> Report | None:
    """The report that the settings alone would give, where all of it is judged already."""
    here = load_settings()
    if not is_judge(here.judge):
        return None
    plain = replace(config, judge=here.judge, boundaries=here.boundaries, model=here.model)
    with open_run(transcripts.store, plain, transcripts.changes.roots, selection=selection, jobs=1) as run:
        return None if run.find_waiting(set()) else score_run(run, remembers=False).report


def explain_empty_selection(request: SelectionRequest, everything: Report, here: tzinfo) -> str:
    """That a selection leaves nothing, and what there would have been without it."""
    given = {"--since": request.since, "--until": request.until, "--project": request.project}
    options = " ".join(f"{option} {format_line(value, 60)}" for option, value in given.items() if value)
    began = [session.started_at for session in everything.sessions if session.started_at]
    note = f"none of {format_count(len(everything.sessions), 'session')} fits {options}"
    if began and (request.since or request.until):
        first, last = format_time(min(began), here), format_time(max(began), here)
        note += f"; the first one began {first}, the last {last}"
    if request.project:
        names = sorted(
            set(shorten_paths(session.repository or session.project for session in everything.sessions).values())
        )
        note += f"; projects: {format_line(format_list(names, 6), 200)}"
    return note
