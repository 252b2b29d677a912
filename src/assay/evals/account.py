"""A run and its comparison as one account, for every report."""

from collections import Counter
from pathlib import Path

import msgspec
from msgspec.structs import asdict, replace

from assay.evals import paths
from assay.evals.gate import exit_code, objections
from assay.evals.judging import RATIONALE, rationale
from assay.evals.kept import Kept, decided
from assay.evals.types import Comparison, Trial
from assay.reports.evaluated import Arm, ArmLine, Cell, Evaluation, LoadedLine, RunLine
from assay.sessions.redaction import Redactor

FILES = (paths.DIFF, paths.CHECKS, paths.LOADED, paths.OUT, paths.ERR, RATIONALE)


def account(found: Comparison, kept: Kept) -> Evaluation:
    """All that is told of an evaluation."""
    stopped = kept.finished.stopped
    fields = asdict(found) | {
        "exit_code": exit_code(found, is_over_budget=bool(stopped)),
        "promote": found.promote and not objections(found) and not stopped,
        "objections": (*objections(found), *(("the budget stopped the run",) if stopped else ())),
        "statistics": asdict(found.statistics),
        "evidence": msgspec.to_builtins(found.evidence),
        "run": run_line(kept),
    }
    return msgspec.convert(fields, Evaluation, from_attributes=True)


def run_line(kept: Kept) -> RunLine:
    """The run itself."""
    ended, trials = kept.finished, kept.trials
    return RunLine(
        folder=str(kept.folder),
        planned=max(ended.planned, len(trials)),
        done=len(kept.records),
        usd=ended.usd,
        unpriced=sum(record.trial.cost.usd is None for record in kept.records),
        stopped=ended.stopped,
        sandbox=ended.sandbox,
        judge=decided(kept.lock).judge,
        plan=ended.plan,
        notes=tuple(clean(note) for note in ended.notes),
        arms={arm: arm_line(kept, arm) for arm in kept.lock.arms},
        trials=cells(kept),
    )


def arm_line(kept: Kept, arm: Arm) -> ArmLine:
    """One configuration, with the files that its agents had."""
    counted = Counter(one for record in kept.records if record.trial.arm == arm for one in record.loaded)
    loaded = [
        LoadedLine(path=one.path, fingerprint=one.fingerprint, evidence=one.evidence, trials=trials)
        for one, trials in sorted(counted.items(), key=lambda pair: (pair[0].path, pair[0].fingerprint))
    ]
    pinned = kept.lock.arms[arm]
    return ArmLine(
        config=pinned.config, sha256=pinned.sha256, agent=pinned.agent, version=pinned.version, model=pinned.model,
        commit=pinned.commit, files=dict(pinned.files), loaded=tuple(loaded),
    )  # fmt: skip


def clean(text: str) -> str:
    """What agents and commands said, without secrets."""
    return Redactor().text(text) if text else text


def cells(kept: Kept) -> tuple[Cell, ...]:
    """Every trial, with the files it left."""
    found = [cell(kept.folder, record.trial, "") for record in kept.records]
    found += [cell(kept.folder, one.trial, one.why) for one in kept.broken]
    return tuple(sorted(found, key=lambda one: (one.task, one.stage, one.repeat, one.arm)))


def cell(run: Path, trial: Trial, why: str) -> Cell:
    folder = run / trial.folder
    transcripts = [file.relative_to(run).as_posix() for file in sorted((folder / paths.TRANSCRIPTS).glob("*.jsonl"))]
    files = [f"{trial.folder}/{name}" for name in FILES if (folder / name).is_file()]
    shown = [replace(check, name=clean(check.name), detail=clean(check.detail)) for check in trial.checks]
    fields = asdict(trial) | {
        "transcripts": transcripts, "files": files, "why": clean(why), "rationale": clean(rationale(folder)),
        "checks": shown,
    }  # fmt: skip
    return msgspec.convert(fields, Cell, from_attributes=True)
