"""`assay compare`: two groups of sessions beside each other, and whether they differ beyond chance."""

import os
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from assay.cli.answer import answer_request
from assay.cli.options import (
    AsJson,
    AsOf,
    Commit,
    Jobs,
    Judge,
    Project,
    Repo,
    Since,
    StorePath,
    Timezone,
    Until,
    is_path,
    options,
    read_overrides,
)
from assay.cli.output import let_pipe_close, print_json
from assay.cli.settings import load_last_config
from assay.cli.terminal import Console
from assay.cli.trouble import build_redaction
from assay.errors import BadInput
from assay.pipeline.inputs import pick_report_time
from assay.pipeline.promotions import build_review, pick_promotions, review_promotions
from assay.pipeline.sides import Side, compare_named, parse_side, split_at
from assay.reports.comparison import render_comparison
from assay.reports.promotions import render_promotions
from assay.scores.comparison import ScoreComparison
from assay.sessions.redaction import Redactor
from assay.stores import open_existing_store, pick_store_url
from assay.types import Session

EXAMPLE = (
    "Example: `assay compare last-week this-week`, `assay compare model:opus model:sonnet --since 30d`, "
    "`assay compare --before-after 2026-11-03` (the day you changed CLAUDE.md), `assay compare --since-promotion`"
)

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="A B [PATH]…",
        help="Two sides. Time: last-week, this-month, 7d, 14d..7d, 2026-11, 2026-11-01..2026-11-14. "
        "Or project:X, model:X, branch:X, agent:X, intent:X, language:X, tenant:X; a bare word is looked for. "
        "Behind them, transcripts or folders of them.",
    ),
]
BeforeAfter = Annotated[
    str | None,
    typer.Option("--before-after", metavar="DAY", help="Compare what began before this day with what began later."),
]

SincePromotion = Annotated[
    bool,
    typer.Option(
        "--since-promotion",
        help="Did sessions move since a configuration was promoted? A word names it; else all, the newest first.",
    ),
]


class CompareRequest(Struct, frozen=True, kw_only=True):
    """What `assay compare` takes."""

    words: Words = None
    before_after: BeforeAfter = None
    since_promotion: SincePromotion = False
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

    @property
    def sides(self) -> Sequence[str]:
        """The words that name sides."""
        words = self.words or []
        if self.since_promotion:
            return [word for word in words[:1] if not is_path(word)]
        return () if self.before_after else words[:2]

    @property
    def paths(self) -> Sequence[Path] | None:
        """The words that name transcripts."""
        return [Path(word) for word in (self.words or [])[len(self.sides) :]] or None


@options(CompareRequest)
def command(request: CompareRequest) -> None:
    """Compare two groups of sessions: weeks, projects, models, branches, or before and after a day."""
    if request.since_promotion:
        compare_promotions(request)
        return
    if not request.before_after and len(request.sides) < 2:
        raise BadInput(
            "give two sides, such as `last-week this-week` or `model:opus model:sonnet`, or --before-after DAY"
        )
    config = load_last_config(**read_overrides(request))
    with answer_request(request, config) as answer:
        sessions = list(answer.report.sessions)
    if not sessions:
        raise BadInput(answer.note or "there are no sessions to compare")
    now = pick_report_time(config).astimezone(answer.zone)
    found = compare_request(request, sessions, now)
    if request.as_json:
        print_json(found)
    else:
        let_pipe_close()
        console = Console(highlight=False)
        console.print(render_comparison(found, console.width))


def compare_promotions(request: CompareRequest) -> None:
    """Whether real sessions moved since configurations were promoted."""
    if request.before_after:
        raise BadInput("both --since-promotion and --before-after: give one")
    config = load_last_config(**read_overrides(request))
    with closing(open_existing_store(pick_store_url(config.store, os.environ))) as store:
        noted = store.promotions.list_promotions()
    wanted = pick_promotions(noted, "".join(request.sides))
    with answer_request(request, config) as answer:
        sessions = list(answer.report.sessions)
    if not sessions:
        raise BadInput(answer.note or "there are no sessions to compare")
    now = pick_report_time(config).astimezone(answer.zone)
    redact = Redactor(build_redaction(config)).text
    outcomes = dict(zip(noted, review_promotions(noted, sessions, now, redact), strict=True))
    found = build_review(outcomes[one] for one in wanted)
    if request.as_json:
        print_json(found)
    else:
        let_pipe_close()
        console = Console(highlight=False)
        console.print(render_promotions(found, console.width))


def compare_request(request: CompareRequest, sessions: Sequence[Session], now: datetime) -> ScoreComparison:
    """The two sides of a request beside each other."""
    return compare_named(*name_sides(request, sessions, now), sessions, now)


def name_sides(request: CompareRequest, sessions: Sequence[Session], now: datetime) -> tuple[Side, Side]:
    """The sides that are asked for."""
    if request.before_after:
        return split_at(request.before_after, now)
    one, other = request.sides
    return parse_side(one, sessions, now), parse_side(other, sessions, now)
