"""A run that has ended, as it lies on disk: its records, its decisions, its comparison, and its trials scored again."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from assay.errors import BadInput
from assay.evals.running import ledger, lock, run_folder, transcript
from assay.evals.running.lock import RunLock
from assay.evals.running.transcript import ClaimedCost
from assay.evals.running.trial import AttemptFailure, TrialRecord, list_altered_files, load_failures
from assay.files import write_atomically
from assay.types.evals import CheckResult, Comparison, Design, Rule, Thresholds, Trial
from assay.types.value import Row

RESULT, COMPARISON = "result.json", "comparison.json"
T = TypeVar("T")
Judge = Callable[[TrialRecord, Path], float | None]


class RunEnd(Row, frozen=True):
    """`result.json`: how a run ended; there is none while it is at work, or after it was killed."""

    planned: int
    usd: float
    stopped: str
    sandbox: str
    """A sentence."""
    plan: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class BrokenTrial(Row, frozen=True):
    """A trial that infrastructure never let end."""

    trial: Trial
    why: str


class RecordedRun(Row, frozen=True):
    """A run that has ended, as it lies on disk."""

    folder: Path
    lock: RunLock
    finished: RunEnd
    records: tuple[TrialRecord, ...]
    broken: tuple[BrokenTrial, ...]
    altered: tuple[str, ...]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial once, as it was recorded."""
        return (*(one.trial for one in self.records), *(one.trial for one in self.broken))


class Decisions(Row, frozen=True):
    """Rule, thresholds and design, frozen with the run's lock."""

    rule: Rule
    design: Design
    thresholds: Thresholds = Thresholds()
    judge: str = "nobody"
    """Who is asked about rubrics."""


class ReplayResult(Row, frozen=True):
    """The trials of a run, scored again."""

    trials: tuple[Trial, ...]
    lock: lock.RunLock
    altered: tuple[str, ...]
    """Files that are not what they were when their trial ended; nothing that rests on them should be trusted."""
    unreadable: tuple[str, ...]


def write_result(run: Path, finished: RunEnd) -> None:
    """Write `result.json`: how a run ended."""
    write_atomically(run / RESULT, msgspec.json.format(msgspec.json.encode(finished), indent=1))


def write_comparison(run: Path, comparison: Comparison) -> None:
    """Write `comparison.json`: what came of a run."""
    write_atomically(run / COMPARISON, msgspec.json.format(msgspec.json.encode(comparison), indent=1))


def load_run(run: Path) -> RecordedRun:
    """A run that has ended; one that has not is said so."""
    if not run.is_dir():
        raise BadInput(f"{run}: no such file or folder; give the folder that `assay eval run` named")
    run = run.absolute()
    held = lock.load_lock(run)
    if not (run / RESULT).exists():
        raise BadInput(f"{run}: this run has not ended; the same `assay eval run` again goes on with it")
    finished = load_json(run / RESULT, RunEnd)
    records: list[TrialRecord] = []
    broken: list[BrokenTrial] = []
    misplaced: list[str] = []
    for folder in sorted((run / "trials").glob("*/*/")):
        file = folder / run_folder.TRIAL
        if file.exists():
            records.append(load_json(file, TrialRecord))
            misplaced += [] if run / Path(records[-1].trial.folder).parent == folder else [str(file.relative_to(run))]
        elif failed := load_failures(folder):
            broken.append(load_broken_trial(run, folder, failed))
    return RecordedRun(
        folder=run, lock=held, finished=finished, records=tuple(records), broken=tuple(broken),
        altered=(
            *misplaced, *ledger.list_altered_records(run), *ledger.list_missing_trials(run), *list_altered(run, records)
        ),
    )  # fmt: skip


def list_altered(run: Path, records: list[TrialRecord]) -> list[str]:
    """Files that are not what they were when their trial ended; checks must be told alike in both places."""
    found, ended = [], ledger.count_ended_attempts(run)
    for record in records:
        folder = record.trial.folder
        found += [f"{folder}/{path}" for path in list_altered_files(run, record)]
        file = run / folder / run_folder.CHECKS
        if not file.is_file() or load_json(file, tuple[CheckResult, ...]) != record.trial.checks:
            found.append(f"{folder}/{run_folder.CHECKS}")
        if record.trial.lost < ended[(run / folder).parent] - 1:
            found.append(f"{folder}: lost attempts are missing")
    return found


