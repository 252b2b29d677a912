"""`assay statusline`: one line for Claude Code's status line; `--look` keeps what the next one says."""

import os
from datetime import UTC, datetime
from typing import Annotated

import msgspec
import typer
from msgspec import Struct

from assay.cli.door import KEPT, print_line
from assay.cli.options import StorePath, options, read_overrides
from assay.cli.settings import load_config
from assay.errors import BadInput
from assay.files import find_state_folder, write_atomically
from assay.pipeline.glance import take_glance

EXAMPLE = (
    "Example: `assay statusline`, as `assay plugin install --statusline` has Claude Code run it, "
    "with JSON of the session on stdin"
)
Look = Annotated[
    bool, typer.Option("--look", help="Read what is new and keep what the next line says; the line itself does this.")
]


class StatuslineRequest(Struct, frozen=True, kw_only=True):
    """What `assay statusline` takes."""

    look: Look = False
    store: StorePath = None


@options(StatuslineRequest)
def command(request: StatuslineRequest) -> None:
    """Print one line for Claude Code's status line: the week's score, this session's state, tokens and cost."""
    if not request.look:
        print_line()
        return
    folder = find_state_folder(os.environ)
    glance = take_glance(load_config(**read_overrides(request)), datetime.now(UTC))
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(folder / KEPT, msgspec.json.encode(glance))
    except OSError as error:
        raise BadInput(f"{folder / KEPT}: can't be written: {error.strerror}") from None
