"""`assay profiles`: list, show, check."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli.profiles import app
from assay.errors import BadInput
from assay.scores.profiles import SHIPPED, hash_profile, load_profile
from tests.conftest import environment

OWN = """
about = "One thing"
[[dimensions]]
name = "depth"
kind = "numeric"
weight = {weight}
asks = "How deep?"
bands = [{{ low = 0.0, high = 1.0, label = "any", means = "any" }}]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings and a place for profiles."""
    (tmp_path / "assay.toml").write_text("")
    (tmp_path / "profiles").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str) -> str:
    done = CliRunner().invoke(app, list(args), env=environment(ASSAY_CONFIG="", COLUMNS="160"))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def put(project: Path, name: str, weight: float = 1.0) -> None:
    (project / "profiles" / f"{name}.toml").write_text(OWN.format(weight=weight))


def test_list_names_the_shipped_ones_and_ones_own(project: Path) -> None:
    put(project, "mine")
    text = run("list")
    named = [line.split()[0] for line in text.splitlines() if not line.startswith(" ")]
    assert named == [*SHIPPED, "mine"]
    assert "One thing" in text


def test_a_broken_one_is_listed_with_its_fault(project: Path) -> None:
    put(project, "mine", 0.4)
    rows = json.loads(run("list", "--json"))["profiles"]
    assert [row["version"] for row in rows[:3]] == [hash_profile(load_profile(name)) for name in SHIPPED]
    assert rows[3]["version"] is None
    assert "weights sum to 0.4" in rows[3]["about"]


@pytest.mark.parametrize("name", SHIPPED)
def test_show_tells_every_dimension_with_its_steps_and_signals(name: str, project: Path) -> None:
    text = " ".join(run("show", name).split())
    for scale in load_profile(name).dimensions:
        assert f"{scale.name} {scale.kind}, weight {scale.weight:g}" in text
        assert scale.asks in text
        assert all(step.label in text for step in (*scale.bands, *scale.categories))
        assert ", ".join(scale.signals) in text


def test_show_as_json_is_the_whole_profile(project: Path) -> None:
    found = json.loads(run("show", "enhanced", "--json"))["profile"]
    assert found["name"] == "enhanced"
    assert found["version"] == hash_profile(load_profile("enhanced"))
    assert [one["weight"] for one in found["dimensions"]] == [0.3, 0.2, 0.2, 0.15, 0.1, 0.05]


def test_check_without_a_name_checks_all(project: Path) -> None:
    put(project, "mine")
    assert run("check").splitlines() == [
        *(f"{name}: fine, 6 dimensions, weights sum to 1.00" for name in SHIPPED),
        "mine: fine, 1 dimension, weights sum to 1.00",
    ]


def test_check_tells_every_fault_and_what_is_fine(project: Path) -> None:
    put(project, "mine", 0.4)
    put(project, "yours", 0.5)
    with pytest.raises(BadInput) as caught:
        run("check", "enhanced", "mine", str(project / "profiles" / "yours.toml"), "nobody")
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert "mine.toml: weights sum to 0.4, not 1; change one by +0.6" in lines[0]
    assert "yours.toml: weights sum to 0.5" in lines[1]
    assert "no profile is called 'nobody'" in lines[2]


def test_check_as_json_tells_the_same(project: Path) -> None:
    put(project, "mine")
    rows = json.loads(run("check", "--json"))["profiles"]
    assert rows == [{"name": name, "fault": None} for name in (*SHIPPED, "mine")]
    put(project, "mine", 0.4)
    with pytest.raises(BadInput, match=r"weights sum to 0\.4"):
        run("check", "mine", "--json")
