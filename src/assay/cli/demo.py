"""`assay demo`: the main job on bundled example transcripts."""

import tempfile
from contextlib import closing
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from assay.cli.answer import answer_request
from assay.cli.options import AsJson
from assay.cli.score import ScoreRequest, print_report
from assay.cli.show import InFull, Showing, print_by_id
from assay.cli.terminal import Console
from assay.config import Config
from assay.pipeline.score import open_run
from assay.stores import open_store, pick_store_url

EXAMPLE = "Example: `assay demo`, then `assay demo ID` for why one of its sessions landed or did not"

Id = Annotated[str | None, typer.Argument(metavar="[ID]", help="Show this session of the examples instead.")]


def command(id: Id = None, full: InFull = False, as_json: AsJson = False) -> None:
    """Score bundled example transcripts, offline; nothing of yours is read, nothing is kept."""
    with as_file(files("assay").joinpath("examples")) as examples, tempfile.TemporaryDirectory() as folder:
        config = Config(store=str(Path(folder) / "demo.db"))
        with answer_request(ScoreRequest(paths=[examples], jobs=1), config) as answer:
            if id is None:
                print_report(answer, as_json=as_json)
        if id is not None:
            with (
                closing(open_store(pick_store_url(config.store, {}))) as store,
                open_run(store, config) as run,
            ):
                lists = "`assay demo` lists them"
                print_by_id(Showing(run=run, in_full=full, as_json=as_json, lists=lists, name="assay demo"), id)
    if id is None and not as_json:
        hint = "\nThese are examples: `assay demo ID` tells why; `assay score` scores your own."
        Console().print(Text(hint, "dim"))
