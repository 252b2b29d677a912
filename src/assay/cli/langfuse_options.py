"""What the commands of `assay langfuse` share: their options, and the way to the project that the keys lead to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from assay import langfuse
from assay.cli.settings import load_settings
from assay.langfuse import Client
from assay.pipeline.langfuse_scores import build_redactor
from assay.sources import find_source

Sessions = Annotated[list[str] | None, typer.Argument(metavar="[SESSION]…", help="Ids of sessions in Langfuse.")]
Since = Annotated[str | None, typer.Option(metavar="TIME", help="All sessions with anything since: 2026-11-01, or 7d.")]
Into = Annotated[
    Path | None, typer.Option("--into", metavar="FOLDER", help="Where to put them; else a folder that Assay looks in.")
]
Environments = Annotated[
    list[str] | None, typer.Option("--environment", metavar="NAME", help="Only sessions of this environment.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Only sessions with a trace so tagged.")]
Users = Annotated[list[str] | None, typer.Option("--user", metavar="ID", help="Only sessions of this user.")]
TraceNames = Annotated[
    list[str] | None, typer.Option("--trace-name", metavar="NAME", help="Only sessions with a trace of this name.")
]
WithTraces = Annotated[
    bool, typer.Option("--traces", help="Also traces that belong to no session, each as one; by id: trace:ID.")
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


def find_pull_folder() -> Path:
    """Where sessions are put that nobody named a folder for."""
    return find_source("langfuse").roots(os.environ, Path.home())[0]
