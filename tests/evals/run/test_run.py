"""A run: its order, its budget, its patience, and what it refuses before anything is spent."""

import json
import os

import pytest

from assay.errors import BadInput
from assay.evals.running.recorded_run import replay_run
from assay.evals.running.run import list_slots, run_trials
from assay.evals.tasks.config import load_config
from assay.evals.tasks.task import load_suite
from assay.testing.claude_code import build_prompt, build_reply, build_shell_call
from assay.types.evals import TrialRequest
from tests.evals.run.make import BUSY, PLAIN, config, main_trials, of_arm, planned, ran, served, task, tree

WOVEN = "cat > /dev/null; echo blue > scarf.txt"


def test_arms_take_turns_in_being_first():
    wanted = [TrialRequest(task=name, stage="main", repeats=2) for name in ("a", "b")]
    order = [(slot.task, slot.repeat, slot.arm[0]) for slot in list_slots(wanted)]
    assert order == [
        *(("a", 1, "b"), ("a", 1, "c"), ("b", 1, "c"), ("b", 1, "b")),
        *(("a", 2, "c"), ("a", 2, "b"), ("b", 2, "b"), ("b", 2, "c")),
    ]


def test_fresh_trials_of_the_guard_are_others_than_those_before(tmp_path):
    task(tmp_path / "tasks")
    arms = (config(tmp_path, WOVEN, "a"), config(tmp_path, f"{WOVEN} ", "b"))
    suite = load_suite(tmp_path / "tasks")
    plan = planned(tmp_path, suite, arms)
    first = run_trials(plan, main_trials(suite, 1))
    fresh = run_trials(plan, [TrialRequest(task="weave", stage="guard", repeats=2)])
    assert [trial.stage for trial in fresh.trials] == ["guard"] * 4
    assert not {trial.folder for trial in first.trials} & {trial.folder for trial in fresh.trials}


def test_the_same_configuration_twice_is_run_twice(tmp_path):
    task(tmp_path / "tasks")
    one = config(tmp_path, f"{WOVEN}; echo . >> {tmp_path}/count", "a")
    found = ran(tmp_path, (one, one))
    assert len((tmp_path / "count").read_text().splitlines()) == 2
    assert len({trial.folder for trial in found.trials}) == 2


def test_an_agent_that_is_not_there_is_an_error(tmp_path):
    task(tmp_path / "tasks")
    told = 'agent = "command"\ncommand = ["no-such-weaver"]\n'
    with pytest.raises(BadInput, match="no program called no-such-weaver"):
        ran(tmp_path, (config(tmp_path, WOVEN, "a"), config(tmp_path, "", "b", **{"config.toml": told})))
    tree(tmp_path / "c", {"config.toml": 'agent = "codex"\n'})
    real = load_config(str(tmp_path / "c"), tmp_path)
    with pytest.raises(BadInput, match="no program called codex"):
        ran(tmp_path, (real, real), env={"PATH": "/nowhere"})
    assert not (tmp_path / "run").exists()


def test_a_variable_that_is_not_set_is_an_error_before_anything_runs(tmp_path):
    task(tmp_path / "tasks")
    told = 'agent = "command"\ncommand = ["./agent.sh"]\nenv = ["LOOM_KEY"]\n'
    with pytest.raises(BadInput, match="LOOM_KEY, which is not set"):
        ran(tmp_path, (config(tmp_path, WOVEN, "a"), config(tmp_path, WOVEN, "b", **{"config.toml": told})))


ONCE = f"[ -e {{mark}} ] && {{ echo blue > scarf.txt; exit 0; }}; touch {{mark}}; {BUSY}"


def test_what_infrastructure_broke_is_tried_again_and_counted(tmp_path):
    task(tmp_path / "tasks")
    waited = []
    arms, env = served(tmp_path, WOVEN, ONCE.replace("{mark}", str(tmp_path / "mark")))
    found = ran(tmp_path, arms, sleep=waited.append, env=env)
    assert [(trial.state, trial.attempts) for trial in found.trials] in (
        [("done", 1), ("done", 2)],
        [("done", 2), ("done", 1)],
    )
    assert of_arm(found, "candidate")[0].checks[0].passed
    assert [trial.lost for trial in (*of_arm(found, "baseline"), *of_arm(found, "candidate"))] == [0, 1]
    assert len(waited) == 1
    (failure,) = (tmp_path / "run").rglob("failure.json")
    assert "the loom is busy" in json.loads(failure.read_text())["why"]


