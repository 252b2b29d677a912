"""Tasks and configurations as folders: what is read, what is refused, and what a checkup finds."""

import os
import subprocess
from pathlib import Path

import pytest

from assay.errors import BadInput
from assay.evals.running.plan import RunRequest, build_plan
from assay.evals.running.task_checks import check_task
from assay.evals.sandbox.workspace import fill_workspace
from assay.evals.tasks.config import load_config
from assay.evals.tasks.task import load_suite, load_task
from tests.evals.run.make import PLAIN, bubblewrap, config, main_trials, ran, task, tree

CHECK = '[[checks]]\nkind = "file_exists"\npath = "scarf.txt"\n'
PROMPT = 'prompt = "weave"\n'
BAD_TASKS = {
    "no TOML": ("prompt = ", "no TOML"),
    "no prompt": (CHECK, "prompt"),
    "an empty prompt": (f'prompt = " "\n{CHECK}', "prompt is empty"),
    "nothing to check": (PROMPT, "nothing could tell"),
    "an unknown field": (f'{PROMPT}colour = "blue"\n{CHECK}', "colour"),
    "an unknown kind": (f'{PROMPT}[[checks]]\nkind = "vibes"\n', "'vibes'; there are: command, "),
    "a check without its field": (f'{PROMPT}[[checks]]\nkind = "file_exists"\n', r"check 1 \(file_exists\).*path"),
    "a check with a strange field": (f'{PROMPT}{CHECK}text = "x"\n', "text"),
    "no regular expression": (
        f'{PROMPT}[[checks]]\nkind = "file_matches"\npath = "a"\npattern = "("\n', "no regular expression",
    ),
    "no pointer": (
        f'{PROMPT}[[checks]]\nkind = "json_value"\npath = "a"\npointer = "a"\nequals = 1\n', "begins with '/'",
    ),
    "two checks of one name": (f"{PROMPT}{CHECK}{CHECK}", "two checks are called"),
    "no time": (f"{PROMPT}timeout_s = 0\n{CHECK}", "timeout_s"),
    "no such network": (f'{PROMPT}network = "some"\n{CHECK}', "network"),
    "two beginnings": (f'{PROMPT}repo = "x"\nref = "y"\n{CHECK}', "both repo and workspace"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "why"), BAD_TASKS.values(), ids=BAD_TASKS)
def test_a_task_that_can_not_be_run_is_refused_with_a_reason(tmp_path, text, why):
    tree(tmp_path / "weave", {"task.toml": text, "workspace/yarn.txt": "red"})
    with pytest.raises(BadInput, match=f"task.toml: .*{why}"):
        load_task(tmp_path / "weave")


def test_a_task_begins_somewhere(tmp_path):
    tree(tmp_path / "weave", {"task.toml": f"{PROMPT}{CHECK}"})
    with pytest.raises(BadInput, match="neither repo nor workspace"):
        load_task(tmp_path / "weave")
    tree(tmp_path / "weave", {"task.toml": f'{PROMPT}repo = "x"\n{CHECK}'})
    with pytest.raises(BadInput, match="repo without ref"):
        load_task(tmp_path / "weave")


def test_a_folder_without_tasks_is_refused(tmp_path):
    with pytest.raises(BadInput, match="no tasks in it"):
        load_suite(tmp_path)
    with pytest.raises(BadInput, match="no such folder"):
        load_suite(tmp_path / "nowhere")


CHANGES = {
    "the prompt": ("task.toml", True),
    "the workspace": ("workspace/yarn.txt", True),
    "a check file": ("checks/look.sh", True),
    "the solution": ("solution/scarf.txt", False),
    "a note beside it": ("README.md", False),
    "what a program left": ("workspace/__pycache__/a.pyc", False),
}


@pytest.mark.parametrize(("path", "matters"), CHANGES.values(), ids=CHANGES)
def test_a_tasks_identity_is_all_that_can_change_its_result(tmp_path, path, matters):
    folder = task(tmp_path)
    before = load_task(folder)
    text = (folder / "task.toml").read_text().replace("blue", "green") if path == "task.toml" else "other"
    tree(folder, {path: text})
    assert (load_task(folder).sha256 != before.sha256) == matters


