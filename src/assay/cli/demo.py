"""`assay demo`: the main job on bundled example transcripts."""

import tempfile
from contextlib import closing
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from assay.cli.options import AsJson
from assay.cli.report import answer_request
from assay.cli.score import ScoreRequest, print_report
from assay.cli.show import print_by_id
from assay.config import Config
from assay.stores import open_store, pick_store_url

EXAMPLE = "Example: `assay demo`, then `assay demo ID` for why one of its sessions landed or did not"

Id = Annotated[str | None, typer.Argument(metavar="[ID]", help="Show this session of the examples instead.")]


def command(id: Id = None, as_json: AsJson = False) -> None:
    """Score bundled example transcripts, offline; nothing of yours is read, nothing is kept."""
    with as_file(files("assay").joinpath("examples")) as examples, tempfile.TemporaryDirectory() as folder:
        config = Config(store=str(Path(folder) / "demo.db"))
        answer = answer_request(ScoreRequest(paths=[examples], jobs=1), config)
        if id is None:
            print_report(answer, as_json=as_json)
        else:
            with closing(open_store(pick_store_url(config.store, {}))) as store:
                print_by_id(store, config, id, as_json=as_json, lists="`assay demo` lists them")
    if id is None and not as_json:
        hint = "\nThese are examples: `assay demo ID` tells why; `assay score` scores your own."
        Console().print(Text(hint, "dim"))
