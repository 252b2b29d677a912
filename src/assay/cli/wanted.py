"""What `assay score` and `assay sessions` are asked for, and the report that answers it."""

import os
from collections.abc import Iterator, Sequence
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from assay.cli import streams
from assay.cli.consent import Consent, asking
from assay.cli.remembering import last, made, remember
from assay.cli.shared import bar, one_of, scanned, settings
from assay.config import Config, zone
from assay.errors import BadInput
from assay.git.repo import open_repo
from assay.llm import Question
from assay.pipeline import privacy
from assay.pipeline.inputs import parse_project, parse_time, pick_report_time
from assay.pipeline.judgement import check_judge, is_judge
from assay.pipeline.models import ModelAccess
from assay.pipeline.pool import ignore_progress
from assay.pipeline.score import Transcripts, open_run, score_run
from assay.pipeline.scoring_run import Selection
from assay.reports import terminal
from assay.reports.safe import many, one_line
from assay.reports.words import listed, places
from assay.scores.report import Report

COMMIT = ("confirm", "hard", "off")

Since = Annotated[str | None, typer.Option(metavar="TIME", help="Only what went on after this: 2026-11-01, or 7d.")]
Until = Annotated[str | None, typer.Option(metavar="TIME", help="Only what began before this.")]
Project = Annotated[
    str | None,
    typer.Option("--project", metavar="FOLDER", help="Only folders with this in their path; `.` is the current one."),
]
Judge = Annotated[
    str | None, typer.Option("--judge", metavar="NAME", help="Who judges; `offline` needs no key and no network.")
]
Commit = Annotated[
    str | None,
    typer.Option(
        "--commit",
        metavar="HOW",
        help="Does a commit end a session? `confirm`: unless the next prompt goes on with it; `hard`: always; `off`.",
    ),
]
Timezone = Annotated[
    str | None, typer.Option("--timezone", metavar="ZONE", help="Where days begin: Europe/Berlin; else this machine's.")
]
Repo = Annotated[
    list[Path] | None,
    typer.Option(
        "--repo",
        metavar="FOLDER",
        help="A git repository in which to look for what became of sessions' lines; as often as needed.",
        readable=False,
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="The report as it stood then: commits after it are not looked at."),
]


ModelName = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="The model to ask; without one, the judge's own choice.")
]
ModelUrl = Annotated[
    str | None,
    typer.Option(
        "--model-url", metavar="URL", help="Where it is asked: any endpoint that speaks the judge's protocol."
    ),
]
Votes = Annotated[
    int | None, typer.Option("--votes", metavar="N", help="Ask for each outcome N times; most votes decide.")
]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", metavar="USD", help="Stop asking before this run costs more.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Ask the model without asking you first.")]
Batch = Annotated[
    bool, typer.Option("--batch", help="Ask in batches: cheaper, answered within a day; run the same again to go on.")
]
Again = Annotated[bool, typer.Option("--again", help="Also ask again what the model refused or answered unusably.")]


class Wanted(Struct, frozen=True, kw_only=True):
    """What to score, as it was given; `None` was not."""

    paths: Sequence[Path] | None = None
    since: str | None = None
    until: str | None = None
    project: str | None = None
    jobs: int = 0
    remembers: bool = False
    """The next report shall tell what changed since this one."""
    consent: Consent | None = None
    """What may be asked of a model; `None`: nothing new."""


class Answer(Struct, frozen=True, kw_only=True):
    """The report, the time zone it is told in, and a word where it is empty."""

    report: Report
    zone: tzinfo
    note: str = ""


class Given(Struct, frozen=True, kw_only=True):
    """Settings as they were given on the command line; `None` were not."""

    judge: str | None = None
    commit: str | None = None
    timezone: str | None = None
    repo: Sequence[Path] | None = None
    as_of: str | None = None
    store: str | None = None
    model: str | None = None
    url: str | None = None
    votes: int | None = None
    max_cost: float | None = None
    tokens: int | None = None


def settled(given: Given) -> Config:
    """The settings for a score, with what was given on the command line; what is wrong is told before all reading."""
    config = settings(
        judge=given.judge,
        boundaries_commit=one_of(given.commit, COMMIT, "--commit"),
        timezone=given.timezone,
        store=given.store,
        as_of=given.as_of,
        rework_repos=repos(given.repo),
        model_name=given.model,
        model_url=given.url,
        model_votes=given.votes,
        model_max_cost=given.max_cost,
        model_tokens=given.tokens,
    )
    check_judge(config.judge)
    pick_report_time(config)
    return config


