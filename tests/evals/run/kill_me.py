"""A run of 12 trials in a process of its own, to be killed: `kill_me.py FOLDER`."""

import json
import sys
from pathlib import Path

import msgspec

from assay.evals.configs import load_config
from assay.evals.run import main_trials, run
from assay.evals.tasks import load_suite
from tests.evals.run.make import planned

tmp = Path(sys.argv[1])
suite = load_suite(tmp / "tasks")
arms = tuple(load_config(str(tmp / name), tmp / "keep") for name in ("a", "b"))
found = run(planned(tmp, suite, arms, options={"jobs": 2}), main_trials(suite, 2))
(tmp / "result.json").write_text(json.dumps(msgspec.to_builtins(found.trials)))
