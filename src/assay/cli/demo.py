"""`assay demo`: the main job on bundled example transcripts."""

import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from assay.cli import score
from assay.cli.shared import AsJson
from assay.cli.show import show_in
from assay.cli.wanted import Wanted, answer
from assay.config import Config
from assay.stores import open_store, pick_store_url

EXAMPLE = "Example: `assay demo`, then `assay demo ID` for why one of its sessions landed or did not"

Id = Annotated[str | None, typer.Argument(metavar="[ID]", help="Show this session of the examples instead.")]


def command(id: Id = None, as_json: AsJson = False) -> None:
    """Score bundled example transcripts, offline; nothing of yours is read, nothing is kept."""
    with as_file(files("assay").joinpath("examples")) as examples, tempfile.TemporaryDirectory() as folder:
        config = Config(store=str(Path(folder) / "demo.db"))
        found = answer(Wanted(paths=[examples], jobs=1), config)
        if id is None:
            score.show(found, None, as_json)
        else:
            show_example(config, id, as_json)
    if id is None and not as_json:
        hint = "\nThese are examples: `assay demo ID` tells why; `assay score` scores your own."
        Console().print(Text(hint, "dim"))


def show_example(config: Config, id: str, as_json: bool) -> None:
    """One session of the examples."""
    opened = open_store(pick_store_url(config.store, {}))
    try:
        show_in(opened, config, id, as_json)
    finally:
        opened.close()
