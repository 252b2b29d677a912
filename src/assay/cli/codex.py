"""`assay codex`: Codex's telemetry settings and its notify hook, put in and taken out again."""

import os
import sys
from typing import Annotated

import typer
from msgspec import Struct

from assay.agents import toml_text
from assay.agents.codex import SCOPE, build_edits, find_config
from assay.agents.delivery import check_address
from assay.agents.installation import (
    apply_plans,
    drop_folder,
    find_changed,
    list_changed,
    plan_install,
    plan_uninstall,
    read_base,
)
from assay.cli.changes import Yes, ask_to_go_on, print_plans
from assay.cli.options import AsJson, options
from assay.cli.output import let_pipe_close, print_json
from assay.reports.format import format_line
from assay.types import Document

EXAMPLE = "Example: `assay codex install --server http://127.0.0.1:4318`; `assay codex uninstall` puts all back."
app = typer.Typer(
    help="Have Codex tell of its turns, and send telemetry to a server; or take that out again. Its rollouts "
    "are read without any of this.",
    no_args_is_help=True,
)
Server = Annotated[
    str, typer.Option("--server", metavar="URL", help="Send telemetry to this `assay serve`, which must need no key.")
]
Words = Annotated[bool, typer.Option("--words", help="Send prompts, too, not only what happened.")]


class CodexInstallRequest(Struct, frozen=True, kw_only=True):
    """What `assay codex install` takes."""

    server: Server = ""
    words: Words = False
    yes: Yes = False
    as_json: AsJson = False


class CodexUninstallRequest(Struct, frozen=True, kw_only=True):
    """What `assay codex uninstall` takes."""

    yes: Yes = False
    as_json: AsJson = False


class CodexStatusRequest(Struct, frozen=True, kw_only=True):
    """What `assay codex status` takes."""

    as_json: AsJson = False


class CodexStatus(Document, frozen=True, kw_only=True, tag="codex_status"):
    """`assay codex status --json`."""

    file: str
    installed: bool
    keys: list[str]
    """What `assay codex install` has set."""


@app.command("install", epilog=EXAMPLE)
@options(CodexInstallRequest)
def install(request: CodexInstallRequest) -> None:
    """Put the notify hook, and with `--server` telemetry, into config.toml; shows what changes and asks first."""
    env, path = os.environ, find_config(os.environ)
    server = check_address(request.server) if request.server else ""
    base = read_base(path, toml_text, env)
    wanted, notes = build_edits(base or "", server, words=request.words)
    plan = plan_install(path, SCOPE, wanted, toml_text, env)
    ask_to_go_on([plan], yes=request.yes, as_json=request.as_json)
    apply_plans([plan], env)
    print_plans([plan], notes, "installed", as_json=request.as_json)


@app.command("uninstall", epilog="Example: `assay codex uninstall --yes`")
@options(CodexUninstallRequest)
def uninstall(request: CodexUninstallRequest) -> None:
    """Take it out of config.toml again: a file that nobody changed since gets back every byte."""
    known = list_changed(os.environ, [SCOPE])
    plans = [plan_uninstall(one, toml_text) for one in known]
    notes = [note for plan in plans for note in plan.notes]
    notes += [] if known else ["nothing was installed by `assay codex install`"]
    ask_to_go_on(plans, yes=request.yes, as_json=request.as_json)
    apply_plans(plans, os.environ)
    for one in known:
        drop_folder(one)
    print_plans(plans, notes, "taken out", as_json=request.as_json)


@app.command("status", epilog="Example: `assay codex status --json`")
@options(CodexStatusRequest)
def status(request: CodexStatusRequest) -> None:
    """Tell what is set in Codex's config.toml."""
    path = find_config(os.environ)
    known = find_changed(os.environ, path)
    found = CodexStatus(
        file=str(path), installed=known is not None, keys=[one.describe() for one in known.edits] if known else []
    )
    if request.as_json:
        print_json(found)
        return
    let_pipe_close()
    says = f"installed ({', '.join(found.keys)})" if found.installed else "not installed"
    sys.stdout.write(f"{format_line(found.file, 300)}: {says}\n")
