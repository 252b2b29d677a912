"""A run of 12 trials in a process of its own, to be killed: `kill_me.py FOLDER`."""

import json
import sys
from pathlib import Path

import msgspec

from assay.evals.running.run import run_trials
from assay.evals.tasks.config import load_config
from assay.evals.tasks.task import load_suite
from tests.evals.run.make import main_trials, planned

tmp = Path(sys.argv[1])
suite = load_suite(tmp / "tasks")
arms = tuple(load_config(str(tmp / name), tmp / "keep") for name in ("a", "b"))
found = run_trials(planned(tmp, suite, arms, options={"jobs": 2}), main_trials(suite, 2))
(tmp / "result.json").write_text(json.dumps(msgspec.to_builtins(found.trials)))
