"""What a run keeps of its end: `result.json` says how it ended, `comparison.json` what came of it."""

from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from assay.errors import BadInput
from assay.evals import costs, ledger, lock, paths
from assay.evals.lock import Lock
from assay.evals.trials import Failure, Record, altered, failures
from assay.evals.types import CheckResult, Comparison, Design, Rule, Thresholds, Trial
from assay.files import write_atomically
from assay.types.value import Row

RESULT, COMPARISON = "result.json", "comparison.json"
T = TypeVar("T")


class Finished(Row, frozen=True):
    """`result.json`: how a run ended; there is none while it is at work, or after it was killed."""

    planned: int
    usd: float
    stopped: str
    sandbox: str
    """A sentence."""
    plan: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Broken(Row, frozen=True):
    """A trial that infrastructure never let end."""

    trial: Trial
    why: str


class Kept(Row, frozen=True):
    """A run as it lies on disk."""

    folder: Path
    lock: Lock
    finished: Finished
    records: tuple[Record, ...]
    broken: tuple[Broken, ...]
    altered: tuple[str, ...]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every trial once, as it was recorded."""
        return (*(one.trial for one in self.records), *(one.trial for one in self.broken))


def end(run: Path, finished: Finished) -> None:
    """Write down how a run ended."""
    write_atomically(run / RESULT, msgspec.json.format(msgspec.json.encode(finished), indent=1))


def keep(run: Path, comparison: Comparison) -> None:
    """Write down what came of it."""
    write_atomically(run / COMPARISON, msgspec.json.format(msgspec.json.encode(comparison), indent=1))


def load(run: Path) -> Kept:
    """A run that has ended; one that has not is said so."""
    if not run.is_dir():
        raise BadInput(f"{run}: no such run; give the folder that `assay eval run` named")
    run = run.absolute()
    held = lock.load(run)
    if not (run / RESULT).exists():
        raise BadInput(f"{run}: this run has not ended; the same `assay eval run` again goes on with it")
    finished = decoded(run / RESULT, Finished)
    records: list[Record] = []
    broken: list[Broken] = []
    misplaced: list[str] = []
    for folder in sorted((run / "trials").glob("*/*/")):
        file = folder / paths.TRIAL
        if file.exists():
            records.append(decoded(file, Record))
            misplaced += [] if run / Path(records[-1].trial.folder).parent == folder else [str(file.relative_to(run))]
        elif failed := failures(folder):
            broken.append(given_up(run, folder, failed))
    return Kept(
        folder=run, lock=held, finished=finished, records=tuple(records), broken=tuple(broken),
        altered=(*misplaced, *ledger.differing(run), *ledger.gone(run), *changed(run, records)),
    )  # fmt: skip


def changed(run: Path, records: list[Record]) -> list[str]:
    """Files that are not what they were when their trial ended; checks must be told alike in both places."""
    found, ended = [], ledger.ended(run)
    for record in records:
        folder = record.trial.folder
        found += [f"{folder}/{path}" for path in altered(run, record)]
        file = run / folder / paths.CHECKS
        if not file.is_file() or decoded(file, tuple[CheckResult, ...]) != record.trial.checks:
            found.append(f"{folder}/{paths.CHECKS}")
        if record.trial.lost < ended[(run / folder).parent] - 1:
            found.append(f"{folder}: lost attempts are missing")
    return found


def misstated(kept: Kept) -> tuple[str, ...]:
    """Trials whose cost is not what the files that are kept of them tell."""
    found = []
    for record in kept.records:
        folder = kept.folder / record.trial.folder
        if why := costs.misstated(folder, record.trial.cost, [one.cost for one in failures(folder.parent)]):
            found.append(f"{record.trial.folder}: {why}")
    return tuple(found)


def decoded(file: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError) as error:
        raise BadInput(f"{file}: can't be read: {error}") from None


def given_up(run: Path, folder: Path, failed: list[Failure]) -> Broken:
    """A trial of which there are only failures; its folder's name says which."""
    stage, repeat, arm, _ = folder.name.split("-")
    made = paths.attempts(folder)
    trial = Trial(
        task=folder.parent.name, arm=arm, repeat=int(repeat), stage=stage, state="failed_infrastructure",  # type: ignore[arg-type]
        attempts=len(made), folder=made[-1].relative_to(run).as_posix(),
    )  # fmt: skip
    return Broken(trial=trial, why=failed[-1].why)


def comparison_of(run: Path) -> Comparison:
    """The comparison that was written down; whether it holds is another question (`compare.verify`)."""
    return decoded(run / COMPARISON, Comparison)


# --- what was decided before the first trial -----------------------------------------------------


class Decided(Row, frozen=True):
    """Rule, thresholds and design, frozen with the run's lock."""

    rule: Rule
    design: Design
    thresholds: Thresholds = Thresholds()
    judge: str = "nobody"
    """Who is asked about rubrics."""


def pins(decided: Decided) -> dict[str, str]:
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


def decided(held: Lock) -> Decided:
    """What a lock says was decided."""
    more = held.more
    try:
        design = Design(
            tasks=tuple(held.tasks), repeats=int(more["repeats"]), attempt=int(more["attempt"]), seed=int(more["seed"]),
            is_sequential=more["sequential"] == "yes", must_pass=tuple(more["must_pass"].split()),
        )  # fmt: skip
        limits = msgspec.json.decode(more["thresholds"], type=Thresholds)
        rule = msgspec.convert(more["rule"], Rule)
    except (KeyError, ValueError, msgspec.ValidationError) as error:
        raise BadInput(f"{paths.LOCK} does not say what was decided before the first trial: {error}") from None
    return Decided(rule=rule, design=design, thresholds=limits, judge=more.get("judge", "nobody"))


def rejudged(kept: Kept, trials: tuple[Trial, ...]) -> Kept:
    """The run with other values for its trials, in the same order."""
    fresh = {one.folder: one for one in trials}
    return replace(
        kept, records=tuple(replace(one, trial=fresh.get(one.trial.folder, one.trial)) for one in kept.records)
    )
