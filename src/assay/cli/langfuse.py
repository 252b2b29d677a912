"""`assay langfuse`: what is at the other end, score configs ensured, sessions pulled, scores kept there."""

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from assay import langfuse
from assay.cli.answer import build_selection
from assay.cli.consent import Consent, describe_estimate, open_allowed_models, read_consent
from assay.cli.langfuse_options import (
    DryRun,
    Environments,
    Into,
    OnTrace,
    Profile,
    Recheck,
    Sessions,
    Since,
    Tags,
    ToAll,
    TraceNames,
    Users,
    Wait,
    WithTraces,
    find_pull_folder,
    open_client,
)
from assay.cli.langfuse_report import (
    INCOMPLETE,
    NAME,
    describe_pull,
    describe_setup,
    print_answer,
    print_delivery,
    redact_answer,
)
from assay.cli.langfuse_traces import ForgetRequest, UploadRequest, forget_scores, upload_transcripts
from assay.cli.options import (
    Again,
    AsJson,
    Batch,
    Jobs,
    Judge,
    MaxCost,
    ModelName,
    ModelUrl,
    Paths,
    Project,
    StorePath,
    Until,
    Yes,
    options,
    read_overrides,
)
from assay.cli.progress import open_transcripts
from assay.cli.settings import load_config, load_last_config, load_settings
from assay.config import Config
from assay.errors import BadInput
from assay.langfuse import (
    WAIT_S,
    Client,
    Delivery,
    PullReport,
    SessionPick,
    build_all_configs,
    find_project,
)
from assay.pipeline.cost import measure_question
from assay.pipeline.inputs import parse_time
from assay.pipeline.langfuse_scores import push_facts, push_quality, withdraw_orphans
from assay.pipeline.lookup import read_turns
from assay.pipeline.quality import (
    NO_WORDS,
    Subject,
    judge_quality,
    leave_ungraded,
    list_questions,
    list_subjects,
    pick_quality_model,
)
from assay.pipeline.score import open_run, score_run
from assay.pipeline.scoring_run import Selection
from assay.reports.format import format_count, format_line, sanitize_text
from assay.scores import profiles
from assay.stores import RemoteProject, Store, open_store, pick_store_url
from assay.types.quality import Profile as Dimensions
from assay.types.quality import Quality

EXAMPLE = "Example: `assay langfuse score --since 7d`, or `assay langfuse pull --since 7d`, then `assay score`"

