"""`assay langfuse`: what is at the other end, score configs ensured, sessions pulled."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from assay import langfuse
from assay.cli.shared import AsJson, leave_quietly
from assay.errors import BadInput
from assay.langfuse import Client, Pulled, PullReport, SetupReport
from assay.pipeline.given import moment
from assay.reports.safe import many, one_line
from assay.scores import profiles
from assay.sources import source

EXAMPLE = "Example: `assay langfuse pull --since 7d`, then `assay score`"
INCOMPLETE = 2
NAME = 120

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


@contextmanager
def connected() -> Iterator[Client]:
    """A client for the project that the environment names."""
    client = langfuse.connect(os.environ)
    try:
        yield client
    finally:
        client.close()


def put(as_json: bool, found: Any, lines: list[str]) -> None:
    """Print an answer, for machines or for people."""
    leave_quietly()
    if as_json:
        table = {name: getattr(found, name) for name in found.__struct_fields__}
        sys.stdout.buffer.write(msgspec.json.encode({"schema_version": 1, **table}) + b"\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in lines))


@app.command("status")
def status(as_json: AsJson = False) -> None:
    """Say which server and project the keys lead to, and how it is talked to."""
    with connected() as client:
        found = langfuse.status(client)
    pace = f"{found.per_minute} requests a minute at most" if found.per_minute else "no limit on requests"
    lines = [
        f"{found.host}: Langfuse {one_line(found.version, 40) or 'of unknown version'}",
        f"project {one_line(found.project, NAME)} ({one_line(found.project_id, NAME)})",
        f"reads the {found.generation} way, hands scores in by {found.writes}, {pace}",
    ]
    put(as_json, found, lines)


@app.command("setup")
def setup(profile: Profile = "enhanced", dry_run: DryRun = False, as_json: AsJson = False) -> None:
    """Ensure a profile's score configs; exit code 2 where one of another kind is in the way."""
    wanted = langfuse.configs_of(profiles.load(profile, profiles.folders(os.environ, Path.cwd())))
    with connected() as client:
        found = langfuse.setup(client, wanted, dry_run=dry_run)
    put(as_json, found, told_of_setup(found))
    if found.mismatched:
        raise typer.Exit(INCOMPLETE)


def told_of_setup(found: SetupReport) -> list[str]:
    """What became of each config."""
    return [
        *(f"{name}: there" for name in found.found),
        *(f"{name}: created" for name in found.created),
        *(f"{name}: would be created" for name in found.missing),
        *(f"{one.name}: left alone, {one_line(one.why, 300)}" for one in found.mismatched),
    ]


@app.command("pull", epilog=EXAMPLE)
def pull(sessions: Sessions = None, since: Since = None, into: Into = None, as_json: AsJson = False) -> None:
    """Write sessions into files that `assay score` reads; exit code 2 where one could not be read."""
    if not sessions and not since:
        raise BadInput("say what to pull: ids of sessions, or --since 7d")
    folder = into or source("langfuse").roots(os.environ, Path.home())[0]
    with connected() as client:
        found = langfuse.pull(client, folder, sessions or (), since=moment(since, "--since"))
    put(as_json, found, told_of_pull(found, folder))
    if found.failed:
        raise typer.Exit(INCOMPLETE)


def told_of_pull(found: PullReport, folder: Path) -> list[str]:
    """What became of each session."""
    return [
        *(told_of_session(one) for one in found.pulled),
        *(f"{one_line(name, NAME)}: nothing there (yet)" for name in found.empty),
        *(f"{one_line(name, NAME)}: {one_line(why, 300)}" for name, why in found.failed),
        f"{many(len(found.pulled), 'session')} in {one_line(str(folder), 300)}",
    ]


def told_of_session(one: Pulled) -> str:
    is_silent = "" if one.has_text else ", without any text"
    how = "" if one.is_changed else ", as before"
    size = f"{many(one.traces, 'trace')}, {many(one.observations, 'observation')}"
    return f"{one_line(one.session, NAME)}: {size}{how}{is_silent}"
