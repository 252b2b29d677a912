"""The real Claude Code and the real Codex, against stand-ins for their services."""

import json
import os
from pathlib import Path

import pytest

from assay.evals.running.recorded_run import replay_run
from assay.evals.running.run import run_trials
from assay.evals.running.trial import TrialRecord, load_record
from assay.evals.sandbox.bubblewrap import pick_sandbox
from assay.evals.tasks.config import AgentConfig, load_config
from assay.evals.tasks.task import load_suite
from tests.evals.run.agents import FOLDERS
from tests.evals.run.make import PLAIN, bubblewrap, main_trials, of_arm, planned, task, tree
from tests.evals.run.services import Weaver

pytestmark = pytest.mark.outside

THINGS = ("hat", "scarf", "sock")
INSTRUCTIONS = {"claude-code": "CLAUDE.md", "codex": "AGENTS.md"}
TOOL = {"claude-code": "Bash", "codex": "exec_command"}
MODEL = {"claude-code": "claude-sonnet-4-5", "codex": "gpt-5.2"}
SKILL = "---\nname: purling\ndescription: how to purl an edge\n---\nPurl twice.\n"


def configured(
    tmp: Path, agent: str, name: str, colour: str, url: str, more: dict[str, str] | None = None
) -> AgentConfig:
    told = [f'agent = "{agent}"', f'model = "{MODEL[agent]}"']
    if agent == "claude-code":
        told.append('env = ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_MAX_RETRIES"]')
    else:
        provider = f'{{name="weaver", base_url="{url}/v1", wire_api="responses", env_key="WEAVER_KEY", request_max_retries=0, stream_max_retries=0}}'  # fmt: skip  # noqa: E501
        told.append(f'args = ["-c", "model_provider=weaver", "-c", {json.dumps(f"model_providers.weaver={provider}")}]')
        told.append('env = ["WEAVER_KEY"]')
    words = f"COLOUR: {colour}\nOnly the {name} knows this.\n"
    tree(tmp / name, {"config.toml": "\n".join(told), f"files/{INSTRUCTIONS[agent]}": words, **(more or {})})
    return load_config(str(tmp / name), tmp / "keep")


@pytest.fixture(params=["claude-code", "codex"])
def agent(request):
    return request.param


@pytest.fixture
def env(agent):
    folder = FOLDERS[agent]()
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": os.environ.get("HOME", "/"), "ANTHROPIC_API_KEY": "sk-ant-none", "WEAVER_KEY": "none",
            "CLAUDE_CODE_MAX_RETRIES": "1"}  # fmt: skip


def woven(tmp, agent, env, url, sandbox, things=THINGS, **options):
    for thing in things:
        checks = [
            {"kind": "file_contains", "path": f"{thing}.txt", "text": "blue"},
            {"kind": "transcript", "used": [TOOL[agent]], "no_secret_read": True},
            {"kind": "diff_within", "paths": [f"{thing}.txt"]},
        ]
        task(
            tmp / "tasks",
            thing,
            prompt=f"Please weave the {thing}.",
            checks=checks,
            timeout_s=options.pop("timeout_s", 60.0),
        )
    env = env | {"ANTHROPIC_BASE_URL": url}
    suite = load_suite(tmp / "tasks")
    arms = (
        configured(tmp, agent, "old", "red", url),
        configured(tmp, agent, "new", "blue", url, {"files/.claude/skills/purling/SKILL.md": SKILL}),
    )
    plan = planned(tmp, suite, arms, sandbox, env=env, options={"jobs": 2, **options})
    return run_trials(plan, main_trials(suite, 1))


def records(tmp: Path) -> list[TrialRecord]:
    found = [(file, json.loads(file.read_text())["key"]) for file in sorted((tmp / "run").rglob("trial.json"))]
    return [load_record(file.parent, key) for file, key in found]


def test_a_suite_runs_with_two_configurations(tmp_path, agent, env):
    sandbox = pick_sandbox() if pick_sandbox().kind == "bubblewrap" else bubblewrap()
    with Weaver() as service:
        found = woven(tmp_path, agent, env, service.url, sandbox)
    assert [trial.state for trial in found.trials] == ["done"] * 6
    shown = {(trial.task, trial.arm): [check.passed for check in trial.checks] for trial in found.trials}
    assert shown == {
        (thing, arm): [arm == "candidate", True, True] for thing in THINGS for arm in ("baseline", "candidate")
    }
    tokens = 2 * (1000 + 50 + 500 + 100) if agent == "claude-code" else 2 * 1230
    usd = 2 * (1000 * 3 + 50 * 15 + 500 * 0.3 + 100 * 3.75) / 1e6 if agent == "claude-code" else None
    for trial in found.trials:
        assert (trial.cost.tokens, trial.cost.steps, trial.cost.tool_calls) == (tokens, 2, 1)
        assert usd is None or trial.cost.usd == pytest.approx(usd)
        assert trial.cost.usd
        assert 0.2 < trial.cost.wall_s < 60
    told = INSTRUCTIONS[agent]
    for record in records(tmp_path):
        loaded = {file.path: file.evidence for file in record.loaded}
        skill = {".claude/skills/purling/SKILL.md": "transcript" if agent == "claude-code" else "present"}
        assert loaded == {told: "transcript", **(skill if record.trial.arm == "candidate" else {})}
        assert record.network == "service"
        diff = (tmp_path / "run" / record.trial.folder / "workspace.diff").read_text()
        assert f"+{'blue' if record.trial.arm == 'candidate' else 'red'}" in diff
    assert not found.altered
    seen = [("Only the old" in text, "Only the new" in text, "purling" in text) for text in service.requests]
    assert not [one for one in seen if one[0] and (one[1] or one[2])]
    assert {one[:2] for one in seen} == {(True, False), (False, True)}
    again = replay_run(tmp_path / "run")
    assert sorted(again.trials, key=repr) == sorted(found.trials, key=repr)
    assert not again.altered


def test_a_service_that_fails_is_not_the_agents_failure(tmp_path, agent, env):
    with Weaver() as service:
        service.refuse = [401]
        found = woven(tmp_path, agent, env, service.url, PLAIN, ("hat",), most_attempts=1)
        assert [trial.state for trial in found.trials] == ["failed_infrastructure"] * 2
        why = [json.loads(file.read_text())["why"] for file in (tmp_path / "run").rglob("failure.json")]
        assert all("401" in one for one in why), why
        service.refuse = []
        found = woven(tmp_path, agent, env, service.url, PLAIN, ("hat",))
    assert [(trial.state, trial.attempts) for trial in found.trials] == [("done", 2)] * 2
    assert [check.passed for check in of_arm(found, "candidate")[0].checks] == [True, True, True]
