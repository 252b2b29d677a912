"""Scores recorded trials again without running anything: costs by today's facts and prices, checks as they were."""

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from assay.evals import lock, paths, transcript
from assay.evals.transcript import Claimed
from assay.evals.trials import Record, altered
from assay.evals.types import Trial
from assay.types.value import Row

Judge = Callable[[Record, Path], float | None]


class Replayed(Row, frozen=True):
    """Recorded trials, scored again."""

    trials: tuple[Trial, ...]
    lock: lock.Lock
    altered: tuple[str, ...]
    """Files that are not what they were when their trial ended; nothing that rests on them should be trusted."""
    unreadable: tuple[str, ...]


def replay(run: Path, judge: Judge | None = None) -> Replayed:
    """Every trial that ended in a run; `judge` asks for the rubric again, else its word stands as recorded."""
    pinned = lock.load(run)
    found, changed, broken = [], [], []
    for file in sorted((run / "trials").glob(f"*/*/{paths.TRIAL}")):
        try:
            record = msgspec.json.decode(file.read_bytes(), type=Record)
        except (OSError, msgspec.DecodeError) as error:
            broken.append(f"{file.relative_to(run)}: {error}")
            continue
        changed += [f"{record.trial.folder}/{path}" for path in altered(run, record)]
        if str(file.parent.relative_to(run)) != str(Path(record.trial.folder).parent):
            changed.append(str(file.relative_to(run)))
        found.append(rescored(run, record, judge))
    return Replayed(trials=tuple(found), lock=pinned, altered=tuple(changed), unreadable=tuple(broken))


def rescored(run: Path, record: Record, judge: Judge | None) -> Trial:
    """One trial by today's facts."""
    folder, trial = run / record.trial.folder, record.trial
    turns = transcript.read(sorted((folder / paths.TRANSCRIPTS).glob("*.jsonl"))).turns
    was = trial.cost
    claim = Claimed(tokens=was.tokens, tool_calls=was.tool_calls, steps=was.steps, usd=was.usd)
    judged = judge(record, folder) if judge else trial.judge01
    return replace(trial, cost=transcript.cost(turns, claim, was.wall_s), judge01=judged)
