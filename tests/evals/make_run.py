"""A run as it lies on disk when it has ended, its repository, and a `gh` that only writes down what it was asked."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from assay.evals.deciding.compare import compare
from assay.evals.running import lock, recorded_run, run_folder, transcript
from assay.evals.running.recorded_run import Decisions, RunEnd
from assay.evals.running.trial import TrialRecord, format_json, write_record
from assay.evals.sandbox.launch import CommandEnd
from assay.evals.tasks.config import AgentConfig, load_config
from assay.evals.tasks.folders import hash_files, hash_values
from assay.files import write_atomically
from assay.types.evals import Comparison, Design, Rule, Trial
from tests.evals.make_trials import arms

WORSE, BETTER = [[0] * 5] * 6, [[1] * 5] * 6
GH = """#!/bin/sh
here=$(dirname "$0")
printf '%s\\n' "$@" >> "$here/asked"
echo == >> "$here/asked"
case "$2" in
  list) cat "$here/pulls" ;;
  create) cat > "$here/body"; echo '[{"url": "https://example.com/pull/7", "state": "OPEN"}]' > "$here/pulls"
    echo "https://example.com/pull/7" ;;
esac
exit $(cat "$here/code" 2>/dev/null || echo 0)
"""


def config(folder: Path, files: dict[str, str], told: str = 'agent = "claude-code"\n') -> Path:
    """A configuration with these files."""
    (folder / "files").mkdir(parents=True)
    (folder / "config.toml").write_text(told)
    for name, text in files.items():
        (folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / name).write_text(text)
    return folder


class MadeRun:
    """A run that has ended, with a baseline and a candidate."""

    def __init__(self, top: Path, shares: Sequence[Sequence[int]] = WORSE, later: Sequence[Sequence[int]] = BETTER):
        self.top, self.folder = top, top / "runs" / "one"
        self.folder.mkdir(parents=True)
        self.shares, self.later = shares, later
        self.configs = {
            "baseline": config(top / "old", {"CLAUDE.md": "Be quick.\n", ".claude/gone.md": "old\n"}),
            "candidate": config(top / "new", {"CLAUDE.md": "Be right.\n", ".claude/skills/test/SKILL.md": "Test.\n"}),
        }

    def ended(self, rule: Rule = "tested", stopped: str = "", **design: Any) -> "MadeRun":
        """Write all of it down."""
        loaded = {arm: load_config(str(folder), self.top / "keep") for arm, folder in self.configs.items()}
        baseline, candidate = arms(self.shares, self.later)
        tasks = {one.task: hash_values(one.task) for one in baseline}
        planned = Design(tasks=tuple(tasks), repeats=len(self.shares[0]), **design)
        decided = Decisions(rule=rule, design=planned)
        held = lock.RunLock(
            tasks=tasks, arms={arm: lock.pin_arm(one, "2.1.0") for arm, one in loaded.items()}, sandbox="plain",
            assay="0", more=recorded_run.pin_decisions(decided),
        )  # fmt: skip
        write_atomically(self.folder / run_folder.LOCK, format_json(held))
        trials = [self.trial(one, tasks, loaded) for one in (*baseline, *candidate)]
        sides = [[one for one in trials if one.arm == arm] for arm in ("baseline", "candidate")]
        recorded_run.write_comparison(self.folder, compare(sides[0], sides[1], decided.thresholds, planned, rule))
        recorded_run.write_result(self.folder, RunEnd(planned=len(trials), usd=1.0, stopped=stopped, sandbox="none"))
        return self

    def trial(self, one: Trial, tasks: dict[str, str], loaded: dict[str, AgentConfig]) -> Trial:
        slot = run_folder.TrialSlot(task=one.task, arm=one.arm, repeat=one.repeat, stage=one.stage)
        key = run_folder.hash_slot(slot, tasks[one.task], loaded[one.arm].sha256)
        attempt = run_folder.make_attempt_folder(run_folder.find_trial_folder(self.folder, slot, key))
        (attempt / run_folder.CHECKS).write_bytes(format_json(one.checks))
        ended = CommandEnd(ended="exit", code=0, wall_s=one.cost.wall_s or 0.0)
        (attempt / run_folder.ENDED).write_bytes(format_json(ended))
        claim = {name: getattr(one.cost, name) for name in ("tokens", "tool_calls", "steps")}
        (attempt / transcript.COST_FILE).write_bytes(format_json(claim))
        placed = replace(one, folder=attempt.relative_to(self.folder).as_posix())
        record = TrialRecord(
            key=key, trial=placed, task_sha256=tasks[one.task], config_sha256=loaded[one.arm].sha256, checks_sha256="",
            agent="claude-code", sandbox="plain", network="open", began_at="", evidence=hash_files(attempt),
            ended=ended,
        )  # fmt: skip
        write_record(self.folder, attempt.parent / run_folder.TRIAL, format_json(record))
        return placed

    @property
    def comparison(self) -> Comparison:
        return recorded_run.load_comparison(self.folder)

    def edit(self, name: str, **changed: Any) -> None:
        """Change top fields of a JSON file by hand."""
        file = self.folder / name
        file.write_bytes(msgspec.json.encode(json.loads(file.read_bytes()) | changed))


class Remote:
    """A bare repository, and a person's clone of it with work in progress."""

    def __init__(self, top: Path) -> None:
        self.bare, self.clone = top / "remote.git", top / "clone"
        git(top, "init", "-q", "--bare", "-b", "trunk", str(self.bare))
        git(top, "clone", "-q", str(self.bare), str(self.clone))
        self.commit({"CLAUDE.md": "Be quick.\n", ".claude/gone.md": "old\n", "shop.py": "price = 1\n"})
        (self.clone / "shop.py").write_text("price = 2  # half done\n")

    def commit(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.clone / name).parent.mkdir(parents=True, exist_ok=True)
            (self.clone / name).write_text(text)
        git(self.clone, "checkout", "-q", "-B", "trunk")
        git(self.clone, "add", ".")
        git(self.clone, "commit", "-qm", "work")
        git(self.clone, "push", "-q", "origin", "trunk")

    def branches(self) -> dict[str, str]:
        told = git(self.bare, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
        return dict(line.split() for line in told.splitlines())  # type: ignore[misc]

    def files(self, branch: str) -> dict[str, str]:
        names = git(self.bare, "ls-tree", "-r", "--name-only", branch).splitlines()
        return {name: git(self.bare, "show", f"{branch}:{name}") for name in names}


def git(folder: Path, *words: str) -> str:
    who = {f"GIT_{role}_{part}": "ada@example.com" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    env = {"PATH": os.environ["PATH"], **who, **quiet}
    done = subprocess.run(["git", *words], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout


class Gh:
    """A stand-in for `gh` in a folder for the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "gh").write_text(GH)
        (folder / "gh").chmod(0o755)
        (folder / "pulls").write_text("[]")

    def fails(self, code: int) -> None:
        (self.folder / "code").write_text(str(code))

    @property
    def asked(self) -> list[list[str]]:
        if not (self.folder / "asked").exists():
            return []
        return [one.splitlines() for one in (self.folder / "asked").read_text().split("==\n")[:-1]]

    @property
    def created(self) -> list[list[str]]:
        return [one for one in self.asked if one[1] == "create"]

    @property
    def body(self) -> str:
        return (self.folder / "body").read_text()
