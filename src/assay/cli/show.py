"""`assay show`: one stream, turn by turn."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from assay.cli.shared import AsJson, StorePath, leave_quietly
from assay.config import store_url
from assay.errors import BadInput
from assay.pipeline.work import Joining, pieces_of
from assay.reports import machine, terminal
from assay.reports.safe import one_line
from assay.sessions.join import join
from assay.stores.sql import Store, open_store
from assay.types import Summary

Id = Annotated[
    str, typer.Argument(metavar="STREAM", help="Id of a stream, or how it begins; `assay streams` lists them.")
]


def show(stream: Id, as_json: AsJson = False, store: StorePath = None) -> None:
    """Show a conversation: what was asked, what was done and how it ended."""
    url = store_url(store, os.environ)
    if not Path(url.removeprefix("sqlite:///")).exists():
        raise BadInput(f"there is no store at {url.removeprefix('sqlite:///')} yet; run `assay streams` first")
    opened = open_store(url)
    try:
        leave_quietly()
        one = the_one(opened, stream)
        kept = opened.pieces_of(one.agent, one.id)
        whole = join(pieces_of(Joining(pieces=kept.pieces, elsewhere=kept.elsewhere)), kept.elsewhere)
        if as_json:
            sys.stdout.buffer.write(machine.detail(one, whole) + b"\n")
        else:
            Console().print(terminal.stream(one, whole))
    finally:
        opened.close()


def the_one(store: Store, prefix: str) -> Summary:
    """The stream whose id begins so; none or several are told."""
    found = store.find(prefix)
    if not found:
        raise BadInput(f"no stream begins with {one_line(prefix, 60)!r}; run `assay streams` to read and list them")
    if len(found) > 1 and not any(one.id == prefix for one in found):
        listed = "\n  ".join(f"{one.id}  {one_line(one.title, 60)}" for one in found[:10])
        raise BadInput(f"{len(found)} streams begin with {prefix!r}; give more of the id:\n  {listed}")
    return next((one for one in found if one.id == prefix), found[0])
