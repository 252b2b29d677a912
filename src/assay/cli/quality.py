"""`assay quality`: how well sessions were run, dimension by dimension, by a profile."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct
from rich.console import Console

from assay.cli.consent import Consent, asking
from assay.cli.saving import checked, write
from assay.cli.shared import AsJson, Jobs, StorePath, leave_quietly, scanned
from assay.cli.wanted import (
    Again,
    Batch,
    Given,
    Judge,
    MaxCost,
    ModelName,
    ModelUrl,
    Project,
    Since,
    Until,
    Yes,
    as_reported,
    chosen,
)
from assay.config import Config
from assay.errors import BadInput
from assay.llm.egress import Egress
from assay.pipeline.egress import connect_without_key
from assay.pipeline.models import needs_model
from assay.pipeline.quality import (
    Subject,
    judge_quality,
    list_egress,
    list_questions,
    list_subjects,
    pick_quality_model,
)
from assay.pipeline.scoring_run import Selection
from assay.reports import leaving
from assay.reports import quality as shown
from assay.reports.safe import encoded, one_line, safe
from assay.scores import profiles
from assay.stores import Store
from assay.types.quality import Profile, Quality

WORDS = "assay quality --dry-run"
EXAMPLE = "Example: `assay quality 3f2a91c0 --profile revised`, or `assay quality --since 7d -o quality.md`"
FORMATS = (".json", ".md")
FEW = 3
"""Sessions that are shown in full; of more, a line each."""

Which = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SESSION|PATH]…", help="Ids of sessions, transcripts or folders; without any, all sessions."
    ),
]
ProfileName = Annotated[
    str, typer.Option("--profile", "-p", metavar="PROFILE", help="A profile's name, or the path of a TOML file.")
]
Target = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Keep it in a file too: .json or .md.", readable=False),
]
Details = Annotated[
    bool, typer.Option("--details", help=f"Also of more than {FEW} sessions every dimension, not a line each.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show what a model would be sent, word for word, and send nothing.")
]


class Asked(Struct, frozen=True, kw_only=True):
    """What quality is asked of: transcripts, or sessions by how their ids begin."""

    paths: list[Path] | None
    ids: tuple[str, ...]


def command(  # noqa: PLR0913  each is an option
    which: Which = None,
    profile: ProfileName = "enhanced",
    since: Since = None,
    until: Until = None,
    project: Project = None,
    judge: Judge = None,
    model: ModelName = None,
    model_url: ModelUrl = None,
    max_cost: MaxCost = None,
    batch: Batch = False,
    again: Again = False,
    yes: Yes = False,
    dry_run: DryRun = False,
    details: Details = False,
    as_json: AsJson = False,
    output: Target = None,
    store: StorePath = None,
    jobs: Jobs = 0,
) -> None:
    """Show how well sessions were run: every dimension of a profile with score, reason and evidence."""
    target = checked(output, FORMATS)
    found = profiles.load_profile(profile, profiles.list_folders(os.environ, Path.cwd()))
    config = as_reported(Given(judge=judge, model=model, url=model_url, max_cost=max_cost, store=store))
    choice, asked = chosen(config, since, until, project), told_apart(which or [])
    with sessions_of(asked, config, choice, jobs) as (kept, some):
        dearer, consent = pick_quality_model(config), Consent(yes=yes, batch=batch, again=again, words=WORDS)
        if dry_run:
            rehearse(kept, some, found, dearer, as_json)
            return
        with asking(kept, dearer, consent, lambda desk: list_questions(some, found, dearer, desk)) as desk:
            qualities = judge_quality(some, found, dearer, desk)
    titles = {one.session.id: one.session.title for one in some}
    if target:
        write(
            shown.machine(qualities) if target.suffix == ".json" else shown.markdown(qualities, found, titles), target
        )
        print(f"assay: wrote {safe(str(target))}", file=sys.stderr)
    show(qualities, found, titles, as_json=as_json, in_full=details or len(qualities) <= FEW)


def told_apart(which: Sequence[str]) -> Asked:
    """Paths that are there, and ids of sessions; not both at once."""
    paths = [Path(one) for one in which if Path(one).expanduser().exists()]
    ids = tuple(one.lower() for one in which if not Path(one).expanduser().exists())
    if paths and ids:
        raise BadInput(f"{one_line(ids[0], 60)!r} is no file or folder; give paths, or ids of sessions, not both")
    return Asked(paths=paths or None, ids=ids)


@contextmanager
def sessions_of(asked: Asked, config: Config, choice: Selection, jobs: int) -> Iterator[tuple[Store, list[Subject]]]:
    """An open store, and the sessions that are wanted of it; an id that nothing has is told."""
    with scanned(asked.paths, config, jobs, may_be_empty=bool(asked.ids)) as found:
        roots = None if asked.ids else found.changes.roots
        some = list_subjects(found.store, config, roots, choice, asked.ids)
        for one in asked.ids:
            if not any(subject.session.id.startswith(one) for subject in some):
                raise BadInput(f"no session begins with {one_line(one, 60)!r}; `assay sessions` lists them")
        if not some:
            raise BadInput("there are no sessions to look at; `assay sessions` lists those that were found")
        yield found.store, some


def rehearse(store: Store, some: Sequence[Subject], profile: Profile, config: Config, as_json: bool) -> None:
    """Show what would be sent where."""
    found = Egress(judge=config.judge, to=None, model=None, estimate=None, requests=[])
    if needs_model(config):
        way = connect_without_key(config, dict(os.environ))
        estimate, requests = list_egress(store, some, profile, config, way)
        found = Egress(judge=config.judge, to=way.where, model=way.model, estimate=estimate, requests=requests)
    leave_quietly()
    if as_json:
        sys.stdout.buffer.write(encoded(found) + b"\n")
        return
    console = Console()
    console.print(leaving.report(found, console.width, words=True))


def show(found: Sequence[Quality], profile: Profile, titles: dict[str, str], *, as_json: bool, in_full: bool) -> None:
    """For machines, or for people: in full, or a line each."""
    leave_quietly()
    if as_json:
        sys.stdout.buffer.write(shown.machine(found) + b"\n")
        return
    console = Console()
    if in_full:
        console.print(shown.report(found, profile, titles))
    else:
        console.print(shown.listing(found, profile, titles, console.width))
