"""Real transcripts go into Langfuse and come out again: uploaded, pulled and scored twice, there are the same rows."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assay.cli.langfuse import app
from assay.testing.langfuse import LangfuseServer
from tests.conftest import environment

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="no real transcripts lie beside the project"),
]


def copy_some(folder: Path) -> Path:
    """Every third transcript, of all agents; those of sub-agents stay beside theirs."""
    chosen = {path.relative_to(CORPUS).with_suffix("") for path in sorted(CORPUS.rglob("*.jsonl"))[::3]}
    for path in CORPUS.rglob("*.jsonl"):
        place = path.relative_to(CORPUS)
        if any(one in (place.with_suffix(""), *place.parents) for one in chosen):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).symlink_to(path)
    return folder


def test_real_transcripts_are_uploaded_pulled_and_scored_twice_with_the_same_rows(tmp_path: Path):
    kept: list[dict[Any, Any]] = []
    some = copy_some(tmp_path / "some")
    with LangfuseServer("4.59.0") as server:
        known = environment(**server.environment(), XDG_DATA_HOME=str(tmp_path / "data"))

        def run(*words: object) -> str:
            done = CliRunner().invoke(app, [str(word) for word in words], env=known)
            assert done.exit_code == 0, done.output
            return done.output

        for there in ("sent", "there already"):
            told = run("upload", some, "--yes", "--store", tmp_path / "here.db")
            assert told.splitlines()[-1].endswith(f"traces {there}")
            run("score", "--since", "2020-01-01", "--store", tmp_path / "there.db")
            kept.append({key: row["body"] for key, row in server.scores.items()})
    assert len(kept[0]) > 200
    assert kept[0] == kept[1]
