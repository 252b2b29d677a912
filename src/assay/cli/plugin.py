"""`assay plugin`: the Claude Code plugin put in and taken out, and whether it works."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct

from assay.agents import edits
from assay.agents.checkup import check_installation
from assay.agents.claude_code import (
    SCOPES,
    InstallOptions,
    build_edits,
    drop_earlier_statusline,
    find_settings,
    forget_plugin,
    is_installed,
    save_earlier_statusline,
)
from assay.agents.delivery import ServerAddress, check_address, deliver_events, drop_server, load_server, save_server
from assay.agents.installation import (
    FilePlan,
    apply_plans,
    drop_folder,
    list_changed,
    plan_install,
    plan_uninstall,
    read_base,
    read_settings,
)
from assay.cli.changes import Yes, ask_to_go_on, print_plans
from assay.cli.options import AsJson, check_word, options
from assay.cli.output import let_pipe_close, print_json, print_note
from assay.cli.settings import load_settings
from assay.cli.trouble import build_redaction
from assay.pipeline.spool import find_spool, read_spool
from assay.reports.format import format_line
from assay.types import Document

EXAMPLE = "Example: `assay plugin install`, then start Claude Code anew; `assay plugin uninstall` puts all back."
app = typer.Typer(
    help="Put the Claude Code plugin in, take it out again, and see whether it works: it notes where sessions "
    "begin and end, and brings /assay:score, /assay:why, /assay:report and /assay:audit.",
    no_args_is_help=True,
)
KEY = "ASSAY_SERVER_KEY"

Scope = Annotated[
    str, typer.Option("--scope", metavar="SCOPE", help="Whose settings: `user`, `project` (shared), or `local`.")
]
SomeScope = Annotated[
    str | None, typer.Option("--scope", metavar="SCOPE", help="Only these settings: `user`, `project` or `local`.")
]
AsHooks = Annotated[
    bool,
    typer.Option("--hooks", help="As hooks in the settings, for a Claude Code that knows no plugins (before 2.1)."),
]
Server = Annotated[
    str,
    typer.Option(
        "--server",
        metavar="URL",
        help=f"Send telemetry and events to this `assay serve`, too; its key is read from ${KEY} and kept in a file.",
    ),
]
Words = Annotated[bool, typer.Option("--words", help="Send words to the server, too, not only what happened.")]
Statusline = Annotated[
    bool, typer.Option("--statusline", help="Have `assay statusline` in the status line; one that is there stays.")
]


class InstallRequest(Struct, frozen=True, kw_only=True):
    """What `assay plugin install` takes."""

    scope: Scope = "user"
    hooks: AsHooks = False
    server: Server = ""
    words: Words = False
    statusline: Statusline = False
    yes: Yes = False
    as_json: AsJson = False


class UninstallRequest(Struct, frozen=True, kw_only=True):
    """What `assay plugin uninstall` takes."""

    scope: SomeScope = None
    yes: Yes = False
    as_json: AsJson = False


class PluginRequest(Struct, frozen=True, kw_only=True):
    """What `assay plugin status`, `doctor` and `deliver` take."""

    as_json: AsJson = False


class ScopeStatus(Struct, frozen=True, kw_only=True):
    """One settings file."""

    scope: str
    file: str
    installed: bool
    by_assay: bool
    """`assay plugin install` changed it, and `uninstall` can change it back."""


class PluginStatus(Document, frozen=True, kw_only=True, tag="plugin_status"):
    """`assay plugin status --json`."""

    scopes: list[ScopeStatus]
    waiting: int
    """Events that were kept and not read yet."""
    server: str
    words: bool


class PluginCheck(Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    what: str
    ok: bool
    says: str


class PluginCheckup(Document, frozen=True, kw_only=True, tag="plugin_checkup"):
    """`assay plugin doctor --json`."""

    checks: list[PluginCheck]


class EventDelivery(Document, frozen=True, kw_only=True, tag="event_delivery"):
    """`assay plugin deliver --json`."""

    sent: int
    left: int
    unreadable: int
    why: str


@app.command("install", epilog=EXAMPLE)
@options(InstallRequest)
def install(request: InstallRequest) -> None:
    """Put the plugin into Claude Code's settings; shows what changes and asks first."""
    check_word(request.scope, SCOPES, "--scope")
    env, path = os.environ, find_settings(request.scope, os.environ, Path.cwd())
    server = check_address(request.server) if request.server else ""
    key = env.get(KEY, "").strip() if server else ""
    wanted = InstallOptions(
        as_hooks=request.hooks,
        server=server,
        words=request.words,
        has_key=bool(key),
        statusline=request.statusline,
    )
    base = read_base(path, edits, env)
    plan = plan_install(path, request.scope, build_edits(wanted, base or "", env), edits, env)
    notes = [] if request.scope != "project" else [f"{path}: is shared, and names a folder of this machine"]
    ask_to_go_on([plan], yes=request.yes, as_json=request.as_json)
    if server:
        save_server(ServerAddress(url=server, words=request.words), key, env)
    apply_plans([plan], env)
    save_earlier_statusline(plan, env)
    notes.append("start Claude Code anew for it to take effect")
    print_plans([plan], notes, "installed", as_json=request.as_json)


