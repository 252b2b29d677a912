"""`assay eval promote` and `assay eval mine`: a proven change goes in; a session that did not land becomes a task."""

import os
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from assay.cli.options import AsJson, StorePath, options
from assay.cli.output import let_pipe_close, print_json
from assay.cli.settings import check_id, load_last_config, load_settings
from assay.errors import BadInput
from assay.evals.promoting.mine import MineRequest, mine_session
from assay.evals.promoting.promote import PromoteRequest, Promotion, promote_candidate
from assay.evals.running.evaluation import build_evaluation
from assay.evals.running.recorded_run import RESULT, load_run
from assay.evals.running.run_folder import ROOT
from assay.reports.evaluation_files import render_markdown
from assay.reports.format import sanitize_text
from assay.stores import open_existing_store, open_store, pick_store_url
from assay.types.evals import Comparison
from assay.types.promotions import NotedPromotion

PROMOTE_EXAMPLE = "Example: `assay eval promote .assay/runs/3f2a91c0 --repo ~/shop --yes`"
MINE_EXAMPLE = "Example: `assay eval mine 3f2a91c0 --into tasks --fix 1a2b3c4`"

RunFolder = Annotated[
    Path | None,
    typer.Argument(metavar="[RUN]", help="Folder of a run that has ended.", readable=False),
]
NamedRun = Annotated[
    Path | None,
    typer.Argument(metavar="[RUN]", help="Folder of a run that has ended; else the newest one.", readable=False),
]
RunOut = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="The run that `eval run --out DIR` made.", readable=False)
]
Target = Annotated[
    Path | None,
    typer.Option(
        "--repo", metavar="DIR", help="A clone of the repository to promote into; stays as it is.", readable=False
    ),
]
Branch = Annotated[str, typer.Option("--branch", metavar="NAME", help="Name of the branch; else one made of the run.")]
Candidate = Annotated[
    str, typer.Option("--candidate", metavar="CONFIG", help="Where the candidate lies now, should it not be found.")
]
Meant = Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what would be done.")]
SessionId = Annotated[
    str, typer.Argument(metavar="SESSION", help="Id of a session that did not land, or how it begins.")
]
SessionRepo = Annotated[
    Path | None,
    typer.Option("--repo", metavar="DIR", help="Repository it worked in; else the one of its folder.", readable=False),
]
Into = Annotated[Path, typer.Option("--into", "--out", metavar="DIR", help="Folder of tasks.", readable=False)]
Fix = Annotated[
    str, typer.Option("--fix", metavar="COMMIT", help="The later commit that put it right; its tests become checks.")
]


class PromoteOptions(Struct, frozen=True, kw_only=True):
    """What `assay eval promote` takes."""

    run: RunFolder = None
    out: RunOut = None
    repo: Target = None
    branch: Branch = ""
    candidate: Candidate = ""
    yes: Meant = False
    as_json: AsJson = False
    store: StorePath = None


class MineOptions(Struct, frozen=True, kw_only=True):
    """What `assay eval mine` takes."""

    session: SessionId
    repo: SessionRepo = None
    into: Into = Path("tasks")
    fix: Fix = ""
    as_json: AsJson = False
    store: StorePath = None


@options(PromoteOptions)
def promote_run(given: PromoteOptions) -> None:
    """Open a pull request with the files of a candidate that its run proves better; a dry run unless --yes.

    It is noted in the store, so that `assay compare --since-promotion` can say weeks later whether sessions moved.
    """
    run = pick_run(given.run, given.out, may_be_newest=False)
    request = PromoteRequest(
        run=run, repository=(given.repo or Path()).absolute(), branch=given.branch, candidate=given.candidate,
        is_meant=given.yes, is_named=given.repo is not None,
    )  # fmt: skip

    def render_body(comparison: Comparison) -> str:
        return render_markdown(build_evaluation(comparison, load_run(run))).decode()

    promotion = promote_candidate(request, render_body, partial(note_promotion, given.store))
    if given.as_json:
        print_json(promotion)
    else:
        print_lines(describe_promotion(promotion))


def note_promotion(where: str | None, promotion: NotedPromotion) -> bool:
    """Keep a promotion in the store, which is made where there is none."""
    config = load_settings(store=where)
    with closing(open_store(pick_store_url(config.store, os.environ))) as store:
        return store.promotions.save_promotion(promotion)


@options(MineOptions)
def mine_task(given: MineOptions) -> None:
    """Turn a session that did not land into a task to fill in: prompt, repository, checks from the later fix."""
    check_id(given.session)
    config = load_last_config(rework_repos=[given.repo] if given.repo else None, store=given.store)
    request = MineRequest(session=given.session, into=given.into, repository=given.repo, fix=given.fix)
    with closing(open_existing_store(pick_store_url(config.store, os.environ))) as store:
        task = mine_session(store, config, request)
    if given.as_json:
        print_json(task)
        return
    lines = [task.folder, f"  begins at {task.ref[:12]}: {task.ref_by}", *(f"  to do: {line}" for line in task.says)]
    print_lines("\n".join([*lines, f"  then: assay eval check {task.folder}"]))


def pick_run(named: Path | None, out: Path | None, *, may_be_newest: bool = True) -> Path:
    """The run that is meant: as it is named, else the one that ended last below `.assay/runs`."""
    if named and out:
        raise BadInput(f"both {named} and --out {out}: give one run")
    files = ROOT.glob(f"*/{RESULT}") if may_be_newest else ()
    ended = sorted(files, key=lambda file: file.stat().st_mtime)
    if found := named or out or (ended[-1].parent if ended else None):
        return found
    why = f"no run has ended in {ROOT}" if may_be_newest else "which run?"
    raise BadInput(f"{why}; give the folder of one, as `assay eval run` named it")


def print_lines(text: str) -> None:
    let_pipe_close()
    sys.stdout.write(sanitize_text(text) + "\n")


def describe_promotion(promotion: Promotion) -> str:
    """What was done, or would be, in lines."""
    doing = {"planned": "would promote", "opened": "promoted"}
    lines = [
        f"{doing.get(promotion.state, promotion.state)}: {promotion.title}",
        f"  branch {promotion.branch} from {promotion.base} {promotion.base_commit[:12]}",
    ]
    lines += [f"  {change.kind:8} {change.path}" for change in promotion.files]
    lines += [f"  {promotion.url}"] if promotion.url else []
    lines += [f"  {line}" for line in promotion.says]
    return "\n".join([*lines, "", promotion.body] if promotion.state == "planned" else lines)
