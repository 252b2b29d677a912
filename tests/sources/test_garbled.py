"""Records of every source with anything in any place, in any order: nothing breaks, and every line is accounted for."""

import copy
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.facts import establish_facts
from assay.pipeline.read_file import read_file
from assay.resources import EXAMPLES
from tests.sources.captures import FIXTURES, write_capture

WIDE = settings(
    max_examples=int(os.environ.get("ASSAY_TEST_GARBLED", "60")), deadline=None, suppress_health_check=list(HealthCheck)
)
CLAUDE = sorted((EXAMPLES / "claude-code").rglob("*.jsonl"))[:2]
LINES = [path for path in (*FIXTURES, *CLAUDE) if path.suffix == ".jsonl"]
DOCUMENTS = [path for path in FIXTURES if path.suffix in (".json", ".traj")]
ODD = st.sampled_from(
    [None, True, 0, -1, 1e308, 2**70, "", "x", "\x00", "2026-13-45T99:00:00Z", "/", [], [[]], [None], {}, {"type": 5}]
)


def list_places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a value at which something stands: what holds it, and its key or number there."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, one in [*inner] for place in [(value, key), *list_places(one)]]


def garble(values: list[Any], draws: st.DataObject) -> list[Any]:
    """The same with something else in some places, or nothing."""
    for _ in range(draws.draw(st.integers(0, 5))):
        places = list_places(values)
        if not places:
            break
        holder, key = places[draws.draw(st.integers(0, len(places) - 1))]
        match draws.draw(st.sampled_from(["replace", "drop", "wrap", "text"])):
            case "replace":
                holder[key] = copy.deepcopy(draws.draw(ODD))
            case "drop":
                del holder[key]
            case "wrap":
                holder[key] = [holder[key]]
            case _:
                holder[key] = json.dumps(holder[key])
    return values


@WIDE
@given(path=st.sampled_from(LINES), draws=st.data())
def test_lines_with_anything_anywhere_in_any_order_are_all_accounted_for(path: Path, draws: st.DataObject) -> None:
    values = garble([json.loads(line) for line in path.read_bytes().splitlines()], draws)
    head, rest = values[:1], values[1:]
    order = draws.draw(st.permutations(range(len(rest)))) if draws.draw(st.booleans()) else range(len(rest))
    twice = draws.draw(st.integers(0, 3))
    lines = [json.dumps(one).encode() for one in [*head, *(rest[n] for n in order), *rest[:twice]]]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / path.name
        made.write_bytes(b"".join(line + b"\n" for line in lines))
        found = read_file(made)
    if found.state.source:
        assert found.state.lines_read + found.state.lines_skipped == len(lines)
    msgspec.msgpack.encode(found.turns)
    establish_facts(found.turns)


@WIDE
@given(path=st.sampled_from(DOCUMENTS), draws=st.data())
def test_documents_with_anything_anywhere_break_nothing(path: Path, draws: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = write_capture(path, Path(folder))
        garbled = Path(folder) / "garbled" / made.name
        garbled.parent.mkdir()
        garbled.write_text(json.dumps((garble([json.loads(made.read_text())], draws) or [None])[0]))
        found = read_file(garbled)
    msgspec.msgpack.encode(found.turns)
    establish_facts(found.turns)
