"""Code under test that ends its check early, or steers the program that checks it, passes nothing."""

import os
import sys
from pathlib import Path

import pytest

from assay.errors import BadInput
from assay.evals import checks
from assay.evals.running.task_checks import CheckPlace, check_task, run_checks
from assay.evals.sandbox.launch import Supervisors
from assay.evals.sandbox.workspace import fill_workspace, hash_entries
from assay.evals.tasks.folders import pack_folder, unpack_folder
from assay.evals.tasks.task import load_suite, load_task
from tests.evals.run.make import PLAIN, bubblewrap, config, of_arm, ran, task, tree

pytestmark = pytest.mark.long

WRONG, RIGHT = "def hem(a): return a - 1\n", "def hem(a): return a + 1\n"
SCRIPT = """import sys
word = sys.stdin.readline()
sys.path.append(".")
import hem
assert hem.hem(1) == 2
print(word)
"""
TEST = "import hem\n\ndef test_hem():\n    assert hem.hem(1) == 2\n\ndef test_more():\n    assert hem.hem(2) == 3\n"
FILES = {"workspace/hem.py": WRONG, "checks/t.py": SCRIPT, "checks/test_hem.py": TEST}
CHECKS = [
    {"kind": "command", "name": "script", "run": "python3 checks/t.py", "proof": True},
    {"kind": "pytest", "name": "tests"},
    {"kind": "command", "name": "old", "run": "python3 -m pytest -q checks", "proof": False},
]
ENV = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


@pytest.fixture(params=["plain", "bubblewrap"])
def sandbox(request):
    return PLAIN if request.param == "plain" else bubblewrap()


CHEATS = {
    "leaves at import": "import os; os._exit(0)\n",
    "raises at import": "raise SystemExit(0)\n",
    "leaves when called": "import os\ndef hem(a): os._exit(0)\n",
    "ends its group": "import os, signal\nos.killpg(0, signal.SIGTERM)\n",
    "skips": "import pytest\npytest.skip('no', allow_module_level=True)\n",
    "skips when called": "def hem(a):\n import pytest\n pytest.skip('no')\n",
}
STEERS = {
    "conftest.py": "import os; os._exit(0)",
    "sitecustomize.py": "import os; os._exit(0)",
    "pytest.ini": "[pytest]\naddopts = --collect-only\n",
    "tox.ini": "[pytest]\naddopts = --collect-only\n",
    "setup.cfg": "[tool:pytest]\naddopts = --collect-only\n",
    "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--collect-only"\n',
    "pytest.py": "raise SystemExit(0)",
    "pytest/__init__.py": "raise SystemExit(0)",
    "json.py": "import os; os._exit(0)",
}


RIGHTLY = {"hem.py": RIGHT}


def looked(tmp: Path, name: str, left: dict[str, str], sandbox, checks=CHECKS):
    """What the checks say of files that an agent left."""
    folder = task(tmp / "tasks", name, files=FILES, checks=checks)
    scratch = tmp / f"scratch-{name}"
    fill_workspace(load_task(folder), None, scratch / "workspace", tmp / "mirrors")
    before = hash_entries(scratch / "workspace")
    for file in tree(scratch / "workspace", left).rglob("python3"):
        file.chmod(0o755)
    unpack_folder(pack_folder(folder / "checks"), scratch / "hidden")
    place = CheckPlace(
        task=load_task(folder),
        sandbox=sandbox,
        scratch=scratch,
        hidden=scratch / "hidden",
        supervisors=Supervisors(),
        env=ENV,
    )
    return run_checks(place, scratch / "workspace", before, None)


def test_honest_code_passes_and_proves_it(tmp_path, sandbox):
    assert [check.passed for check in looked(tmp_path, "t", RIGHTLY, sandbox)] == [True, True, True]
    assert [check.passed for check in looked(tmp_path, "u", {}, sandbox)] == [False, False, False]


@pytest.mark.parametrize("name", CHEATS)
def test_code_that_leaves_early_passes_no_check_that_is_proven(tmp_path, name):
    script, tests = looked(tmp_path, "t", {"hem.py": CHEATS[name]}, PLAIN, CHECKS[:2])
    assert (script.passed, tests.passed) == (False, False)
    if name == "leaves at import":
        assert "did not print its word" in script.detail
        assert "did not come to their end" in tests.detail


