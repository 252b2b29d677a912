"""Real transcripts, where they lie beside the project: all are read, lines add up, prompts are found."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.pipeline.read_file import read_file
from tests.conftest import run

SHARED = Path(__file__).parents[2] / "shared"
PLACES = [SHARED / "corpus", SHARED / "clients"]
VERSIONS = {"1.0.88", "2.0.14", "2.1.197", "2.1.325"}
LEAST_RECALL, LEAST_PRECISION = 0.99, 0.97

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not PLACES[0].is_dir(), reason=f"the corpus of real transcripts is not at {PLACES[0]}: nothing to read"
    ),
]


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    store = tmp_path_factory.mktemp("corpus") / "s.db"
    return run("streams", *PLACES, "--store", store, "--json").json, store


def test_every_line_of_every_transcript_is_read_or_told(scanned: tuple[dict[str, Any], Path]):
    listed, _ = scanned
    total = 0
    for file in (file for place in PLACES for file in place.rglob("*.jsonl")):
        with file.open("rb") as lines:
            total += sum(1 for _ in lines)
    assert listed["lines"]["total"] == listed["lines"]["read"] + listed["lines"]["skipped"] == total
    assert all(skip["why"] for skip in listed["skipped"])


def test_each_file_of_any_kind_is_read_without_a_crash():
    for file in (file for place in PLACES for file in place.rglob("*") if file.is_file()):
        found = read_file(file)
        with file.open("rb") as lines:
            assert found.state.lines_read + found.state.lines_skipped == sum(1 for _ in lines), file


def test_the_prompts_that_readers_found_are_found(scanned: tuple[dict[str, Any], Path]):
    """Known: a few labels are commands to the client; prompts taken up in mid-turn have no label."""
    listed, _ = scanned
    gold = {one["file"]: one for one in map(json.loads, (SHARED / "gold" / "dev.jsonl").read_text().splitlines())}
    asked = {Path(one["file"]).name: set(one["prompts_at"]) for one in listed["streams"]}
    labels = {(file, at) for file, one in gold.items() for at in one["prompts_at"]}
    found = {(file, at) for file in gold for at in asked.get(file, ())}
    assert set(gold) <= set(asked)
    assert len(labels & found) / len(labels) >= LEAST_RECALL, sorted(labels - found)
    assert len(labels & found) / len(found) >= LEAST_PRECISION, sorted(found - labels)


def test_every_version_of_the_client_is_seen(scanned: tuple[dict[str, Any], Path]):
    _, store = scanned
    health = run("doctor", SHARED / "clients" / "transcripts", "--store", store, "--json").json
    assert set(health["versions"]["claude-code"]) >= VERSIONS


def test_without_their_repositories_sessions_are_scored_and_what_became_of_their_lines_is_unknown(
    scanned: tuple[dict[str, Any], Path],
):
    _, store = scanned
    found = run("score", PLACES[0], "--store", store, "--json").json
    states = [one["facts"]["rework"] for one in found["sessions"]]
    known = [one for one in states if one["state"] not in ("unknown", "not_judged")]
    assert len(known) <= len(states) / 10
    assert not [one for one in known if one["state"] != "yes"]
    assert all(one["detail"] for one in states if one["state"] == "unknown")
    assert found["score"]["value"] is not None
    assert found["score"]["rework_unknown"] > 0
    assert found["survival"] is None
    assert "later replaced is unknown for" in run("score", PLACES[0], "--store", store).out
