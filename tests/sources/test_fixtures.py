"""A transcript beside what it must give is a test of its source: `NAME/WHAT.jsonl` and `NAME/WHAT.expected.json`."""

import json
from pathlib import Path

import msgspec

from assay.plugins import load_module
from assay.testing import read_events
from tests.tables import each_row

HERE = Path(__file__).parent
FIXTURES = sorted(HERE.glob("*/*.jsonl"))


@each_row("path", FIXTURES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_transcript_gives_the_events_beside_it(path: Path) -> None:
    events = read_events(load_module("sources", path.parent.name), path)
    told = [{"event": type(event).__name__, **msgspec.to_builtins(event)} for event in events]
    assert json.loads(json.dumps(told)) == json.loads(path.with_suffix(".expected.json").read_text())


def test_there_are_transcripts_to_read():
    assert len(FIXTURES) > 5
