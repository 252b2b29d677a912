"""`assay langfuse`: what is at the other end, score configs ensured, sessions pulled, scores kept there."""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from msgspec import Struct
from msgspec.structs import replace

from assay import langfuse
from assay.cli.consent import Consent, describe_estimate, open_allowed_models, read_consent
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
from assay.cli.output import let_pipe_close, print_json
from assay.cli.progress import open_transcripts
from assay.cli.report import build_selection
from assay.cli.settings import load_config, load_last_config, load_settings
from assay.config import Config
from assay.errors import BadInput
from assay.langfuse import (
    WAIT_S,
    Client,
    Delivery,
    PulledSession,
    PullReport,
    PushedSession,
    PushReport,
    SetupReport,
    build_all_configs,
    build_delivery_view,
    find_project,
)
from assay.pipeline.cost import measure_question
from assay.pipeline.inputs import parse_time, pick_report_time
from assay.pipeline.langfuse_scores import build_redactor, push_facts, push_quality
from assay.pipeline.privacy import build_rules, redact_struct
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
from assay.sources import find_source
from assay.stores import RemoteProject, Store, open_store, pick_store_url
from assay.types import Document
from assay.types.quality import Profile as Dimensions
from assay.types.quality import Quality

EXAMPLE = "Example: `assay langfuse score --since 7d`, or `assay langfuse pull --since 7d`, then `assay score`"
INCOMPLETE = 2
NAME = 120
T = TypeVar("T", bound=Struct)

app = typer.Typer(
    help="Read sessions from a Langfuse project, and keep scores in it. Set LANGFUSE_HOST, _PUBLIC_KEY, _SECRET_KEY.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Sessions = Annotated[list[str] | None, typer.Argument(metavar="[SESSION]…", help="Ids of sessions in Langfuse.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="All sessions with anything since: 2026-11-01, or 7d.")]
