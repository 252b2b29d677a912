"""`assay demo`: the main job on bundled example transcripts."""

import tempfile
from importlib.resources import as_file, files
from pathlib import Path

from assay.cli.shared import AsJson
from assay.cli.streams import streams


def demo(as_json: AsJson = False) -> None:
    """Run on bundled example transcripts; nothing of yours is read, nothing is kept."""
    with as_file(files("assay").joinpath("examples")) as examples, tempfile.TemporaryDirectory() as folder:
        streams([examples], as_json=as_json, store=str(Path(folder) / "demo.db"), jobs=1)
