"""`assay doctor`: what was found and where, what was skipped and why."""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.cli.options import AsJson, Jobs, Paths, StorePath, options, read_overrides
from assay.cli.output import let_pipe_close, print_json
from assay.cli.progress import open_transcripts
from assay.cli.settings import load_settings
from assay.cli.terminal import Console
from assay.pipeline import privacy
from assay.pipeline.doctor import examine_store
from assay.pipeline.inputs import pick_report_time
from assay.reports.doctor import render_health

EXAMPLE = "Example: `assay doctor`"


class DoctorRequest(Struct, frozen=True, kw_only=True):
    """What `assay doctor` takes."""

    paths: Paths = None
    as_json: AsJson = False
    store: StorePath = None
    jobs: Jobs = 0


@options(DoctorRequest)
def command(request: DoctorRequest) -> None:
    """Tell what was found and where, what was skipped and why, and which transcripts will soon be deleted."""
    config = load_settings(**read_overrides(request))
    rules = privacy.build_rules(config, pick_report_time(config))
    with open_transcripts(request.paths, config, request.jobs, may_be_empty=True) as found:
        health = examine_store(found.store, found.changes, rules, os.environ, Path.home())
    if request.as_json:
        print_json(health)
    else:
        let_pipe_close()
        Console().print(render_health(msgspec.to_builtins(health)))
