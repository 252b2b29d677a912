"""Runs of benchmarks that were graded there: whether each did its task, as a label beside its transcript.

A label is no person's word: it is kept in a file of its own (`labels.jsonl`, beside the store), never in the store, so
that no score, correction or audit can take it for one. Judges are measured against it (`benchmarks.gold --graded`).

- SWE-bench: `report.json` of an instance, and reports with `resolved_ids`; instances are known by their names;
- Terminal-Bench: `results.json` with `is_resolved` for each trial, whose folder has the trial's name;
- Harbor: `result.json` of a trial, else its `verifier/reward.txt`; they speak of all transcripts below;
- Inspect: the scores in the log itself.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from assay.pipeline.inputs import File, FoundFiles
from assay.pipeline.packed_files import PackedFiles, load_json
from assay.pipeline.read_file import HEAD, find_source_name
from assay.sources import find_source, find_told_verdict
from assay.stores import Store
from assay.types import Document, Row
from assay.types.packed import MalformedFile
from assay.types.value import to_list, to_table, to_text

NAMES = frozenset({"result.json", "results.json", "report.json"})
SUMMARY = b'"resolved_ids"'
LARGEST = 32 << 20
FAILED = ("unresolved_ids", "error_ids", "empty_patch_ids")


class Grade(Struct, frozen=True, kw_only=True):
    """What one file of results says of one task."""

    benchmark: str
    task: str
    passed: bool
    told_by: str
    """The file."""
    folder: str = ""
    """All transcripts below are of this task; empty where the task is known by its name."""


class Label(Row, frozen=True, kw_only=True):
    """A run and whether it did its task, as its benchmark says."""

    agent: str
    stream: str
    file: str
    benchmark: str
    task: str
    passed: bool
    told_by: str


class GradedRuns(Document, frozen=True, kw_only=True, tag="graded_runs"):
    """`assay import --json`."""

    labels_file: str
    labels: list[Label]
    new: int
    """Of them, those that were not there before, or said otherwise."""
    ungraded: int
    """Transcripts of which no result says anything."""
    disputed: int
    """Transcripts of which two results that are equally near say opposite things; they have no label."""


def find_labels(store: Store, found: FoundFiles) -> tuple[list[Label], int, int]:
    """Labels of the streams that were read from these files; how many have none, and how many are disputed."""
    grades = list(list_grades(found.roots))
    labels: list[Label] = []
    ungraded = disputed = 0
    files = {file.name: file for file in found.files}
    with PackedFiles() as packed:
        for stream in store.transcripts.list_streams(found.roots):
            file = files.get(stream.file)
            if file is None:
                continue
            told = find_inside(file, packed)
            nearest = [told] if told else pick_nearest(grades, file)
            if len({one.passed for one in nearest}) == 1:
                first = nearest[0]
                labels.append(
                    Label(
                        agent=stream.agent,
                        stream=stream.id,
                        file=stream.file,
                        benchmark=first.benchmark,
                        task=first.task,
                        passed=first.passed,
                        told_by=first.told_by,
                    )
                )
            disputed += len(nearest) > 1 and len({one.passed for one in nearest}) > 1
            ungraded += not nearest
    return labels, ungraded, disputed


def find_inside(file: File, packed: PackedFiles) -> Grade | None:
    """What a transcript says itself of how it was graded."""
    try:
        with Path(file.path).open("rb") as opened:
            name = find_source_name(opened.read(HEAD))
        if not name or not hasattr(find_source(name), "find_verdict"):
            return None
        told = find_told_verdict(find_source(name), packed.open_file(Path(file.path)), file.conversation)
    except (OSError, MalformedFile):
        return None
    return None if told is None else Grade(benchmark=told[0], task=told[1], passed=told[2], told_by=file.name)


def pick_nearest(grades: Sequence[Grade], file: File) -> list[Grade]:
    """The grades that speak of a transcript: of several, those that lie nearest to it."""
    parts = Path(file.path).parts
    names = {*parts, Path(file.path).name.removesuffix(".json").removesuffix(".traj")}
    fitting = [one for one in grades if (is_below(file.path, one.folder) if one.folder else one.task in names)]
    depths = [count_shared(parts, Path(one.told_by).parts) for one in fitting]
    return [one for one, depth in zip(fitting, depths, strict=True) if depth == max(depths)]


def is_below(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def count_shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many folders two paths have in common from the top."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


# --- files of results -------------------------------------------------------------------------


def list_grades(roots: Iterable[str]) -> Iterator[Grade]:
    """All that files of results below some folders say."""
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in sorted(names):
                path = Path(folder) / name
                if name == "reward.txt" and path.parent.name == "verifier":
                    yield from read_reward(path)
                elif name in NAMES or (name.endswith(".json") and is_summary(path)):
                    yield from read_results(path)


def is_summary(path: Path) -> bool:
    """Whether a file is a report on many instances, whatever its name."""
    try:
        with path.open("rb") as file:
            return SUMMARY in file.read(LARGEST) if path.stat().st_size <= LARGEST else False
    except OSError:
        return False


def read_results(path: Path) -> Iterator[Grade]:
    """The grades in one file, in whichever form it has."""
    try:
        told = to_table(load_json(path)) if path.stat().st_size <= LARGEST else {}
    except (OSError, MalformedFile):
        return
    if "verifier_result" in told:
        yield from read_trial(path, told)
    elif isinstance(told.get("results"), list):
        yield from read_trials(path, to_list(told["results"]))
    elif "resolved_ids" in told:
        yield from read_summary(path, told)
    else:
        for task, one in told.items():
            if isinstance(passed := to_table(one).get("resolved"), bool):
                yield Grade(benchmark="swe-bench", task=task, passed=passed, told_by=str(path))


def read_summary(path: Path, told: Mapping[str, Any]) -> Iterator[Grade]:
    """The instances of SWE-bench that a report lists as resolved, and as not."""
    for passed, names in ((True, ("resolved_ids",)), (False, FAILED)):
        for one in (task for name in names for task in to_list(told.get(name)) if isinstance(task, str)):
            yield Grade(benchmark="swe-bench", task=one, passed=passed, told_by=str(path))


def read_trials(path: Path, results: Sequence[Any]) -> Iterator[Grade]:
    """The trials of Terminal-Bench."""
    for one in map(to_table, results):
        task, passed = to_text(one.get("task_id")), one.get("is_resolved")
        if task and isinstance(passed, bool):
            place = find_trial_folder(path.parent, task, to_text(one.get("trial_name")))
            yield Grade(benchmark="terminal-bench", task=task, passed=passed, told_by=str(path), folder=place)


def find_trial_folder(top: Path, task: str, trial: str) -> str:
    """The folder of a trial of Terminal-Bench; where there is none, nothing is graded by it."""
    found = [place for place in (top / task / trial, top / trial) if trial and place.is_dir()]
    return str(found[0] if found else top / task / trial)


def read_trial(path: Path, told: Mapping[str, Any]) -> Iterator[Grade]:
    """The reward of one trial of Harbor."""
    verifier = to_table(told.get("verifier_result"))
    reward = to_table(verifier.get("rewards")).get("reward", verifier.get("reward"))
    if isinstance(reward, int | float):
        task = to_text(told.get("task_name")) or path.parent.name
        yield Grade(benchmark="harbor", task=task, passed=reward >= 1, told_by=str(path), folder=str(path.parent))


def read_reward(path: Path) -> Iterator[Grade]:
    """The reward of a trial of Harbor that has no result beside it."""
    trial = path.parent.parent
    if (trial / "result.json").exists():
        return
    try:
        reward = float(path.read_text("utf-8", "replace")[:40])
    except (OSError, ValueError):
        return
    task = trial.name.partition("__")[0]
    yield Grade(benchmark="harbor", task=task, passed=reward >= 1, told_by=str(path), folder=str(trial))


# --- the file of labels -----------------------------------------------------------------------


def merge_labels(before: Iterable[Label], new: Iterable[Label]) -> tuple[list[Label], int]:
    """Labels of both lots, the new one of a run in place of the old; and how many are new or say otherwise."""
    known = {(one.agent, one.stream): one for one in before}
    merged = known | {(one.agent, one.stream): one for one in new}
    changed = sum(known.get(key) != one for key, one in merged.items())
    return [merged[key] for key in sorted(merged)], changed


def read_labels(path: Path) -> list[Label]:
    """The labels of a file; lines that are none are passed over."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Label))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    return found


def encode_labels(labels: Iterable[Label]) -> bytes:
    """A line for each label."""
    return b"".join(msgspec.json.encode(one) + b"\n" for one in labels)
