"""A run that was recorded by an earlier version is loaded, proven and compared by this one, to the byte."""

import tarfile
from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from assay.cli.program import app

PACKED = Path(__file__).parent / "recorded" / "runs.tar.xz"
CODES = {"improved": 0, "regressed": 1, "stopped": 5}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    with tarfile.open(PACKED) as packed:
        packed.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("name", CODES)
def test_a_recorded_run_compares_as_it_did_when_it_ended(runs, name):
    done = CliRunner().invoke(app, ["eval", "compare", str(runs / name), "--json"])
    assert done.exit_code == CODES[name], done.output
    told, kept = msgspec.json.decode(done.stdout), msgspec.json.decode((runs / name / "comparison.json").read_bytes())
    assert {field: told[field] for field in kept if field != "promote"} == {
        field: value for field, value in kept.items() if field != "promote"
    }


@pytest.mark.parametrize("name", CODES)
def test_the_seal_of_a_recorded_comparison_still_holds(runs, name):
    done = CliRunner().invoke(app, ["eval", "gate", str(runs / name), "--json"])
    assert done.exit_code == CODES[name], done.output
    assert "changed after it was made" not in done.output


@pytest.mark.parametrize("name", CODES)
def test_a_recorded_run_scores_the_same_when_it_is_replayed(runs, name):
    done = CliRunner().invoke(app, ["eval", "replay", str(runs / name)])
    assert done.exit_code == CODES[name], done.output
    assert "the verdict was" not in done.output