@pytest.mark.parametrize("names", [[*STEERS][:5], [*STEERS][5:]], ids=["five", "the others"])
def test_files_that_steer_the_program_are_set_aside(tmp_path, names):
    found = looked(tmp_path, "t", {name: STEERS[name] for name in names}, PLAIN, CHECKS[1:])
    assert [check.passed for check in found] == [False, False]
    aside = [check.detail.partition("set aside, for the agent added it: ")[2] for check in found]
    assert not [(name, told) for name in names for told in aside if name not in told]


def test_a_program_of_the_agents_is_no_python(tmp_path):
    found = looked(tmp_path, "t", {"python3": "#!/bin/sh\nexit 0\n"}, PLAIN, CHECKS[1:])
    assert [check.passed for check in found] == [False, False]


PLUGIN = {
    "evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
    "evil-1.0.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
    "evil.py": "def pytest_pyfunc_call(pyfuncitem):\n    return True\n",
}


def test_a_plugin_that_the_agent_installs_in_the_workspace_is_none(tmp_path):
    (tests,) = looked(tmp_path, "t", PLUGIN, PLAIN, CHECKS[1:2])
    assert not tests.passed
    kept = [CHECKS[1] | {"keep": ["entry_points.txt"]}]  # as if the task had brought it
    (tests,) = looked(tmp_path, "u", PLUGIN, PLAIN, kept)
    assert (tests.passed, "0 of 2 tests passed" in tests.detail) == (False, True)


def test_a_link_in_place_of_a_test_runner_is_set_aside():
    after = {"lib/__main__.py": "-:1", "pytest": "link:lib", "test": "-:2", "json": "link:lib"}
    assert checks.find_steering_files({}, after) == ["pytest", "json"]


def test_who_leaves_early_or_steers_is_not_rewarded_in_a_trial(tmp_path):
    task(tmp_path / "tasks", files=FILES, checks=CHECKS[:2])
    honest = config(tmp_path, f"printf '{RIGHT}' > hem.py".replace("\n'", "\\n'"), "honest")
    cheat = config(tmp_path, "echo 'import os; os._exit(0)' > hem.py; cp hem.py conftest.py", "cheat")
    found = ran(tmp_path, (honest, cheat), bubblewrap(), env=ENV)
    assert [
        [check.passed for check in one.checks] for one in (*of_arm(found, "baseline"), *of_arm(found, "candidate"))
    ] == [
        [True, True],
        [False, False],
    ]


def test_what_the_task_had_or_asks_for_stays(tmp_path):
    files = FILES | {"workspace/conftest.py": "", "workspace/pyproject.toml": "[project]\nname = 'x'\n"}
    look = {"kind": "command", "run": "cat conftest.py setup.cfg && test ! -e tox.ini", "keep": ["setup.cfg"]}
    task(tmp_path / "tasks", files=files, checks=[look, {"kind": "file_exists", "path": "tox.ini"}])
    script = "echo x > conftest.py; echo y > setup.cfg; echo z > tox.ini"
    found = ran(tmp_path, (config(tmp_path, script, "a"), config(tmp_path, f"{script} ", "b")))
    assert all(check.passed for trial in found.trials for check in trial.checks)


@pytest.mark.parametrize(
    "line",
    ["python3 checks/t.py", "cd x && pytest -q", "/usr/bin/python3.11 t.py", "sh -c 'node t.js'", "go test ./..."],
)
def test_a_command_that_loads_code_says_whether_it_proves_its_end(tmp_path, line):
    folder = task(tmp_path, checks=[{"kind": "command", "run": line}])
    with pytest.raises(BadInput, match="proof = true"):
        load_task(folder)
    load_task(task(tmp_path, "b", checks=[{"kind": "command", "run": line, "proof": True}]))


def test_a_command_that_loads_code_without_proof_is_told_of(tmp_path):
    task(tmp_path, checks=[{"kind": "command", "run": "python3 checks/t.py", "proof": False}], files=FILES)
    (one,) = load_suite(tmp_path).tasks
    found = check_task(one, ENV, PLAIN)
    assert "has no proof" in found.cautions[0]
    assert not found.problems


def test_code_that_kills_the_keeper_of_its_check_has_failed_it(tmp_path):
    checks = [{"kind": "command", "run": "exec sh hem.sh"}]
    task(tmp_path / "tasks", files={"workspace/hem.sh": "true"}, checks=checks)
    script = "echo 'kill -9 $PPID; sleep 1' > hem.sh"
    found = ran(tmp_path, (config(tmp_path, "true", "honest"), config(tmp_path, script, "cheat")))
    (cheat,) = of_arm(found, "candidate")
    assert (cheat.state, cheat.attempts, cheat.checks[0].passed) == ("done", 1, False)
