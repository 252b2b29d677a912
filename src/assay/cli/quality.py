"""`assay quality`: how well sessions were run, dimension by dimension, by a profile."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import tzinfo
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from rich.console import Group

from assay.cli.answer import build_selection
from assay.cli.consent import check_complete, open_allowed_models, read_consent
from assay.cli.egress import print_egress
from assay.cli.options import (
    Again,
    AsJson,
    Batch,
    Commit,
    Fallback,
    Jobs,
    Judge,
    MaxCost,
    ModelName,
    ModelUrl,
    Project,
    Since,
    StorePath,
    Timezone,
    Until,
    Yes,
    check_word,
    is_path,
    options,
    read_overrides,
)
from assay.cli.output import check_targets, let_pipe_close, print_json, print_written, write_target
from assay.cli.progress import open_transcripts
from assay.cli.settings import load_config, load_last_config
from assay.cli.terminal import Console
from assay.config import Config, pick_zone
from assay.errors import BadInput
from assay.llm.egress import Egress
from assay.pipeline.inputs import resolve_path
from assay.pipeline.lookup import LAST
from assay.pipeline.models import check_available, describe_model, find_outage, needs_model
from assay.pipeline.quality import (
    Subject,
    judge_quality,
    list_egress,
    list_questions,
    list_subjects,
    pick_quality_model,
)
from assay.pipeline.remote_files import parse_address
from assay.reports.format import format_line
from assay.reports.json import encode_json
from assay.reports.quality import render_document, render_list, render_quality
from assay.reports.quality_means import render_groups, render_means, write_means
from assay.scores import profiles
from assay.scores.breakdown import PERIODS, WAYS, name_slice
from assay.scores.quality_means import build_group, build_groups, sort_qualities
from assay.stores import Store
from assay.types.quality import Profile, Qualities, Quality

WORDS = "assay quality --dry-run"
EXAMPLE = "Example: `assay quality 3f2a91c0 --profile revised`, or `assay quality --since 7d -o quality.md`"
FORMATS = (".json", ".md")
FEW = 3
"""Sessions that are shown in full; of more, a line each."""

Which = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SESSION|PATH]…",
        help="Ids of sessions, or `last`; transcripts or folders; without any, all sessions.",
    ),
]
ProfileName = Annotated[
    str, typer.Option("--profile", "-p", metavar="PROFILE", help="A profile's name, or the path of a TOML file.")
]
Targets = Annotated[
    list[Path] | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Keep it in a file too: .json or .md; any number.", readable=False
    ),
]
Details = Annotated[
    bool, typer.Option("--details", help=f"Also of more than {FEW} sessions every dimension, not a line each.")
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="SLICE", help=f"Means by {', '.join(WAYS[:-1])} or {WAYS[-1]}, instead of sessions."),
]
Sort = Annotated[
    str,
    typer.Option("--sort", metavar="HOW", help="Worst first by `quality` or by a dimension's name; else by `time`."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what a model would be sent, word for word, and send nothing.")
]


class QualityRequest(Struct, frozen=True, kw_only=True):
    """What `assay quality` takes."""

    which: Which = None
    profile: ProfileName = "enhanced"
    since: Since = None
    until: Until = None
    project: Project = None
    judge: Judge = None
    fallback: Fallback = None
    model: ModelName = None
    model_url: ModelUrl = None
    commit: Commit = None
    timezone: Timezone = None
    max_cost: MaxCost = None
    batch: Batch = False
    again: Again = False
    yes: Yes = False
    dry_run: DryRun = False
    by: By = None
    sort: Sort = "time"
    details: Details = False
    as_json: AsJson = False
    output: Targets = None
    store: StorePath = None
    jobs: Jobs = 0


@options(QualityRequest)
def command(request: QualityRequest) -> None:
    """Show how well sessions were run: every dimension of a profile with score, reason and evidence."""
    targets = check_targets(request.output, FORMATS)
    check_word(request.by, WAYS, "--by")
    profile = profiles.load_profile(request.profile, profiles.list_folders(os.environ, Path.cwd()))
    check_word(request.sort, ("time", "quality", *(one.name for one in profile.dimensions)), "--sort")
    config = load_last_config(**read_overrides(request))
    named = load_config(**read_overrides(request)).model.name
    with open_subjects(request, config) as (store, sessions):
        dearer = pick_quality_model(config, named=named)
        if request.dry_run:
            print_rehearsal(store, sessions, profile, dearer, as_json=request.as_json)
            return
        consent = read_consent(request, WORDS)
        with open_allowed_models(
            store, dearer, consent, lambda desk: list_questions(sessions, profile, dearer, desk)
        ) as models:
            qualities = judge_quality(sessions, profile, dearer, models)
            closed = models.client.closed if models.client else None
    if not any(one.judge == dearer.judge for one in qualities):
        check_available(find_outage(closed), dearer)
    found = summarize_request(request, qualities, profile, sessions, pick_zone(config))
    qualities = found.qualities
    titles = {subject.session.id: subject.session.title for subject in sessions}
    for target in targets:
        is_json = target.suffix == ".json"
        write_target(
            encode_json(found) if is_json else render_document(qualities, profile, titles) + write_means(found),
            target,
        )
        print_written(target)
    if request.as_json:
        print_json(found)
    else:
        print_qualities(found, profile, titles, in_full=request.details or len(qualities) <= FEW)
    check_complete(closed, dearer)


def split_paths(which: Sequence[str]) -> tuple[list[Path], tuple[str, ...]]:
    """Of what quality is asked of, the paths that are there and the ids of sessions; not both at once."""
    for one in which:
        if is_path(one):
            resolve_path(Path(one))
    paths = [Path(one) for one in which if parse_address(one) or Path(one).expanduser().exists()]
    ids = tuple(one.lower() for one in which if not (parse_address(one) or Path(one).expanduser().exists()))
    if paths and ids:
        raise BadInput(f"{format_line(ids[0], 60)!r} is no file or folder; give paths, or ids of sessions, not both")
    return paths, ids


def name_choice(request: QualityRequest) -> str:
    """What was asked for, as it was typed."""
    given = {"--since": request.since, "--until": request.until, "--project": request.project}
    return "".join(f" {option} {format_line(value, 60)}" for option, value in given.items() if value)


@contextmanager
def open_subjects(request: QualityRequest, config: Config) -> Iterator[tuple[Store, list[Subject]]]:
    """An open store, and the sessions that are asked for; an id that nothing has is refused."""
    selection = build_selection(request, config)
    paths, ids = split_paths(request.which or [])
    with open_transcripts(paths or None, config, request.jobs, may_be_empty=bool(ids)) as transcripts:
        roots = None if ids else transcripts.changes.roots
        sessions = list_subjects(transcripts.store, config, roots, selection, ids)
        for one in ids:
            if one != LAST and not any(subject.session.id.startswith(one) for subject in sessions):
                raise BadInput(f"no session begins with {format_line(one, 60)!r}; `assay sessions` lists them")
        if not sessions:
            told = f"no session fits{chosen}" if (chosen := name_choice(request)) else "there are no sessions"
            raise BadInput(f"{told}; `assay sessions` lists those that were found")
        yield transcripts.store, sessions


def print_rehearsal(
    store: Store, sessions: Sequence[Subject], profile: Profile, config: Config, *, as_json: bool
) -> None:
    """Print what would be sent where, and send nothing."""
    found = Egress(judge=config.judge, to=None, model=None, estimate=None, requests=[])
    if needs_model(config):
        way = describe_model(config, os.environ)
        estimate, requests = list_egress(store, sessions, profile, config, way)
        found = Egress(judge=config.judge, to=way.where, model=way.model, estimate=estimate, requests=requests)
    print_egress(found, words=True, as_json=as_json)


def summarize_request(
    request: QualityRequest,
    qualities: Sequence[Quality],
    profile: Profile,
    subjects: Sequence[Subject],
    zone: tzinfo,
) -> Qualities:
    """The qualities in the order that is asked for, with their means, and by group where that is asked for."""
    ordered = list(qualities) if request.sort == "time" else sort_qualities(qualities, request.sort, profile)
    groups = []
    if request.by:
        names = {one.session.id: name_slice(one.session, request.by, zone) for one in subjects}
        groups = build_groups(qualities, profile, names.__getitem__, is_time=request.by in PERIODS)
    return Qualities(qualities=ordered, summary=build_group("all", qualities, profile), by=request.by, groups=groups)


def print_qualities(found: Qualities, profile: Profile, titles: dict[str, str], *, in_full: bool) -> None:
    """Print groups, or every dimension of each session, or a line each; then what many come to."""
    let_pipe_close()
    console = Console()
    if found.by:
        console.print(Group(*render_groups(found.groups, found.by, console.width)))
    elif in_full:
        console.print(render_quality(found.qualities, profile, titles))
    else:
        console.print(render_list(found.qualities, profile, titles, console.width))
    if len(found.qualities) > 1:
        console.print(Group(*render_means(found.summary, console.width)))
