"""Where work is done: on this machine or on a cluster, with the same result; what can't be is said in a line."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay import __version__
from assay.errors import BadInput, WorkerLost
from assay.pipeline.cluster import RayPool, explain_loss, join_cluster, open_pool, run_task
from assay.pipeline.pool import Pool
from tests.conftest import environment, is_one_line, run
from tests.llm.real import fetched

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "src/assay/examples"


def test_processes_are_the_engine_unless_another_is_named() -> None:
    assert type(open_pool(2, "processes")) is Pool
    found = [open_pool(2, one) for one in ("ray", "ray://head:10001")]
    assert [one.address for one in found if isinstance(one, RayPool)] == [None, "ray://head:10001"]


def test_work_that_is_not_worth_a_cluster_is_done_here() -> None:
    assert list(open_pool(2, "ray").each([1, 2], str)) == ["1", "2"]


@pytest.mark.parametrize("engine", ["rays", "ray:/head", "ray://", "http://head", "ray://head/../x y"])
def test_an_engine_that_is_none_is_refused(engine: str, tmp_path: Path) -> None:
    found = run("score", EXAMPLES, "--store", tmp_path / "store.db", "--engine", engine)
    assert found.code == 2
    assert is_one_line(found.err)
    assert "--engine" in found.err


def test_a_project_may_not_say_where_transcripts_go(tmp_path: Path) -> None:
    (tmp_path / "assay.toml").write_text('engine = "ray://elsewhere:10001"\n')
    found = run("score", EXAMPLES, "--store", tmp_path / "store.db", cwd=tmp_path)
    assert found.code == 2
    assert "may not say on which machines" in found.err


@pytest.mark.parametrize(("address", "more"), [(None, {"include_dashboard": False}), ("ray://head:10001", {})])
def test_a_cluster_that_is_there_is_told_nothing_of_how_to_begin(
    address: str | None, more: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: dict[str, object] = {}
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=lambda **given: said.update(given)))
    join_cluster(address)
    assert said == {"address": address, "log_to_driver": False, "logging_level": "CRITICAL"} | more


class TaskError(Exception):
    """As Ray tells what a task raised."""

    def __init__(self, cause: Exception | None) -> None:
        super().__init__("a task failed")
        self.cause = cause


def test_a_node_without_the_package_or_with_another_version_is_named() -> None:
    missing = explain_loss(TaskError(ModuleNotFoundError("No module named 'assay'")))
    assert isinstance(missing, BadInput)
    assert f"has no assay {__version__}" in str(missing)
    assert isinstance(explain_loss(TaskError(None)), WorkerLost)
    with pytest.raises(BadInput, match=r"a node has assay .*, and this machine 0\.0\.0"):
        run_task(str, 1, "0.0.0")
    assert run_task(str, 1, __version__) == "1"


def test_a_bug_of_ours_on_a_node_stays_one() -> None:
    error = TaskError(KeyError("till"))
    assert explain_loss(error) is error


@pytest.mark.outside
@pytest.mark.last
def test_a_cluster_says_the_same_bytes_whoever_dies() -> None:
    """Several nodes on this machine; one is killed in the middle, then the driver, which goes on."""

    def fetch(folder: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder), "ray[client]>=2.40"]
        subprocess.run(command, check=True)

    folder = fetched(f"ray-py{sys.version_info.minor}", fetch)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cluster", EXAMPLES, "--mb", "9", "--kill"],
        env=environment(PYTHONPATH=f"{ROOT}:{folder}", HOME="/tmp"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "same bytes: True" in done.stdout
    assert "same bytes with a node and the driver killed: True" in done.stdout
    total, read, kept, after = map(int, re.findall(r"(\d+) (?:objects|read|kept)", done.stdout)[-4:])
    assert kept <= read
    assert after == total - kept
