"""A lake of many sessions: `python -m benchmarks.lake --store sqlite:////tmp/million.db [--base 20000]`.

The store is one that `benchmarks.million --fill --store … --base …` made. It is exported (sessions, judgements, ledger
and streams; what a stream said is not in such a store, so no turns), once more with nothing changed, and then asked:
every question is put to the lake and to the store, and both answers, as `--json` prints them with every session, must
be the same bytes. Times are of the functions that commands call, best of all repeats, each with a reader of its own.
"""

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from hashlib import blake2b
from pathlib import Path

from assay.cli.settings import load_config
from assay.config import Config, pick_zone
from assay.pipeline.export import ExportChoice, export_lake, tell_sessions
from assay.pipeline.inputs import find_transcripts
from assay.pipeline.lake_report import open_lake_reports
from assay.pipeline.pool import ignore_progress
from assay.pipeline.score import open_run, read_kept_report
from assay.pipeline.scoring_run import Selection
from assay.reports.json import encode_document
from assay.reports.score import render_score
from assay.scores.report import Report
from assay.stores import Store, open_store
from benchmarks.growth import ROOT, Place, find_code
from benchmarks.million import sign_copies
from benchmarks.scan import machine

QUESTIONS = {
    "`score`": Selection(),
    "`score --since` the last 3 %": Selection(since="2026-10-20T00:00:00.000Z"),
    "`score --since --until` a year": Selection(since="2022-01-01T00:00:00.000Z", until="2023-01-01T00:00:00.000Z"),
    "`score --project` one": Selection(project="/home/d07/"),
}


def measure(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - used


def count_megabytes() -> int:
    """The most that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def export(store: Store, config: Config, roots: Sequence[str], lake: Path) -> int:
    """Bring the lake up to date; gives how many parts were written."""
    zone = pick_zone(config)
    with open_run(store, config, roots) as run:
        tell_sessions(run, zone, ignore_progress)
        found = export_lake(run, lake, ExportChoice(turns=False), zone, (), ignore_progress)
    return len(found.changed)


def ask_lake(lake: Path, selection: Selection, *, draws: bool = False) -> int:
    """A report on a lake, opened for it; drawn by week."""
    with open_lake_reports(lake) as reports:
        report = reports.report(selection)
        if draws:
            render_score(report, reports.zone or pick_zone(Config()), 120, ["week", "project"])
        return report.waterfall.sessions


def sign(report: Report) -> str:
    """A hash of all that `--json` prints of a report."""
    found = blake2b(digest_size=16)
    for part in encode_document(report):
        found.update(part)
    return found.hexdigest()


def time_questions(lake: Path, repeats: int) -> None:
    print("| asked of the lake | sessions | wall ms | CPU ms |\n| --- | ---: | ---: | ---: |", flush=True)
    for title, selection in QUESTIONS.items():
        times = [measure(partial(ask_lake, lake, selection)) for _ in range(repeats)]
        print_row(title, ask_lake(lake, selection), times)
    drawn = [measure(lambda: ask_lake(lake, Selection(), draws=True)) for _ in range(repeats)]
    print_row("`score --by week --by project`, drawn", ask_lake(lake, Selection()), drawn)


def print_row(title: str, about: int, times: Sequence[tuple[float, float]]) -> None:
    wall, cpu = (min(one[n] for one in times) * 1000 for n in (0, 1))
    print(f"| {title} | {about:,} | {wall:,.0f} | {cpu:,.0f} |", flush=True)


def compare_answers(store: Store, config: Config, roots: Sequence[str], lake: Path) -> None:
    """Print of each question whether store and lake say the same, to the byte."""
    for title, selection in QUESTIONS.items():
        with open_run(store, config, roots, selection=selection) as run, open_lake_reports(lake) as reports:
            report = read_kept_report(run)
            assert report is not None, "the store was told by other settings"
            is_same = sign(report) == sign(reports.report(selection))
        print(f"{title}: {'the same bytes' if is_same else 'DIFFERENT'}", flush=True)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lake", description=__doc__)
    parser.add_argument("--dir", type=Path, help="where `benchmarks.growth` keeps files and stores")
    parser.add_argument("--base", type=int, default=100_000, help="sessions that the store was filled from")
    parser.add_argument("--store", required=True)
    parser.add_argument("--lake", type=Path, help="where the lake shall lie, and stay")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    args = read_arguments()
    scratch = (args.dir or Path(tempfile.gettempdir()) / "assay-growth").resolve()
    work = Path(tempfile.mkdtemp(prefix="assay-lake-"))
    lake = (args.lake or work / "lake").resolve()
    try:
        with closing(Place(scratch, args.base, args.seed)) as place:
            code = find_code(str(ROOT), scratch)
            home = place.folder / "home" / code.name
            os.environ |= code.env(home)
            os.chdir(home)
            config = load_config(store=args.store)
            roots = find_transcripts([place.files], config).roots
            with closing(open_store(args.store)) as store:
                sign_copies(store, config, roots)
                print(f"{machine()}; load average {os.getloadavg()[0]:.1f}\n", flush=True)
                before = count_megabytes()
                for title in ("export", "export again, nothing changed"):
                    parts: list[int] = []
                    wall, cpu = measure(lambda: parts.append(export(store, config, roots, lake)))  # noqa: B023
                    print(f"{title}: {wall:.1f} s wall, {cpu:.1f} CPU-s, {parts[0]} parts", flush=True)
                size = sum(path.stat().st_size for path in lake.rglob("*.parquet"))
                print(f"lake: {size / 1e6:,.0f} MB; memory {before} MB before, {count_megabytes()} after\n", flush=True)
                time_questions(lake, args.repeats)
                print(flush=True)
                compare_answers(store, config, roots, lake)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