def as_reported(given: Given) -> Config:
    """The settings of the last report, apart from what is given now; those that hold here if they changed since."""
    config = settled(given)
    report = last(config)
    if report is None or report.without != made(settings()) or not is_judge(report.with_flags.judge):
        return config
    flags = report.with_flags
    is_same = given.judge in (None, flags.judge)
    return settled(
        replace(
            given,
            judge=given.judge or flags.judge,
            commit=given.commit or flags.commit,
            model=given.model or (flags.model if is_same else None),
            url=given.url or (flags.url if is_same else None),
            votes=given.votes or flags.votes,
            tokens=flags.tokens,
            repo=given.repo or [Path(one) for one in flags.repos if Path(one).is_dir()] or None,
        )
    )


def repos(given: Sequence[Path] | None) -> tuple[str, ...] | None:
    """Folders that are there, in full."""
    for path in given or ():
        if not path.expanduser().is_dir():
            raise BadInput(f"--repo {path}: is no folder; give one with a git repository")
        if open_repo(path.expanduser(), may_be_bare=True) is None:
            raise BadInput(f"--repo {path}: is in no git repository")
    return tuple(os.path.realpath(path.expanduser()) for path in given) if given else None


def answer(wanted: Wanted, config: Config) -> Answer:
    """Read what is new, judge what is new, and report."""
    here = zone(config)
    choice = chosen(config, wanted.since, wanted.until, wanted.project)
    with scanned(wanted.paths, config, wanted.jobs) as found:
        report = scored(found, config, choice, wanted)
        if report.sessions:
            return Answer(report=report, zone=here)
        silent = replace(wanted, remembers=False, consent=None)
        everything = scored(found, config, Selection(), silent) if choice != Selection() else report
        if not everything.sessions:
            raise BadInput(streams.nothing(found, privacy.build_rules(config, pick_report_time(config))))
        return Answer(report=report, zone=here, note=none_fits(wanted, everything, here))


def chosen(config: Config, since: str | None, until: str | None, within: str | None) -> Selection:
    """Which sessions are wanted, made exact."""
    here = zone(config)
    choice = Selection(
        since=parse_time(since, "--since", here),
        until=parse_time(until, "--until", here),
        project=parse_project(within),
    )
    if choice.since and choice.until and choice.since >= choice.until:
        raise BadInput(f"--since {since} is not before --until {until}; nothing can lie between them")
    return choice


def scored(found: Transcripts, config: Config, choice: Selection, wanted: Wanted) -> Report:
    """The report on the sessions that are wanted."""
    open_one = partial(open_run, found.store, config, found.changes.roots, selection=choice, jobs=wanted.jobs)

    def would_ask(desk: ModelAccess) -> Iterator[Question]:
        with open_one(models=desk) as run:
            yield from (one.question for one in run.rehearsed())

    with asking(found.store, config, wanted.consent, would_ask) as asked, bar("judging") as progress:
        watch = ignore_progress if asked.asker else progress
        with open_one(models=asked) as run:
            report = score_run(run, found.changes.unreadable, watch, remembers=wanted.remembers).report
    if wanted.remembers:
        remember(found.store, config, report.judge.model)
    return report


def none_fits(wanted: Wanted, everything: Report, here: tzinfo) -> str:
    """That the choice leaves nothing, and what there would have been."""
    given = {"--since": wanted.since, "--until": wanted.until, "--project": wanted.project}
    options = " ".join(f"{option} {one_line(value, 60)}" for option, value in given.items() if value)
    began = [one.started_at for one in everything.sessions if one.started_at]
    told = f"none of {many(len(everything.sessions), 'session')} fits {options}"
    if began and (wanted.since or wanted.until):
        first, last = terminal.moment(min(began), here), terminal.moment(max(began), here)
        told += f"; the first one began {first}, the last {last}"
    if wanted.project:
        names = sorted(set(places(one.project for one in everything.sessions).values()))
        told += f"; projects: {one_line(listed(names, 6), 200)}"
    return told