def list_misstated(kept: RecordedRun) -> tuple[str, ...]:
    """Trials whose cost is not what the files that are kept of them tell."""
    found = []
    for record in kept.records:
        folder = kept.folder / record.trial.folder
        if why := transcript.explain_misstated_cost(
            folder, record.trial.cost, [one.cost for one in load_failures(folder.parent)]
        ):
            found.append(f"{record.trial.folder}: {why}")
    return tuple(found)


def load_json(file: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError) as error:
        raise BadInput(f"{file}: can't be read: {error}") from None


def load_broken_trial(run: Path, folder: Path, failed: list[AttemptFailure]) -> BrokenTrial:
    """A trial of which there are only failures; its folder's name says which."""
    stage, repeat, arm, _ = folder.name.split("-")
    made = run_folder.list_attempts(folder)
    trial = Trial(
        task=folder.parent.name, arm=arm, repeat=int(repeat), stage=stage, state="failed_infrastructure",  # type: ignore[arg-type]
        attempts=len(made), folder=made[-1].relative_to(run).as_posix(),
    )  # fmt: skip
    return BrokenTrial(trial=trial, why=failed[-1].why)


def load_comparison(run: Path) -> Comparison:
    """The comparison that was written down; whether it holds is another question (`compare.verify`)."""
    return load_json(run / COMPARISON, Comparison)


# --- what was decided before the first trial -----------------------------------------------------


def pin_decisions(decided: Decisions) -> dict[str, str]:
    """The decisions as a lock holds them, each under a name that a person understands."""
    design = decided.design
    return {
        "rule": decided.rule,
        "repeats": str(design.repeats),
        "sequential": "yes" if design.is_sequential else "no",
        "attempt": str(design.attempt),
        "seed": str(design.seed),
        "must_pass": " ".join(design.must_pass),
        "thresholds": msgspec.json.encode(decided.thresholds).decode(),
        "judge": decided.judge,
    }


def read_decisions(held: RunLock) -> Decisions:
    """The decisions that a lock holds."""
    more = held.more
    try:
        design = Design(
            tasks=tuple(held.tasks), repeats=int(more["repeats"]), attempt=int(more["attempt"]), seed=int(more["seed"]),
            is_sequential=more["sequential"] == "yes", must_pass=tuple(more["must_pass"].split()),
        )  # fmt: skip
        limits = msgspec.json.decode(more["thresholds"], type=Thresholds)
        rule = msgspec.convert(more["rule"], Rule)
    except (KeyError, ValueError, msgspec.ValidationError) as error:
        raise BadInput(f"{run_folder.LOCK} does not say what was decided before the first trial: {error}") from None
    return Decisions(rule=rule, design=design, thresholds=limits, judge=more.get("judge", "nobody"))


def replace_trials(kept: RecordedRun, trials: tuple[Trial, ...]) -> RecordedRun:
    """The run with other values for its trials, in the same order."""
    fresh = {one.folder: one for one in trials}
    return replace(
        kept, records=tuple(replace(one, trial=fresh.get(one.trial.folder, one.trial)) for one in kept.records)
    )


def replay_run(run: Path, judge: Judge | None = None) -> ReplayResult:
    """Every trial that ended in a run; `judge` asks for the rubric again, else its word stands as recorded."""
    pinned = lock.load_lock(run)
    found, changed, broken = [], [], []
    for file in sorted((run / "trials").glob(f"*/*/{run_folder.TRIAL}")):
        try:
            record = msgspec.json.decode(file.read_bytes(), type=TrialRecord)
        except (OSError, msgspec.DecodeError) as error:
            broken.append(f"{file.relative_to(run)}: {error}")
            continue
        changed += [f"{record.trial.folder}/{path}" for path in list_altered_files(run, record)]
        if str(file.parent.relative_to(run)) != str(Path(record.trial.folder).parent):
            changed.append(str(file.relative_to(run)))
        found.append(rescore_trial(run, record, judge))
    return ReplayResult(trials=tuple(found), lock=pinned, altered=tuple(changed), unreadable=tuple(broken))


def rescore_trial(run: Path, record: TrialRecord, judge: Judge | None) -> Trial:
    """A recorded trial, with its cost by today's facts and prices."""
    folder, trial = run / record.trial.folder, record.trial
    turns = transcript.read_turns(sorted((folder / run_folder.TRANSCRIPTS).glob("*.jsonl")))
    was = trial.cost
    claim = ClaimedCost(tokens=was.tokens, tool_calls=was.tool_calls, steps=was.steps, usd=was.usd)
    judged = judge(record, folder) if judge else trial.judge01
    return replace(trial, cost=transcript.measure_cost(turns, claim, was.wall_s), judge01=judged)