@app.command("uninstall", epilog="Example: `assay plugin uninstall --scope project`")
@options(UninstallRequest)
def uninstall(request: UninstallRequest) -> None:
    """Take the plugin out of the settings again: a file that nobody changed since gets back every byte."""
    check_word(request.scope, SCOPES, "--scope")
    env = os.environ
    known = list_changed(env, [request.scope] if request.scope else SCOPES)
    plans = [plan_uninstall(one, edits) for one in known]
    notes = [note for plan in plans for note in plan.notes]
    if not known:
        notes.append("nothing was installed by `assay plugin install` here")
    ask_to_go_on(plans, yes=request.yes, as_json=request.as_json)
    apply_plans(plans, env)
    for one in known:
        drop_folder(one)
    if known and not list_changed(env, SCOPES):
        drop_earlier_statusline(env)
        drop_server(env)
        notes += [f"{path}: the plugin is taken out" for path in forget_plugin(env)]
        notes += describe_waiting(plans)
    print_plans(plans, notes, "taken out", as_json=request.as_json)


def describe_waiting(plans: Sequence[FilePlan]) -> list[str]:
    waiting = sum(1 for _ in read_spool(find_spool(os.environ)))
    return [f"{find_spool(os.environ)}: {waiting:,} events still wait for `assay score`"] if waiting and plans else []


@app.command("status", epilog="Example: `assay plugin status --json`")
@options(PluginRequest)
def status(request: PluginRequest) -> None:
    """Tell where the plugin is installed, how many events wait, and where they go."""
    env = os.environ
    ours = {one.path for one in list_changed(env, SCOPES)}
    server = load_server(env)
    found = PluginStatus(
        scopes=[
            ScopeStatus(
                scope=scope, file=str(path), installed=is_installed(check_readable(path)), by_assay=str(path) in ours
            )
            for scope in SCOPES
            for path in [find_settings(scope, env, Path.cwd())]
        ],
        waiting=sum(1 for _ in read_spool(find_spool(env))),
        server=server.url if server else "",
        words=bool(server and server.words),
    )
    if request.as_json:
        print_json(found)
        return
    let_pipe_close()
    for one in found.scopes:
        state = "installed" if one.installed else "not installed"
        by = "" if one.by_assay or not one.installed else ", not by `assay plugin install`"
        sys.stdout.write(f"{one.scope:8} {state}{by}: {format_line(one.file, 300)}\n")
    goes = f"go to {format_line(found.server, 200)}" if found.server else "stay on this machine"
    sys.stdout.write(f"events   {found.waiting:,} waiting; they {goes}\n")


def check_readable(path: Path) -> str | None:
    """What a settings file says; refused where it is no JSON."""
    text = read_settings(path)
    if text is not None:
        edits.check_settings(str(path), text)
    return text


@app.command("doctor", epilog="Example: `assay plugin doctor`")
@options(PluginRequest)
def doctor(request: PluginRequest) -> None:
    """Look whether the plugin works: settings, hook, spool, server, version; exit code 1 where something is amiss."""
    checks = check_installation(os.environ, Path.cwd())
    if request.as_json:
        print_json(PluginCheckup(checks=[PluginCheck(what=one.what, ok=one.is_ok, says=one.says) for one in checks]))
    else:
        let_pipe_close()
        for one in checks:
            sys.stdout.write(f"{'ok  ' if one.is_ok else 'AMISS'} {one.what}: {format_line(one.says, 300)}\n")
    if not all(one.is_ok for one in checks):
        raise typer.Exit(1)


@app.command("deliver", epilog="Example: `assay plugin deliver`")
@options(PluginRequest)
def deliver(request: PluginRequest) -> None:
    """Send the events that wait to the server; each stays until it was taken. Hooks do this when a session ends."""
    done = deliver_events(os.environ, build_redaction(load_settings()))
    found = EventDelivery(sent=done.sent, left=done.left, unreadable=done.unreadable, why=done.why)
    if request.as_json:
        print_json(found)
    else:
        sys.stdout.write(f"{done.sent:,} sent, {done.left:,} left\n")
        if done.why:
            print_note(done.why)
    if done.left:
        raise typer.Exit(1)