def test_what_stays_broken_is_nobodys_failure(tmp_path):
    task(tmp_path / "tasks")
    events = []
    arms, env = served(tmp_path, WOVEN, BUSY)
    found = ran(tmp_path, arms, report=events.append, env=env)
    (broken,) = of_arm(found, "candidate")
    assert (broken.state, broken.attempts, broken.checks) == ("failed_infrastructure", 3, ())
    told = [event.event for event in events if event.slot.arm == "candidate"]
    assert told == ["began", "failed"] * 3 + ["given_up"]
    assert of_arm(ran(tmp_path, arms, env=env), "candidate")[0].attempts == 4


def test_an_agent_that_crashes_or_runs_out_of_time_failed_by_itself(tmp_path):
    task(tmp_path / "tasks", timeout_s=0.5)
    found = ran(tmp_path, (config(tmp_path, "exit 3", "a"), config(tmp_path, "sleep 20", "b")))
    assert [(trial.state, trial.attempts, trial.checks[0].passed) for trial in found.trials] == [("done", 1, False)] * 2


def spending(usd: float) -> str:
    return (
        f"""{WOVEN}; echo '{{"usd": {usd}, "tokens": 100, "steps": 2}}' > "${{RESULT:-$ASSAY_RESULT_DIR}}/cost.json" """
    )


def test_no_trial_begins_that_would_probably_go_beyond_the_budget(tmp_path):
    for name in ("hem", "knit", "weave"):
        task(tmp_path / "tasks", name)
    arms = (config(tmp_path, spending(0.3), "a"), config(tmp_path, f"{spending(0.3)} ", "b"))
    found = ran(tmp_path, arms, options={"max_cost": 1.0})
    assert (found.stopped, len(found.trials), found.planned) == ("budget", 3, 6)
    assert found.usd == pytest.approx(0.9)
    again = ran(tmp_path, arms, options={"max_cost": 1.0})
    assert (again.stopped, again.trials) == ("budget", found.trials)
    rest = ran(tmp_path, arms)
    assert (rest.stopped, len(rest.trials)) == ("", 6)


def test_what_failed_attempts_cost_counts_too(tmp_path):
    for name in ("hem", "knit", "weave"):
        task(tmp_path / "tasks", name)
    arms, env = served(tmp_path, f"{spending(0.3)}; {BUSY}", spending(0.0))
    found = ran(tmp_path, arms, options={"max_cost": 1.0}, env=env)
    assert found.stopped == "budget"
    assert found.usd == pytest.approx(1.2)
    assert ran(tmp_path, arms, options={"max_cost": 1.0}, env=env).usd == pytest.approx(1.2)


def test_a_trial_costs_what_its_lost_attempts_cost_too(tmp_path):
    task(tmp_path / "tasks")
    once = f"{spending(0.3)}; [ -e {tmp_path}/mark ] || {{ touch {tmp_path}/mark; {BUSY}; }}"
    arms, env = served(tmp_path, spending(0.1), once)
    found = ran(tmp_path, arms, env=env)
    (trial,) = of_arm(found, "candidate")
    assert (trial.cost.tokens, trial.cost.usd, trial.attempts) == (200, pytest.approx(0.6), 2)
    assert found.usd == pytest.approx(0.7)


def test_a_budget_can_not_be_held_where_prices_are_not_known(tmp_path):
    for name in ("hem", "knit"):
        task(tmp_path / "tasks", name)
    found = ran(tmp_path, (config(tmp_path, WOVEN, "a"), config(tmp_path, f"{WOVEN} ", "b")), options={"max_cost": 1.0})
    assert (found.stopped, len(found.trials)) == ("unpriced", 1)


CLAIMS = {
    "a claim": ('{"usd": 0.5, "tokens": 10}', (0.5, 10)),
    "negative": ('{"usd": -5, "tokens": 10}', (None, None)),
    "no number": ('{"usd": NaN}', (None, None)),
    "no JSON": ("half a", (None, None)),
    "nothing": ("", (None, None)),
}


