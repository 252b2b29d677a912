"""`assay doctor`: what was found and where, what was skipped and why."""

import os
import sys
from pathlib import Path

import msgspec
from rich.console import Console

from assay.cli.shared import AsJson, Jobs, Paths, StorePath, leave_quietly, scanned, settings
from assay.pipeline import privacy
from assay.pipeline.doctor import examine_store
from assay.pipeline.inputs import pick_report_time
from assay.reports import checkup
from assay.reports.safe import encoded

EXAMPLE = "Example: `assay doctor`"


def command(paths: Paths = None, as_json: AsJson = False, store: StorePath = None, jobs: Jobs = 0) -> None:
    """Tell what was found and where, what was skipped and why, and which transcripts will soon be deleted."""
    config = settings(store=store)
    rules = privacy.build_rules(config, pick_report_time(config))
    with scanned(paths, config, jobs, may_be_empty=True) as found:
        health = examine_store(found.store, found.changes, rules, os.environ, Path.home())
    leave_quietly()
    if as_json:
        sys.stdout.buffer.write(encoded(health) + b"\n")
    else:
        Console().print(checkup.report(msgspec.to_builtins(health)))
