"""What is released: one version, every Python that is named, a workflow that proves before it publishes."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay import __version__
from assay.cli.program import COMMANDS
from assay.resources import EXAMPLES
from tests.tables import each_row

TOP = Path(__file__).parents[1]
PROJECT: dict[str, Any] = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOW: dict[str, Any] = yaml.safe_load((TOP / ".github/workflows/release.yml").read_text("utf-8"))
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
STEPS = [(name, step) for name, job in JOBS.items() for step in job["steps"]]
SERIES = re.compile(r"Programming Language :: Python :: (3\.\d+)")


def list_before(name: str) -> set[str]:
    """All jobs that must have passed before one begins."""
    needs = JOBS[name].get("needs", [])
    direct = {needs} if isinstance(needs, str) else {*needs}
    return direct.union(*(list_before(one) for one in direct))


def test_nothing_is_published_before_it_was_built_tried_listed_and_attested():
    assert list_before("publish") == {"build", "test", "suite", "sbom", "attest"}
    assert list_before("release") >= {"publish"}


def test_the_wheel_is_tried_on_every_system_and_python_that_the_package_names():
    named = [found[1] for one in PROJECT["classifiers"] if (found := SERIES.match(one))]
    matrix = JOBS["test"]["strategy"]["matrix"]
    assert matrix["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert [one.partition("-")[0] for one in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_each_job_has_only_the_rights_it_needs():
    assert WORKFLOW["permissions"] == {"contents": "read"}
    given = {name: job["permissions"] for name, job in JOBS.items() if "permissions" in job}
    assert given == {
        "attest": {"id-token": "write", "attestations": "write"},
        "publish": {"id-token": "write"},
        "release": {"contents": "write"},
    }
    text = (TOP / ".github/workflows/release.yml").read_text("utf-8")
    assert "secrets." not in text
    assert "pull_request" not in text


def test_only_a_tag_is_published():
    assert {name for name, job in JOBS.items() if job.get("if") == "github.ref_type == 'tag'"} == {
        "attest", "publish", "release"
    }  # fmt: skip
    assert WORKFLOW[True]["push"] == {"tags": ["v*.*.*"]}  # `on` is a word for true in YAML


@each_row("step", [step for _, step in STEPS], ids=lambda step: step.get("name", step.get("uses")))
def test_no_step_has_words_of_others_in_its_script_and_every_action_is_pinned_to_a_commit(step: dict[str, Any]):
    assert "${{" not in step.get("run", "")
    assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step.get("uses", f"a/b@{'0' * 40}"))


def test_the_version_stands_in_one_place():
    assert PROJECT["dynamic"] == ["version"]
    places = [*(TOP / "src").rglob("*.py"), TOP / "CITATION.cff", TOP / "pyproject.toml", *(TOP / "action").iterdir()]
    said = [one for one in places if re.search(rf"(?i)version[\W_]+{re.escape(__version__)}\b", one.read_text("utf-8"))]
    assert said == [TOP / "src/assay/__init__.py"]


def test_what_is_cited_is_what_is_released():
    cited = yaml.safe_load((TOP / "CITATION.cff").read_text("utf-8"))
    assert (cited["cff-version"], cited["license"], cited["type"]) == ("1.2.0", PROJECT["license"], "software")
    assert {"message", "title", "authors"} <= cited.keys()


# --- systems that are not POSIX ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["demo"], 0, "These are examples"), (["score", EXAMPLES], 0, "PRISM Score"),
        (["eval", "check"], 2, "assay eval: not on this system; it needs Linux or macOS"),
    ],
)  # fmt: skip
def test_what_python_lacks_on_windows_is_not_missed(tmp_path: Path, words: list[str], code: int, said: str):
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(TOP / "src")}
    done = subprocess.run(
        [sys.executable, TOP / "tests/without_posix.py", *words], env=env, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert said in done.stdout + done.stderr


# --- the wheel in an empty root ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it needs, and nothing else."""
    top = tmp_path_factory.mktemp("release")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", top / "dist", TOP], check=True, timeout=300)
    venv.create(top / "venv", symlinks=True)
    [wheel] = (top / "dist").glob("*.whl")
    only = ["--only-binary", ":all:"]
    subprocess.run([*pip, f"--python={top}/venv", "install", *only, wheel], check=True, timeout=300)
    return top / "venv"


@pytest.mark.long
@pytest.mark.outside
def test_the_wheel_brings_types_and_a_page_of_the_manual_with_every_command(installed: Path):
    [package] = installed.glob("lib/python3*/site-packages/assay")
    assert (package / "py.typed").is_file()
    page = (installed / "share/man/man1/assay.1").read_text("utf-8")
    assert {*COMMANDS} <= {line[3:] for line in page.splitlines() if line.startswith(".B ")}
    assert f'"assay {__version__}"' in page


@pytest.mark.long
@pytest.mark.outside
@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
@each_row("words", [["--version"], ["demo"], ["demo", "--json"], ["doctor"]], ids=" ".join)
def test_the_wheel_works_in_a_root_with_python_and_nothing_else(installed: Path, words: list[str]):
    python = Path(sys.base_prefix).resolve()
    own = [part for one in (python, installed) for part in ("--ro-bind", str(one), str(one))]
    libraries = [part for one in sorted(list_libraries(python, installed)) for part in ("--ro-bind", one, one)]
    root = ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv", "--proc", "/proc", "--dev", "/dev"]
    room = ["--tmpfs", "/tmp", "--dir", "/home/ada", "--setenv", "HOME", "/home/ada", "--chdir", "/home/ada"]
    done = subprocess.run(
        [*root, *room, *libraries, *own, f"{installed}/bin/assay", *words], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@cache
def list_libraries(*tops: Path) -> frozenset[str]:
    """Shared libraries of the system that programs and modules below some folders are linked with."""
    found = {str(file) for top in tops for file in (*top.rglob("*.so*"), *top.glob("bin/python3")) if file.is_file()}
    told = subprocess.run(["ldd", *sorted(found)], capture_output=True, text=True, check=False).stdout
    paths = re.findall(r"(/[^\s:]+\.so[^\s:]*)(?: \(0x|$)", told)
    return frozenset(path for path in paths if not path.startswith(tuple(map(str, tops)))) - found