app = typer.Typer(
    help="Read sessions from a Langfuse project, and keep scores in it. Set LANGFUSE_HOST, _PUBLIC_KEY, _SECRET_KEY.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


@app.command("status")
def status(as_json: AsJson = False, store: StorePath = None) -> None:
    """Say which server and project the keys lead to, how it is talked to, and what was written there."""
    with (
        open_client() as client,
        closing(open_store(pick_store_url(load_settings(store=store).store, os.environ))) as kept,
    ):
        found = langfuse.fetch_status(client)
        written = kept.written.count_scores(RemoteProject(host=found.host, project=found.project_id))
    found = redact_answer(found)
    pace = f"{found.per_minute} requests a minute at most" if found.per_minute else "no limit on requests"
    lines = [
        f"{found.host}: Langfuse {format_line(found.version, 40) or 'of unknown version'}",
        f"project {format_line(found.project, NAME)} ({format_line(found.project_id, NAME)})",
        f"reads the {found.generation} way, hands scores in by {found.writes}, {pace}",
        f"{format_count(written.scores, 'score')} written from this store"
        + (f", the last {written.last_at}" if written.scores else ""),
    ]
    print_answer(as_json, replace(found, written=written.scores, last_written_at=written.last_at or None), lines)


@app.command("setup")
def setup(profile: Profile = "enhanced", dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Ensure the score configs of a profile and of `push`; exit code 2 where one of another kind is in the way."""
    wanted = build_all_configs(profiles.load_profile(profile, profiles.list_folders(os.environ, Path.cwd())))
    with open_client() as client:
        found = redact_answer(langfuse.ensure_configs(client, wanted, dry_run=dry_run))
    print_answer(as_json, found, describe_setup(found))
    if found.mismatched:
        raise typer.Exit(INCOMPLETE)


class SessionSelection(Struct, frozen=True, kw_only=True):
    """Sessions of Langfuse that are wanted, and where they are put."""

    ids: dict[str, None]
    """In the order given."""
    pick: SessionPick | None
    folder: Path


class LangfusePullRequest(Struct, frozen=True, kw_only=True):
    """What `assay langfuse pull` takes."""

    sessions: Sessions = None
    since: Since = None
    environment: Environments = None
    tag: Tags = None
    user: Users = None
    trace_name: TraceNames = None
    traces: WithTraces = False
    into: Into = None
    as_json: AsJson = False


def select_sessions(request: "LangfusePullRequest | LangfuseScoreRequest", what: str) -> SessionSelection:
    """What was asked for, made exact."""
    pick = SessionPick(
        since=parse_time(request.since, "--since"),
        environments=tuple(request.environment or ()),
        tags=tuple(request.tag or ()),
        users=tuple(request.user or ()),
        names=tuple(request.trace_name or ()),
        with_traces=request.traces,
    )
    is_picked = pick != SessionPick()
    if not request.sessions and not is_picked:
        raise BadInput(
            f"say what to {what}: ids of sessions, --since 7d, or --environment, --tag, --user, --trace-name"
        )
    folder = request.into or find_pull_folder()
    ids = dict.fromkeys(request.sessions or ())
    return SessionSelection(ids=ids, pick=pick if is_picked else None, folder=folder)


def pull_sessions(client: Client, selection: SessionSelection) -> PullReport:
    return langfuse.pull_sessions(client, selection.folder, list(selection.ids), pick=selection.pick)


@app.command("pull", epilog=EXAMPLE)
@options(LangfusePullRequest)
def pull(request: LangfusePullRequest) -> None:
    """Write sessions into files that `assay score` reads; exit code 2 where one could not be read."""
    selection = select_sessions(request, "pull")
    with open_client() as client:
        found = redact_answer(pull_sessions(client, selection))
    print_answer(request.as_json, found, describe_pull(found, selection.folder))
    if found.failed:
        raise typer.Exit(INCOMPLETE)


# --- score --------------------------------------------------------------------------------------


class LangfuseScoreRequest(Struct, frozen=True, kw_only=True):
    """What `assay langfuse score` takes."""

    sessions: Sessions = None
    since: Since = None
    environment: Environments = None
    tag: Tags = None
    user: Users = None
    trace_name: TraceNames = None
    traces: WithTraces = False
    profile: Profile = "enhanced"
    judge: Judge = None
    model: ModelName = None
    model_url: ModelUrl = None
    max_cost: MaxCost = None
    batch: Batch = False
    again: Again = False
    yes: Yes = False
    on_trace: OnTrace = False
    dry_run: DryRun = False
    recheck: Recheck = False
    wait: Wait = WAIT_S
    as_json: AsJson = False
    into: Into = None
    store: StorePath = None
    jobs: Jobs = 0


@app.command("score", epilog="Example: `assay langfuse score --since 7d --profile revised`")
@options(LangfuseScoreRequest)
def score(request: LangfuseScoreRequest) -> None:
    """Pull sessions, judge how well they were run, and keep every dimension in Langfuse.

    Exit code 2 where something that should be there is not; what is there already is not sent again.
    """
    selection = select_sessions(request, "score")
    scale = profiles.load_profile(request.profile, profiles.list_folders(os.environ, Path.cwd()))
    given = read_overrides(request)
    config = pick_quality_model(load_last_config(**given), named=load_config(**given).model.name)
    consent = None if request.dry_run else read_consent(request)
    with open_client() as client:
        found = pull_sessions(client, selection)
        done = None
        if found.pulled:
            files = [Path(pulled.path) for pulled in found.pulled]
            with open_transcripts(files, config, request.jobs) as transcripts:
                store, roots = transcripts.store, transcripts.changes.roots
                sessions = mark_named(list_subjects(store, config, roots, Selection()), selection, found)
                heard = drop_silent(sessions, found)
                qualities = judge_qualities(store, heard, scale, config, consent)
                pairs = pair_qualities(sessions, heard, qualities, scale)
                delivery = build_delivery(client, store, request)
                done = push_quality(delivery, pairs, scale, config, found, on_trace=request.on_trace)
        elif found.empty:
            with closing(open_store(pick_store_url(config.store, os.environ))) as store:
                done = withdraw_orphans(build_delivery(client, store, request), found.empty)
    print_delivery(done, found, request.as_json)


def mark_named(some: Sequence[Subject], selection: SessionSelection, found: PullReport) -> list[Subject]:
    """The sessions, those marked that were asked for by their ids: they are judged though they are trivial."""
    named = {one.stream for one in found.pulled if one.session in selection.ids}
    return [replace(one, is_named=not named.isdisjoint(one.session.streams)) for one in some]


def drop_silent(some: Sequence[Subject], found: PullReport) -> list[Subject]:
    """Sessions in which anybody's words were recorded: of others nobody can say how well they were run."""
    silent_ = {one.stream for one in found.pulled if not one.has_text}
    return [one for one in some if not silent_.issuperset(one.session.streams)]


def pair_qualities(
    some: Sequence[Subject], heard: Sequence[Subject], qualities: Sequence[Quality], scale: Dimensions
) -> list[tuple[Subject, Quality]]:
    """Every session with its quality; those without words are ungraded."""
    known = {one.session.id: quality for one, quality in zip(heard, qualities, strict=True)}
    return [(one, known.get(one.session.id) or leave_ungraded(one, scale, NO_WORDS)) for one in some]


def build_delivery(client: Client, store: Store, request: "LangfuseScoreRequest | LangfusePushRequest") -> Delivery:
    """How scores are handed in, and where."""
    return Delivery(
        client=client,
        store=store,
        project=find_project(client),
        dry_run=request.dry_run,
        recheck=request.recheck,
        wait_s=request.wait,
    )


def judge_qualities(
    store: Store, some: Sequence[Subject], scale: Dimensions, config: Config, consent: Consent | None
) -> list[Quality]:
    """The quality of each session; without consent no model is asked, and what it would be asked is told."""
    with open_allowed_models(store, config, consent, lambda desk: list_questions(some, scale, config, desk)) as desk:
        if desk.client and consent is None:
            found = desk.client.estimate([measure_question(one) for one in list_questions(some, scale, config, desk)])
            if found.questions:
                print(
                    f"assay: this would ask {sanitize_text(describe_estimate(found))}; values are not known before",
                    file=sys.stderr,
                )
        return judge_quality(some, scale, config, desk)


# --- push ---------------------------------------------------------------------------------------


class LangfusePushRequest(Struct, frozen=True, kw_only=True):
    """What `assay langfuse push` takes."""

    paths: Paths = None
    since: Annotated[str | None, typer.Option(metavar="TIME", help="Only what went on after this.")] = None
    until: Until = None
    project: Project = None
    to_all: ToAll = False
    dry_run: DryRun = False
    recheck: Recheck = False
    wait: Wait = WAIT_S
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


@app.command("push", epilog="Example: `assay score`, then `assay langfuse push --since 7d`")
@options(LangfusePushRequest)
def push(request: LangfusePushRequest) -> None:
    """Keep in Langfuse what the PRISM Score says of sessions: crushed, goal complete, confidence, intent.

    They are those of the last `assay score`: no model is asked. A session that is not graded writes nothing.
    """
    config = load_last_config(**read_overrides(request))
    selection = build_selection(request, config)
    with open_client() as client, open_transcripts(request.paths, config, request.jobs) as transcripts:
        store, roots = transcripts.store, transcripts.changes.roots
        with open_run(store, config, roots, selection=selection, jobs=request.jobs) as run:
            report = score_run(run, remembers=False).report
            alive = [one.segments[0].id for one in run.link_all()]
        subjects = [Subject(session=one, read=partial(read_turns, store, config, one)) for one in report.sessions]
        done = push_facts(build_delivery(client, store, request), subjects, config, alive, to_all=request.to_all)
    print_delivery(done, PullReport(), request.as_json)


# --- upload and forget --------------------------------------------------------------------------


@app.command("upload", epilog="Example: `assay langfuse upload --since 7d`, then `assay langfuse score --since 7d`")
@options(UploadRequest)
def upload(request: UploadRequest) -> None:
    """Send transcripts as sessions: a trace for each turn, with generations and tool spans; words are redacted.

    What is there already is not sent again. It says what it will send, and asks you first.
    """
    upload_transcripts(request)


@app.command("forget", epilog="Example: `assay langfuse forget SESSION`, or `assay langfuse forget --everything`")
@options(ForgetRequest)
def forget(request: ForgetRequest) -> None:
    """Take the scores of sessions out of Langfuse, and delete what was pulled and kept of them; their traces stay."""
    forget_scores(request)
