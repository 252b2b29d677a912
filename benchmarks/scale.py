"""What an archive costs, and where a cluster stops: `python -m benchmarks.scale [--sessions 1000] [--mb 40]`.

Two corpora are made up, one of many short sessions and one of long ones, and each goes down the street once in this
process: read, cut and judged (offline), told, counted, exported. CPU-seconds of every stage are measured, those inside
the store apart: on a cluster they stay with the one process that writes. Of the two corpora follows what a gigabyte and
what a session cost by themselves. All else is arithmetic on these figures and on the limits below, which are assumed:
they are what services publish or what a cautious operator would plan with, and none of them was measured here.
"""

import argparse
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.cli.settings import load_config
from assay.config import pick_zone
from assay.pipeline.export import ExportChoice, export_lake, tell_sessions
from assay.pipeline.inputs import find_transcripts
from assay.pipeline.pool import ignore_progress
from assay.pipeline.scan import scan
from assay.pipeline.score import open_run, read_kept_report
from assay.stores import open_store
from assay.stores.sql.sessions import SqlSessions
from assay.stores.sql.told import SqlTold
from assay.stores.sql.transcripts import SqlTranscripts
from benchmarks.corpus import build
from benchmarks.many_sessions import make_sessions
from benchmarks.scan import machine

STAGES = ("read", "cut and judge", "follow and tell", "report", "export")
WRITES = {
    SqlTranscripts: ("save_file", "save_streams"),
    SqlSessions: ("save_cuts", "save_joined"),
    SqlTold: ("save_told",),
}
GB = 1e9
CORES = (2, 16, 128, 1_024)
ARCHIVES = {
    "a person: 1 GB, 1,000 sessions": (1.0, 1_000),
    "a company: 10 TB, 1 million": (1e4, 1_000_000),
    "an archive: 10 PB, 100 million": (1e7, 100_000_000),
}
OBJECT_STORE_GB_S, OBJECT_STORE_GETS_S = 100.0, 5_500.0
"""Assumed: 100 GB/s from one bucket, 5,500 requests a second for one prefix."""
OBJECT_MB = 25.0
"""Assumed size of an object, where an archive's sessions are packed into larger ones."""
MODEL_TOKENS_S, QUESTION_TOKENS = 2_000_000 / 60, 6_000.0
"""Assumed: two million tokens a minute, and six thousand for a question about one session."""
CORE_HOUR_USD = 0.04


@dataclass
class Cost:
    """What a corpus took, by stage."""

    gigabytes: float
    sessions: int = 0
    cpu: dict[str, float] = field(default_factory=dict)
    writing: dict[str, float] = field(default_factory=dict)
    """The part of it inside the store."""
    megabytes: dict[str, int] = field(default_factory=dict)


class Clock:
    """CPU-seconds spent in writing to the store."""

    def __init__(self) -> None:
        self.spent = 0.0
        for owner, names in WRITES.items():
            for name in names:
                setattr(owner, name, self.wrap(getattr(owner, name)))

    def wrap(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **more: Any) -> Any:
            began = time.process_time()
            try:
                return method(*args, **more)
            finally:
                self.spent += time.process_time() - began

        return timed


@contextmanager
def measure(cost: Cost, stage: str, clock: Clock) -> Iterator[None]:
    """Note what a stage took."""
    began, clock.spent = time.process_time(), 0.0
    yield
    cost.cpu[stage] = time.process_time() - began
    cost.writing[stage] = clock.spent
    cost.megabytes[stage] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def measure_corpus(files: Path, work: Path, clock: Clock) -> Cost:
    """Send a corpus down the street once."""
    config = load_config(store=f"sqlite:///{work / 'store.db'}")
    found = find_transcripts([files], config)
    cost, zone = Cost(sum(path.stat().st_size for path in files.rglob("*.jsonl")) / GB), pick_zone(config)
    with closing(open_store(config.store)) as store:
        with measure(cost, "read", clock):
            scan(store, found, 1, ignore_progress)
        with open_run(store, config, found.roots, jobs=1) as run:
            with measure(cost, "cut and judge", clock):
                run.judge_streams(ignore_progress)
            with measure(cost, "follow and tell", clock):
                tell_sessions(run, zone, ignore_progress)
            with measure(cost, "report", clock):
                report = read_kept_report(run)
            assert report is not None
            cost.sessions = report.waterfall.sessions
            with measure(cost, "export", clock):
                export_lake(run, work / "lake", ExportChoice(), zone, (), ignore_progress)
    return cost


