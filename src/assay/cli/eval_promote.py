"""`assay eval promote` and `assay eval mine`: a proven change goes in; a session that did not land becomes a task."""

import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import AsJson, StorePath
from assay.cli.output import let_pipe_close
from assay.cli.settings import load_last_config
from assay.evals.promoting import mine as mining
from assay.evals.promoting.promote import Body, PromoteRequest, Promotion
from assay.evals.promoting.promote import promote_candidate as promoted
from assay.evals.running import recorded_run
from assay.evals.running.evaluation import build_evaluation
from assay.reports.evaluation_files import render_markdown
from assay.reports.safe import encoded, safe
from assay.stores import open_existing_store, pick_store_url
from assay.types.evals import Comparison

PROMOTE_EXAMPLE = "Example: `assay eval promote .assay/runs/3f2a91c0 --repo ~/shop --yes`"
MINE_EXAMPLE = "Example: `assay eval mine 3f2a91c0 --into tasks --fix 1a2b3c4`"

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run that has ended.", readable=False)]
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
Id = Annotated[str, typer.Argument(metavar="SESSION", help="Id of a session that did not land, or how it begins.")]
Worked = Annotated[
    Path | None,
    typer.Option("--repo", metavar="DIR", help="Repository it worked in; else the one of its folder.", readable=False),
]
Into = Annotated[Path, typer.Option("--into", metavar="DIR", help="Folder of tasks.", readable=False)]
Fix = Annotated[
    str, typer.Option("--fix", metavar="COMMIT", help="The later commit that put it right; its tests become checks.")
]


@app.command("promote", epilog=PROMOTE_EXAMPLE)
def promote(
    run: RunFolder,
    repo: Target = None,
    branch: Branch = "",
    candidate: Candidate = "",
    yes: Meant = False,
    as_json: AsJson = False,
) -> None:
    """Open a pull request with the files of a candidate that its run proves better; a dry run unless --yes."""
    wish = PromoteRequest(
        run=run, repository=(repo or Path()).absolute(), branch=branch, candidate=candidate, is_meant=yes,
        is_named=repo is not None,
    )  # fmt: skip
    found = promoted(wish, body_of(run))
    let_pipe_close()
    if as_json:
        sys.stdout.buffer.write(encoded(found) + b"\n")
    else:
        sys.stdout.write(safe(told(found)) + "\n")


@app.command("mine", epilog=MINE_EXAMPLE)
def mine(
    session: Id,
    repo: Worked = None,
    into: Into = Path("tasks"),
    fix: Fix = "",
    as_json: AsJson = False,
    store: StorePath = None,
) -> None:
    """Turn a session that did not land into a task to fill in: prompt, repository, checks from the later fix."""
    wish = mining.MineRequest(session=session, into=into, repository=repo, fix=fix)
    config = load_last_config(rework_repos=[repo] if repo else None, store=store)
    url = pick_store_url(config.store, os.environ)
    with closing(open_existing_store(url)) as there:
        found = mining.mine_session(there, config, wish)
    let_pipe_close()
    if as_json:
        sys.stdout.buffer.write(encoded(found) + b"\n")
        return
    lines = [found.folder, f"  begins at {found.ref[:12]}: {found.ref_by}", *(f"  to do: {one}" for one in found.says)]
    sys.stdout.write(safe("\n".join([*lines, f"  then: assay eval check {found.folder}"])) + "\n")


def body_of(run: Path) -> Body:
    """The comparison as Markdown, with what the run tells of itself."""

    def body(comparison: Comparison) -> str:
        return render_markdown(build_evaluation(comparison, recorded_run.load_run(run))).decode()

    return body


def told(found: Promotion) -> str:
    """What was done, or would be, in lines."""
    doing = {"planned": "would promote", "opened": "promoted"}
    lines = [
        f"{doing.get(found.state, found.state)}: {found.title}",
        f"  branch {found.branch} from {found.base} {found.base_commit[:12]}",
    ]
    lines += [f"  {one.kind:8} {one.path}" for one in found.files]
    lines += [f"  {found.url}"] if found.url else []
    lines += [f"  {one}" for one in found.says]
    return "\n".join([*lines, "", found.body] if found.state == "planned" else lines)
