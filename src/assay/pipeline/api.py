"""What `assay score` and `assay quality` do, for Python: `assay.score`, `assay.quality`."""

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from assay.config import Config, load, pick_zone
from assay.errors import BadInput
from assay.llm import Question
from assay.pipeline import inputs
from assay.pipeline import quality as judging
from assay.pipeline.cost import measure_question
from assay.pipeline.judgement import check_judge
from assay.pipeline.models import AskOptions, ModelClient, check_available, open_models
from assay.pipeline.score import open_run, read_transcripts, score_run
from assay.pipeline.scoring_run import Selection
from assay.scores import profiles
from assay.scores.report import Report
from assay.stores import Store, open_store, pick_store_url
from assay.types import Session
from assay.types.quality import Profile, Quality

AnyPath = str | os.PathLike[str]


def score(  # noqa: PLR0913  a choice each, all by name
    paths: AnyPath | Sequence[AnyPath] | None = None,
    *,
    since: str | None = None,
    until: str | None = None,
    project: str | None = None,
    store: AnyPath | None = None,
    jobs: int = 0,
    judge: str | None = None,
    fallback: str | None = None,
    timezone: str | None = None,
    repos: AnyPath | Sequence[AnyPath] | None = None,
    as_of: str | None = None,
    model: str | None = None,
    max_cost: float | None = None,
    may_ask: bool = False,
) -> Report:
    """Find transcripts, judge what is new in them, and report on their sessions.

    `paths` are transcripts or folders of them; without any, the places where the agents keep theirs are looked through.
    `since` and `until` are a day (`"2026-11-01"`), a time, or how long ago (`"7d"`); `project` is a folder or a part of
    its path. `store` is the file in which results are kept, so that nothing is judged twice; without one it is the same
    that the command line uses. `jobs` is the number of processes, 0 for one per core. `judge` and `timezone` are as in
    `assay.toml`, which holds where they are not given. `repos` are git repositories in which to look for what became of
    sessions' lines; without any, those in which sessions were run. `as_of` is a day or a time: the report as of then.
    A judge that asks a model (`anthropic`, `claude-cli`, `openai`) asks only with `may_ask=True`, `model` where it is
    given, and for at most `max_cost` US dollars; what was answered before is not asked again. `fallback="offline"` has
    the offline judge stand in for one that can't be asked.

    Raises `assay.errors.BadInput` where there is nothing to read, nobody to judge, or something that can't be used.
    """
    config = load(
        os.environ, Path.cwd(), store=store and os.fspath(store), judge=judge, fallback=fallback, timezone=timezone,
        as_of=as_of, rework_repos=to_names(repos), model_name=model, model_max_cost=max_cost,
    )  # fmt: skip
    check_judge(config.judge)
    begin, end = (inputs.parse_time(one, name, pick_zone(config)) for one, name in ((since, "since"), (until, "until")))
    choice = Selection(since=begin, until=end, project=inputs.parse_project(project))
    return score_paths(to_paths(paths), config, choice, jobs, may_ask)


def score_paths(paths: Sequence[Path], config: Config, choice: Selection, jobs: int, may_ask: bool) -> Report:
    """Bring the store up to date with the paths, or with the usual places, and report."""
    with (
        read_transcripts(paths, config, jobs) as found,
        closing(open_models(found.store, config, os.environ, AskOptions(only_kept=not may_ask))) as models,
        open_run(found.store, config, found.changes.roots, selection=choice, jobs=jobs, models=models) as run,
    ):
        check_available(models.unavailable, config)
        if models.client and not may_ask:
            refuse_asking(models.client, run.list_questions())
        report = score_run(run, found.changes.unreadable, listing=found.changes.listing).report
        return replace(report, sessions=list(report.sessions), ledger=list(report.ledger))


def refuse_asking(client: ModelClient, questions: Iterable[Question]) -> None:
    """Say what would be asked, where anything would be."""
    found = client.estimate([measure_question(one) for one in questions])
    if found.questions:
        raise BadInput(
            f"this would ask {found.model} at {found.where} {found.questions} questions, about {found.input} tokens; "
            "give may_ask=True to go on"
        )


def to_names(paths: AnyPath | Sequence[AnyPath] | None) -> list[str] | None:
    """Paths as a setting names them; `None` where none were given."""
    return None if paths is None else [*map(str, to_paths(paths))]


def to_paths(paths: AnyPath | Sequence[AnyPath] | None) -> list[Path]:
    """One path, or several, or none."""
    if paths is None:
        return []
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not several:
        raise BadInput("paths is empty; leave it out to look where the agents keep their transcripts")
    return [Path(path) for path in several]


# --- quality ------------------------------------------------------------------------------------


def quality(
    session: Session | str,
    profile: AnyPath = "enhanced",
    *,
    store: AnyPath | None = None,
    judge: str | None = None,
    model: str | None = None,
    max_cost: float | None = None,
    may_ask: bool = False,
) -> Quality:
    """How well a session was run: every dimension of a profile with its score, reason and evidence.

    `session` is one of a report's, or its id, or how that begins; it is looked for in the `store` that `assay.score`
    filled, by default the one of the command line. `profile` is a name (`"enhanced"`, `"revised"`, `"classic"`, your
    own) or the path of a TOML file. `judge`, `model`, `max_cost` and `may_ask` are as in `assay.score`. What a session
    shows nothing of is ungraded: its score is `None`, and `ungraded` says why.

    Raises `assay.errors.BadInput` where no session is called so, or something that was given can't be used.
    """
    wanted = profiles.load_profile(os.fspath(profile), profiles.list_folders(os.environ, Path.cwd()))
    config = load(
        os.environ, Path.cwd(), store=store and os.fspath(store), judge=judge, model_name=model, model_max_cost=max_cost
    )
    check_judge(config.judge)
    opened = open_store(pick_store_url(config.store, os.environ))
    try:
        subject = find_subject(opened, config, session if isinstance(session, str) else session.id)
        return judge_subject(opened, subject, wanted, judging.pick_quality_model(config), may_ask)
    finally:
        opened.close()


def find_subject(store: Store, config: Config, id: str) -> judging.Subject:
    """The one session whose id is this, or begins so."""
    some = judging.list_subjects(store, config, None, Selection(), [id.lower()]) if id else []
    found = [one for one in some if one.session.id == id] or some
    if not found:
        raise BadInput(f"no session begins with {id!r}; assay.score lists those of a store in its report")
    if len(found) > 1:
        several = ", ".join(one.session.id for one in found[:5])
        raise BadInput(f"{len(found)} sessions begin with {id!r}: {several}; give more of the id")
    return found[0]


def judge_subject(store: Store, subject: judging.Subject, profile: Profile, config: Config, may_ask: bool) -> Quality:
    """What the judge that is set says, a model only where it may be asked."""
    with closing(open_models(store, config, os.environ, AskOptions(only_kept=not may_ask))) as asked:
        check_available(asked.unavailable, config)
        if asked.client and not may_ask:
            refuse_asking(asked.client, judging.list_questions([subject], profile, config, asked))
        return judging.judge_quality([subject], profile, config, asked)[0]