def solve(short: Cost, long: Cost, pick: Callable[[Cost], float]) -> tuple[float, float]:
    """CPU-seconds of a gigabyte and of a session by themselves, none below nothing."""
    whole = short.gigabytes * long.sessions - long.gigabytes * short.sessions
    by_size = (pick(short) * long.sessions - pick(long) * short.sessions) / whole if whole else 0.0
    by_size = min(max(by_size, 0.0), min(pick(one) / one.gigabytes for one in (short, long)))
    by_session = max(0.0, min((pick(one) - by_size * one.gigabytes) / one.sessions for one in (short, long)))
    return by_size, by_session


def print_costs(title: str, cost: Cost) -> None:
    print(f"\n{title}: {cost.gigabytes * 1000:,.1f} MB, {cost.sessions:,} sessions\n")
    print("| stage | CPU-s | of it in the store | per GB | per 1,000 sessions | most memory MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for stage in STAGES:
        cpu = cost.cpu[stage]
        per_gb, per_session = cpu / cost.gigabytes, 1000 * cpu / cost.sessions
        row = f"{cpu:.2f} | {cost.writing[stage]:.2f} | {per_gb:,.0f} | {per_session:.2f} | {cost.megabytes[stage]}"
        print(f"| {stage} | {row} |")


def simulate(short: Cost, long: Cost) -> None:
    """Print how long archives take on clusters, and what holds each back."""
    spread, single = ("read", "cut and judge"), ("follow and tell", "report", "export")
    spent: dict[str, Callable[[Cost], float]] = {
        "workers: read, cut, judge": lambda one: sum(one.cpu[stage] - one.writing[stage] for stage in spread),
        "writer: save what they found": lambda one: sum(one.writing[stage] for stage in spread),
        "head, afterwards: follow, tell, report, export": lambda one: sum(one.cpu[stage] for stage in single),
    }
    rates = {name: solve(short, long, pick) for name, pick in spent.items()}
    print("\nBy themselves, of both corpora (CPU-s):\n\n| | a GB | 1,000 sessions |\n| --- | ---: | ---: |")
    for name, (by_size, by_session) in rates.items():
        print(f"| {name} | {by_size:,.1f} | {1000 * by_session:.2f} |")
    print("\nReckoned, in hours:\n")
    print("| archive | cores | workers | writer | object store | afterwards | together | held back by | USD |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |")
    stops = []
    for title, (size, sessions) in ARCHIVES.items():
        work, write, after = (by_size * size + by_session * sessions for by_size, by_session in rates.values())
        fetch = max(size / OBJECT_STORE_GB_S, size * 1000 / OBJECT_MB / OBJECT_STORE_GETS_S)
        for cores in CORES:
            print_cluster(title, cores, {"workers": work / cores, "writer": write, "object store": fetch}, after)
        asked = sessions * QUESTION_TOKENS / MODEL_TOKENS_S / 3600
        stops.append(
            f"- {title}: more than {work / max(write, fetch):,.0f} cores are no faster, for one writer alone "
            f"takes {write / 3600:,.1f} h and the object store {fetch / 3600:,.1f} h; a model would be asked for "
            f"{asked:,.0f} h at its limit."
        )
    print("\n" + "\n".join(stops))


def print_cluster(title: str, cores: int, seconds: dict[str, float], after: float) -> None:
    """A row of the table: what goes on side by side takes as long as the slowest, and the rest follows."""
    slowest = max(seconds, key=seconds.__getitem__)
    together = (seconds[slowest] + after) / 3600
    shown = " | ".join(f"{one / 3600:,.2f}" for one in (*seconds.values(), after))
    paid = (cores * seconds[slowest] + after) / 3600 * CORE_HOUR_USD
    held = "afterwards" if after > seconds[slowest] else slowest
    print(f"| {title} | {cores:,} | {shown} | {together:,.2f} | {held} | {paid:,.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--sessions", type=int, default=1_000, help="short sessions to make up")
    parser.add_argument("--mb", type=float, default=40.0, help="of long ones")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="assay-scale-"))
    try:
        os.environ |= {"HOME": str(work), "XDG_DATA_HOME": str(work / "data")}
        make_sessions(work / "short", args.sessions, args.seed)
        build(work / "long", args.mb, args.seed)
        clock, costs = Clock(), []
        print(f"{machine()}; load average {os.getloadavg()[0]:.1f}")
        for name in ("short", "long"):
            (work / f"{name}-out").mkdir()
            costs.append(measure_corpus(work / name, work / f"{name}-out", clock))
            print_costs(f"{name.capitalize()} sessions", costs[-1])
        simulate(costs[0], costs[1])
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
