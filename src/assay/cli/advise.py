"""`assay advise`: which habits go with not landing, and what to tell the agent."""

import os
from contextlib import closing

from msgspec import Struct

from assay.cli.answer import answer_request
from assay.cli.options import (
    AsJson,
    AsOf,
    Commit,
    Jobs,
    Judge,
    Paths,
    Project,
    Repo,
    Since,
    StorePath,
    Timezone,
    Until,
    options,
    read_overrides,
)
from assay.cli.output import let_pipe_close, print_json, print_note
from assay.cli.progress import ProgressBar
from assay.cli.settings import load_last_config
from assay.cli.terminal import Console
from assay.pipeline.habits import judge_habits
from assay.reports.advice import render_advice
from assay.scores import profiles
from assay.scores.advice import PROFILE, build_advice
from assay.stores import open_store, pick_store_url

EXAMPLE = (
    "Example: `assay advise --since 90d`. Prompt checks and quality dimensions are tested: do sessions with the habit "
    "land less, beyond chance and corrected for many tests? What ended sessions is counted. Each comes with two "
    "sessions and a sentence for CLAUDE.md or AGENTS.md, which `assay eval` can prove."
)


class AdviseRequest(Struct, frozen=True, kw_only=True):
    """What `assay advise` takes."""

    paths: Paths = None
    since: Since = None
    until: Until = None
    project: Project = None
    judge: Judge = None
    commit: Commit = None
    timezone: Timezone = None
    repo: Repo = None
    as_of: AsOf = None
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


@options(AdviseRequest)
def command(request: AdviseRequest) -> None:
    """Tell which of your habits go with not landing, how sure that is, and what to tell the agent."""
    config = load_last_config(**read_overrides(request))
    with answer_request(request, config) as answer:
        sessions = list(answer.report.sessions)
    profile = profiles.load_profile(PROFILE)
    with (
        closing(open_store(pick_store_url(config.store, os.environ))) as store,
        ProgressBar("looking at habits", "items") as bar,
    ):
        qualities = judge_habits(store, config, sessions, profile, bar.show)
    found = build_advice(sessions, qualities, profile)
    if request.as_json:
        print_json(found)
    else:
        let_pipe_close()
        Console(highlight=False).print(render_advice(found))
    if answer.note:
        print_note(answer.note)