def test_what_a_command_says_of_its_cost_is_taken_where_it_can_be_true(tmp_path):
    for number, (text, _) in enumerate(CLAIMS.values()):
        task(tmp_path / "tasks", f"t{number}", prompt=f"claim {text}")
    script = 'printf %s "$ASSAY_PROMPT" | sed "s/^claim //" > "$ASSAY_RESULT_DIR/cost.json"'
    found = ran(tmp_path, (config(tmp_path, script, "a"), config(tmp_path, f"{script} ", "b")))
    shown = {trial.task: (trial.cost.usd, trial.cost.tokens) for trial in of_arm(found, "candidate")}
    assert shown == {f"t{number}": cost for number, (_, cost) in enumerate(CLAIMS.values())}


def transcribed(tmp_path, name, *records):
    lines = "\n".join(json.dumps(record) for record in records)
    return config(tmp_path, 'cp "$(dirname "$0")/log" "$ASSAY_RESULT_DIR/t.jsonl"', name, log=lines)


def test_a_transcript_goes_before_claims_and_is_scored_again_without_running_anything(tmp_path):
    task(tmp_path / "tasks", checks=[{"kind": "transcript", "used": ["Bash"]}])
    arms = (
        transcribed(tmp_path, "a", build_prompt(1), build_reply(2)),
        transcribed(tmp_path, "b", build_prompt(1), build_shell_call(2), *[build_reply(3, "woven at last")]),
    )
    found = ran(tmp_path, arms)
    old, new = of_arm(found, "baseline")[0], of_arm(found, "candidate")[0]
    assert [old.checks[0].passed, old.cost.tokens, old.cost.steps, old.cost.tool_calls] == [False, 5, 1, 0]
    assert new.cost.tool_calls == 1
    again = replay_run(tmp_path / "run")
    assert {trial.arm: trial for trial in again.trials} == {"baseline": old, "candidate": new}
    judged = replay_run(tmp_path / "run", lambda record, folder: 0.5)
    assert {trial.judge01 for trial in judged.trials} == {0.5}


def test_evidence_that_changed_since_is_named(tmp_path):
    task(tmp_path / "tasks")
    found = ran(tmp_path, (config(tmp_path, WOVEN, "a"), config(tmp_path, "true", "b")))
    assert not replay_run(tmp_path / "run").altered
    folder = tmp_path / "run" / of_arm(found, "candidate")[0].folder
    (folder / "workspace.diff").write_text("+blue\n")
    (folder / "transcript" / "more.jsonl").write_text("{}\n")
    changed = [path.removeprefix(of_arm(found, "candidate")[0].folder) for path in replay_run(tmp_path / "run").altered]
    assert changed == ["/transcript/more.jsonl", "/workspace.diff"]
    (folder.parent / "trial.json").write_text("{half")
    assert len(replay_run(tmp_path / "run").unreadable) == 1


def test_the_judge_is_asked_for_tasks_with_a_rubric(tmp_path):
    tree(task(tmp_path / "tasks", "weave"), {"task.toml": 'prompt = "weave"\n[rubric]\ntext = "Is it neat?"\n'})
    task(tmp_path / "tasks", "knit")
    asked = []

    def judge(one, folder):
        asked.append((one.rubric, (folder / "workspace.diff").is_file()))
        return 0.75

    found = ran(tmp_path, (config(tmp_path, WOVEN, "a"), config(tmp_path, f"{WOVEN} ", "b")), judge=judge)
    assert asked == [("Is it neat?", True)] * 2
    assert {(trial.task, trial.judge01) for trial in found.trials} == {("weave", 0.75), ("knit", None)}


def test_what_is_kept_is_for_its_owner_alone(tmp_path):
    task(tmp_path / "tasks")
    ran(tmp_path, (config(tmp_path, WOVEN, "a"), config(tmp_path, f"{WOVEN} ", "b")))
    assert (tmp_path / "run").stat().st_mode & 0o077 == 0
    assert PLAIN.says.startswith("trials ran in plain temporary directories")
    assert os.listdir(tmp_path / "run" / "scratch") == []