BAD_CONFIGS = {
    "no such agent": ('agent = "parrot"', "agent"),
    "no command": ('agent = "command"', "needs command"),
    "a command too many": ('agent = "codex"\ncommand = ["x"]', "only for"),
    "a program that is not there": ('agent = "command"\ncommand = ["./weave.sh"]', "no such program"),
    "a value for a variable": ('agent = "codex"\nenv = ["KEY=1"]', "names of variables"),
    "somebody's home": ('agent = "codex"\nenv = ["HOME"]', "its own HOME"),
    "a strange field": ('agent = "codex"\nprompt = "x"', "prompt"),
}


@pytest.mark.parametrize(("text", "why"), BAD_CONFIGS.values(), ids=BAD_CONFIGS)
def test_a_configuration_that_can_not_be_run_is_refused_with_a_reason(tmp_path, text, why):
    tree(tmp_path / "config", {"config.toml": text})
    with pytest.raises(BadInput, match=f"config.toml: .*{why}"):
        load_config(str(tmp_path / "config"), tmp_path / "keep")


def repository(folder: Path, *commits: dict[str, str]) -> list[str]:
    """A repository with a commit for each set of files."""

    def git(*words: str) -> str:
        who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        return subprocess.run(
            ["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True
        ).stdout.strip()

    folder.mkdir(parents=True)
    git("init", "-q", "-b", "main")
    found = []
    for number, files in enumerate(commits):
        tree(folder, files)
        git("add", "-A")
        git("commit", "-qm", f"change {number}")
        found.append(git("rev-parse", "HEAD"))
    return found


def test_a_configuration_can_be_a_git_ref(tmp_path):
    first, second = repository(
        tmp_path / "repo",
        {"CLAUDE.md": "weave red", "src/loom.py": "pass", "configs/a/config.toml": 'agent = "codex"'},
        {
            "CLAUDE.md": "weave blue",
            ".claude/settings.json": "{}",
            ".assay/config.toml": 'agent = "codex"\nmodel = "m"',
        },
    )
    old, new = (load_config(ref, tmp_path / "keep", tmp_path / "repo") for ref in ("main~1", "main"))
    assert (old.commit, old.agent, list(old.files)) == (first, "claude-code", ["CLAUDE.md"])
    assert (new.commit, new.agent, new.model) == (second, "codex", "m")
    assert sorted(new.files) == [".claude/settings.json", "CLAUDE.md"]
    assert (new.overlay / "CLAUDE.md").read_text() == "weave blue"
    part = load_config("main:configs/a", tmp_path / "keep", tmp_path / "repo")
    assert (part.agent, part.commit) == ("codex", second)
    for odd, why in (
        ("nowhere", "neither a folder nor a git ref"),
        ("main:nowhere", "no such folder"),
        ("--all", "neither"),
    ):
        with pytest.raises(BadInput, match=why):
            load_config(odd, tmp_path / "keep", tmp_path / "repo")


def test_a_task_of_a_repository_begins_at_its_commit_and_knows_no_future(tmp_path):
    first, second = repository(tmp_path / "repo", {"yarn.txt": "red"}, {"scarf.txt": "blue: the answer"})
    tree(tmp_path / "tasks" / "weave", {"task.toml": f'{PROMPT}repo = "../../repo"\nref = "{first}"\n{CHECK}'})
    script = f"""git rev-parse HEAD > scarf.txt; git log --all --format=%H >> scarf.txt
        git cat-file -e {second} && rm scarf.txt; true"""
    one = config(tmp_path, script, "a")
    found = ran(tmp_path, (one, one))
    assert all(trial.checks[0].passed for trial in found.trials)
    diff = (tmp_path / "run" / found.trials[0].folder / "workspace.diff").read_text()
    assert diff.count(first) == 2
    assert second not in diff
    fill_workspace(load_task(tmp_path / "tasks" / "weave"), None, tmp_path / "again", tmp_path / "mirrors")
    assert (tmp_path / "again" / "yarn.txt").read_text() == "red"
    assert not (tmp_path / "again" / "scarf.txt").exists()


@pytest.fixture(params=["plain", "bubblewrap"])
def sandbox(request):
    return PLAIN if request.param == "plain" else bubblewrap()


def test_a_good_task_passes_its_checkup(tmp_path, sandbox):
    good = task(tmp_path, files={"solution/scarf.txt": "blue"})
    found = check_task(load_task(good), os.environ, sandbox=sandbox)
    assert not found.problems
    assert [one.passed for one in found.untouched] == [False]
    assert [one.passed for one in found.solved] == [True]


def test_a_solution_may_be_a_script(tmp_path, sandbox):
    found = check_task(
        load_task(task(tmp_path, files={"solution.sh": "cp yarn.txt scarf.txt; echo blue > scarf.txt"})),
        os.environ,
        sandbox,
    )
    assert not found.problems, found.problems
    broken = check_task(
        load_task(task(tmp_path, "other", files={"solution.sh": "exit 4"})), os.environ, sandbox=sandbox
    )
    assert "the reference solution" in broken.problems[0]


def test_a_task_without_a_solution_is_still_looked_at(tmp_path):
    found = check_task(load_task(task(tmp_path)), os.environ, sandbox=PLAIN)
    assert (found.solved, found.problems) == (None, ())


WEAK = {
    "passes by itself": ({"checks": [{"kind": "file_exists", "path": "yarn.txt"}]}, {}, "an agent that does nothing"),
    "can not be solved": ({}, {"solution/scarf.txt": "red"}, "fails on the reference solution"),
}


@pytest.mark.parametrize(("fields", "files", "why"), WEAK.values(), ids=WEAK)
def test_a_task_that_proves_nothing_is_found_out(tmp_path, fields, files, why):
    found = check_task(load_task(task(tmp_path, files=files, **fields)), os.environ, sandbox=PLAIN)
    assert found.problems
    assert why in " ".join(found.problems)


HARBOR = {
    "task.toml": 'version = "1.0"\n[metadata]\nlevel = 1\n[agent]\ntimeout_sec = 30\n[verifier]\ntimeout_sec = 20\n',
    "instruction.md": "Weave the blue scarf into /app/scarf.txt\n",
    "environment/Dockerfile": 'FROM debian\nRUN build loom\nWORKDIR /app\nCOPY yarn.txt ./\nCOPY ["dyes", "dyes/"]\n',
    "environment/yarn.txt": "red\n",
    "environment/dyes/woad.txt": "blue\n",
    "tests/test.sh": "cmp /app/scarf.txt /tests/expected.txt && won=1\necho ${won:-0} > /logs/verifier/reward.txt\n",
    "tests/expected.txt": "blue\n",
    "solution/solve.sh": "cp dyes/woad.txt /app/scarf.txt\n",
}


def test_a_harbor_task_runs_as_it_is(tmp_path):
    tree(tmp_path / "tasks" / "weave", HARBOR)
    one = load_task(tmp_path / "tasks" / "weave")
    assert (one.timeout_s, one.network, one.harbor.workdir) == (30.0, "full", "/app")
    found = check_task(one, os.environ, sandbox=bubblewrap())
    assert not found.problems, found
    arms = (config(tmp_path, "cat yarn.txt > /app/scarf.txt", "a"), config(tmp_path, "cp dyes/woad.txt scarf.txt", "b"))
    trials = ran(tmp_path, arms, bubblewrap()).trials
    assert {trial.arm: trial.checks[0].passed for trial in trials} == {"baseline": False, "candidate": True}


def test_a_harbor_task_needs_its_places(tmp_path):
    tree(tmp_path / "tasks" / "weave", HARBOR)
    suite, one = load_suite(tmp_path / "tasks"), config(tmp_path, "true")
    with pytest.raises(BadInput, match="needs bubblewrap"):
        build_plan(
            RunRequest(
                suite=suite, arms={"baseline": one, "candidate": one}, folder=tmp_path / "run", env={}, sandbox=PLAIN
            )
        )
    (tmp_path / "tasks" / "weave" / "tests" / "test.sh").unlink()
    with pytest.raises(BadInput, match=r"without tests/test\.sh"):
        load_suite(tmp_path / "tasks")
    assert main_trials(suite, 2)[0].repeats == 2