Into = Annotated[
    Path | None, typer.Option("--into", metavar="FOLDER", help="Where to put them; else a folder that Assay looks in.")
]
Profile = Annotated[str, typer.Option(metavar="PROFILE", help="Name of a profile, or the path of a TOML file.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
OnTrace = Annotated[bool, typer.Option("--on-trace", help="Also on the trace in which a session begins.")]
ToAll = Annotated[bool, typer.Option("--all", help="Also on sessions of which Langfuse has nothing (yet).")]
Recheck = Annotated[
    bool, typer.Option("--recheck", help="Look up again what was stored before, and write what was deleted since.")
]
Wait = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", min=0.0, help="How long to wait until scores can be read back.")
]


@contextmanager
def open_client() -> Iterator[Client]:
    """A client for the project that the environment names."""
    client = langfuse.connect(os.environ, clean=build_redactor(load_settings()))
    try:
        yield client
    finally:
        client.close()


def redact_answer(found: T) -> T:
    """An answer as it may be told: names and errors are the server's, and may hold anything."""
    config = load_settings()
    return redact_struct(found, build_rules(config, pick_report_time(config)))


def print_answer(as_json: bool, found: Document, lines: list[str]) -> None:
    """Print an answer, for machines or for people."""
    if as_json:
        print_json(found)
    else:
        let_pipe_close()
        sys.stdout.write("".join(f"{line}\n" for line in lines))


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


def describe_setup(found: SetupReport) -> list[str]:
    """What became of each config."""
    return [
        *(f"{name}: there" for name in found.found),
        *(f"{name}: created" for name in found.created),
        *(f"{name}: would be created" for name in found.missing),
        *(f"{one.name}: left alone, {format_line(one.why, 300)}" for one in found.mismatched),
    ]


class SessionSelection(Struct, frozen=True, kw_only=True):
    """Sessions of Langfuse that are wanted, and where they are put."""

    ids: dict[str, None]
    """In the order given."""
    since: str
    folder: Path


def select_sessions(sessions: list[str] | None, since: str | None, into: Path | None, what: str) -> SessionSelection:
    """What was asked for, made exact."""
    if not sessions and not since:
        raise BadInput(f"say what to {what}: ids of sessions, or --since 7d")
    folder = into or find_source("langfuse").roots(os.environ, Path.home())[0]
    return SessionSelection(ids=dict.fromkeys(sessions or ()), since=parse_time(since, "--since"), folder=folder)


def pull_sessions(client: Client, selection: SessionSelection) -> PullReport:
    return langfuse.pull_sessions(client, selection.folder, list(selection.ids), since=selection.since)


@app.command("pull", epilog=EXAMPLE)
def pull(sessions: Sessions = None, since: Since = None, into: Into = None, as_json: AsJson = False) -> None:
    """Write sessions into files that `assay score` reads; exit code 2 where one could not be read."""
    selection = select_sessions(sessions, since, into, "pull")
    with open_client() as client:
        found = redact_answer(pull_sessions(client, selection))
    print_answer(as_json, found, describe_pull(found, selection.folder))
    if found.failed:
        raise typer.Exit(INCOMPLETE)


def describe_pull(found: PullReport, folder: Path) -> list[str]:
    """What became of each session."""
    return [
        *(describe_pulled_session(one) for one in found.pulled),
        *(f"{format_line(name, NAME)}: nothing there (yet)" for name in found.empty),
        *(f"{format_line(name, NAME)}: {format_line(why, 300)}" for name, why in found.failed),
        f"{format_count(len(found.pulled), 'session')} in {format_line(str(folder), 300)}",
    ]


def describe_pulled_session(one: PulledSession) -> str:
    is_silent = "" if one.has_text else ", without any text"
    how = "" if one.is_changed else ", as before"
    size = f"{format_count(one.traces, 'trace')}, {format_count(one.observations, 'observation')}"
    return f"{format_line(one.session, NAME)}: {size}{how}{is_silent}"


# --- score --------------------------------------------------------------------------------------


class LangfuseScoreRequest(Struct, frozen=True, kw_only=True):
    """What `assay langfuse score` takes."""

    sessions: Sessions = None
    since: Since = None
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
    selection = select_sessions(request.sessions, request.since, request.into, "score")
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
                sessions = [mark_named(one, selection) for one in list_subjects(store, config, roots, Selection())]
                heard = drop_silent(sessions, found)
                qualities = judge_qualities(store, heard, scale, config, consent)
                pairs = pair_qualities(sessions, heard, qualities, scale)
                traced = found.pulled if request.on_trace else ()
                done = push_quality(build_delivery(client, store, request), pairs, scale, config, traced)
    print_delivery(done, found, request.as_json)


def mark_named(one: Subject, selection: SessionSelection) -> Subject:
    """A session that was asked for by its id is judged though it is trivial."""
    return replace(one, is_named=any(stream in selection.ids for stream in one.session.streams))


def drop_silent(some: Sequence[Subject], found: PullReport) -> list[Subject]:
    """Sessions in which anybody's words were recorded: of others nobody can say how well they were run."""
    silent_ = {one.session for one in found.pulled if not one.has_text}
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
        done = push_facts(build_delivery(client, store, request), report.sessions, config, to_all=request.to_all)
    print_delivery(done, PullReport(), request.as_json)


# --- what became of it --------------------------------------------------------------------------


def print_delivery(done: PushReport | None, found: PullReport, as_json: bool) -> None:
    """Print what became of all, and leave with code 2 where anything is missing."""
    done, found = redact_answer(done) if done else None, redact_answer(found)
    lines = [
        *(f"{format_line(name, NAME)}: nothing there (yet)" for name in found.empty),
        *(f"{format_line(name, NAME)}: {format_line(why, 300)}" for name, why in found.failed),
        *(describe_delivery(done) if done else ()),
    ]
    print_answer(as_json, build_delivery_view(done, found), lines)
    if done is None or not done.is_complete or found.empty or found.failed:
        raise typer.Exit(INCOMPLETE)


def describe_delivery(done: PushReport) -> list[str]:
    """A line for each session, each score that is missing, and the sum."""
    became = dict.fromkeys(done.written.stored, "stored") | dict.fromkeys(done.written.unchanged, "there already")
    became |= dict.fromkeys(done.written.would_write, "would be written")
    became |= {one.id: "not stored" for one in done.written.not_stored}
    left = Counter(format_line(f"{one.session}: {one.why}", NAME + 300) for one in done.left_out)
    return [
        *(f"{name}: score config created" for name in done.configs_created),
        *(describe_sent(one, Counter(became[score.id] for score in one.scores)) for one in done.sessions),
        *(f"{line} ({n} goals)" if n > 1 else line for line, n in left.items()),
        *(
            f"{format_line(one.session, NAME)}: {one.name} not stored: {format_line(one.why, 300)}"
            for one in done.written.not_stored
        ),
        ", ".join(f"{n:,} {what}" for what, n in Counter(became.values()).items()) or "nothing to write",
    ]


def describe_sent(one: PushedSession, became: Counter[str]) -> str:
    """A session, and what became of its scores."""
    part = f", goal {one.part}" if one.part else ""
    overall = "" if one.overall_quality is None else f", overall quality {one.overall_quality:.2f}"
    ungraded = f"; ungraded: {', '.join(one.ungraded)}" if one.ungraded else ""
    sums = ", ".join(f"{n} {what}" for what, n in became.items())
    return f"{format_line(one.session, NAME)}{part}: {sums}{overall}{ungraded}"
