"""A transcript beside what it must give is a test of its source: `NAME/WHAT.jsonl` and `NAME/WHAT.expected.json`."""

import json
import tempfile
from pathlib import Path

import msgspec

from assay.pipeline.read_file import find_source_name
from assay.plugins import list_names, load_module
from assay.testing import check_source, read_events
from tests.sources.captures import FIXTURES, find_expected, write_capture
from tests.tables import each_row


def name_row(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@each_row("path", FIXTURES, ids=name_row)
def test_a_transcript_gives_the_events_beside_it(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        events = read_events(load_module("sources", path.parent.name), write_capture(path, Path(folder)))
    told = [{"event": type(event).__name__, **msgspec.to_builtins(event)} for event in events]
    assert json.loads(json.dumps(told)) == json.loads(find_expected(path).read_text())


@each_row("path", FIXTURES, ids=name_row)
def test_a_transcript_is_claimed_by_its_own_source_alone(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        head = write_capture(path, Path(folder)).read_bytes()[: 64 << 10]
    names = {name for name in list_names("sources") if load_module("sources", name).claims(head)}
    assert names == {path.parent.name}
    assert find_source_name(head) == path.parent.name


@each_row("path", FIXTURES, ids=name_row)
def test_a_source_keeps_its_contract(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_source(load_module("sources", path.parent.name), write_capture(path, Path(folder)))


def test_there_are_transcripts_to_read():
    assert len(FIXTURES) > 15
