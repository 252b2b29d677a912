"""What commands cost as a store grows: `python -m benchmarks.growth [--sizes 5000,20000] [--beside COMMIT]`.

Files of so many sessions are made once and kept in a scratch folder, as is the store that a commit makes of them. Every
command is a process of its own, its output goes to /dev/null, and the best of all repeats counts; another commit's
runs are interleaved with ours, on a store of its own made from the same files. Asserts nothing.
"""

import argparse
import csv
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks.many_sessions import BEGAN, DAY, WEEKS, make_sessions, shrink_grown, write_addition
from benchmarks.measure import Sample, run
from benchmarks.scan import machine
from tests.postgres import USER, PostgresServer, start_server

ROOT = Path(__file__).parents[1]
RECENT = 0.03
SINCE = datetime.fromtimestamp(BEGAN + (1 - RECENT) * WEEKS * 7 * DAY, UTC).strftime("%Y-%m-%d")
SERVER_PAUSE = 0.1
SHORT_LIVED_MB = 20
"""Who seems to hold less was over before anybody looked."""
MOVE = "`store move` to PostgreSQL"
FLOOR, COLD, GROWN = "`python -c pass`", "`score` from nothing", "`score`, one file grown"
PACK = """
import runpy, sys
for file, pack in {"sessions/speech/phrases.py": "pack_phrases", "resources.py": "pack_tables"}.items():
    module = runpy.run_path(sys.argv[1] + "/src/assay/" + file)
    module["PACKED"].write_bytes(module[pack]())
"""
"""What building the package does beside copying it; without it every process parses its phrases."""


@dataclass(frozen=True)
class Code:
    """A checkout of assay, and how it is run."""

    name: str
    """The commit; a tree with changes of its own is named by its folder, and no store of it is kept."""
    root: Path
    is_kept: bool

    @property
    def python(self) -> str:
        own = self.root / ".venv" / "bin" / "python"
        return str(own) if own.exists() else sys.executable

    def env(self, home: Path) -> dict[str, str]:
        """Few variables and an empty home; compiled modules are kept, though not in the checkout."""
        home.mkdir(parents=True, exist_ok=True)
        path = {"PATH": os.environ["PATH"], "PYTHONPATH": str(self.root / "src")}
        return {"HOME": str(home), "PYTHONPYCACHEPREFIX": str(home / "compiled"), "COLUMNS": "120", **path}


def find_code(named: str, scratch: Path) -> Code:
    """The checkout at a place as it is now, or a commit."""
    root = Path(named).resolve()
    if not root.is_dir():
        return check_out(named, scratch)
    commit = ask_git(root, "rev-parse", "--short=7", "HEAD")
    changed = ask_git(root, "status", "--porcelain", "--", "src")
    return Code(f"{root.name}+" if changed else commit, root, is_kept=not changed)


def check_out(commit: str, scratch: Path) -> Code:
    """The source of a commit in a folder of its own, packed as an installation is."""
    name = ask_git(ROOT, "rev-parse", "--short=7", commit)
    root = scratch / "code" / name
    if not root.exists():
        fresh = Path(tempfile.mkdtemp(dir=scratch))
        packed = subprocess.run(["git", "archive", name, "src"], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(fresh)], input=packed, check=True)
        subprocess.run([sys.executable, "-c", PACK, str(fresh)], check=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        fresh.rename(root)
    return Code(name, root, is_kept=True)


def ask_git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


@dataclass
class Side:
    """One of the codes that are set side by side: its store, and its runs by row."""

    code: Code
    store: str
    home: Path
    runs: dict[str, list[Sample]] = field(default_factory=dict)
    server: PostgresServer | None = None
    served: dict[str, list[float]] = field(default_factory=dict)
    """CPU time of the server, by row."""

    def start(self, row: str, words: Sequence[str]) -> Sample:
        """Run once and keep what it took."""
        argv, served = [self.code.python, *words], self.read_server_time()
        sample = run(argv, self.code.env(self.home), self.home)
        if sample.code:
            raise RuntimeError(f"{self.code.name}, {row}: exit code {sample.code}: {sample.complaint}")
        self.runs.setdefault(row, []).append(sample)
        self.served.setdefault(row, []).append(self.read_server_time() - served)
        return sample

    def move_to(self, server: PostgresServer) -> None:
        """Go on with a database that holds the same."""
        name = f"growth_{uuid4().hex}"
        server.run("createdb", "-h", "127.0.0.1", "-p", str(server.port), "-U", USER, name)
        url = f"postgresql://{USER}@127.0.0.1:{server.port}/{name}"
        self.server = server
        self.call(MOVE, "store", "move", url)
        self.store = url

    def read_server_time(self) -> float:
        """CPU seconds of the server and of all connections that are over."""
        if not self.server:
            return 0.0
        time.sleep(SERVER_PAUSE)  # what a connection took is known once it is buried
        pid = (self.server.data / "postmaster.pid").read_text().split()[0]
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def call(self, row: str, *words: str) -> Sample:
        return self.start(row, ["-m", "assay", *words, "--store", self.store])

    def best_cpu(self, row: str) -> float:
        return min(one.cpu_s for one in self.runs[row])

    def best_rss(self, row: str) -> float:
        return min(one.rss_mb for one in self.runs[row])

    def list_cells(self, row: str) -> list[str]:
        """CPU time and memory; a dash where nothing was measured, or it was over too soon."""
        if row not in self.runs:
            return ["–", "–"]
        served = min(self.served.get(row, [0.0]))
        beside = f" + {served:.2f}" if served else ""
        rss = self.best_rss(row)
        return [f"{self.best_cpu(row):.2f}{beside}", f"{rss:,.0f}" if rss > SHORT_LIVED_MB else "–"]


class Place:
    """The folder of one size: its transcripts, the stores that commits made of them, and what is at work."""

    def __init__(self, scratch: Path, sessions: int, seed: int) -> None:
        self.folder = scratch / str(sessions)
        (self.folder / "stores").mkdir(parents=True, exist_ok=True)
        self.lock = (self.folder / "lock").open("w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)  # one run at a time: a file grows
        self.files, self.work, self.told = (self.folder / name for name in ("files", "work", "told.json"))
        self.made = make_sessions(self.files, sessions, seed)
        shrink_grown(self.files, self.made)
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()

    def close(self) -> None:
        """Remove the stores that were at work, and let the next run begin."""
        shutil.rmtree(self.work)
        self.lock.close()

    def open_side(self, code: Code, begin: str = "") -> Side:
        """A copy of the store that the code made, or that the commit `begin` did, brought to the code's schema."""
        kept = self.folder / "stores" / f"{begin or code.name}.db"
        work = Path(tempfile.mkdtemp(prefix=f"{code.name}-", dir=self.work)) / "store.db"
        side = Side(code, str(work), self.folder / "home" / code.name)
        if kept.exists():
            shutil.copy(kept, work)
            side.call("upgrade" if begin else "before", "score", str(self.files))
            side.runs |= self.load_cold(code)
            return side
        if begin:
            raise FileNotFoundError(f"{kept} is missing; run `--code` on that commit first")
        side.call(COLD, "score", str(self.files), "-j", "2")
        if code.is_kept:
            shutil.copy(work, kept)
            kept.with_suffix(".json").write_text(json.dumps(asdict(side.runs[COLD][0])))
        return side

    def load_cold(self, code: Code) -> dict[str, list[Sample]]:
        """What the kept store took to make."""
        noted = self.folder / "stores" / f"{code.name}.json"
        return {COLD: [Sample(**json.loads(noted.read_text()))]} if noted.exists() else {}

    def describe(self, side: Side) -> dict[str, Any]:
        """How many sessions there are, and one from their middle; asked once, not timed."""
        if not self.told.exists():
            out = self.work / "told.csv"
            side.call("told", "score", str(self.files), "-o", str(out))
            csv.field_size_limit(sys.maxsize)
            with out.open(newline="") as rows:
                ids = [row["id"] for row in csv.DictReader(rows)]
            self.told.write_text(json.dumps({"sessions": len(ids), "shown": ids[len(ids) // 2]}))
        return self.load_told()

    def load_told(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.told.read_text())
        return told

    @contextmanager
    def let_grow(self) -> Iterator[Callable[[int], None]]:
        """A function that appends a prompt and its reply to a file; all of it is taken back in the end."""
        path = self.files / self.made["grown"]

        def append(number: int) -> None:
            with path.open("ab") as file:
                file.write(write_addition(path, number))

        try:
            yield append
        finally:
            shrink_grown(self.files, self.made)


def list_rows(place: Place, shown: str) -> dict[str, list[str]]:
    """The commands on a store in which nothing is new."""
    files = str(place.files)
    return {
        "`score`": ["score", files],
        "`score --json`": ["score", files, "--json"],
        f"`score --since` (the last {RECENT:.0%})": ["score", files, "--since", SINCE],
        "`score --by week`": ["score", files, "--by", "week"],
        "`sessions --limit 30`, a terminal full": ["sessions", files, "--limit", "30"],
        "`sessions`, in a pipe": ["sessions", files],
        "`show ID`": ["show", shown],
    }


def measure_size(place: Place, sides: Sequence[Side], repeats: Sequence[int], only: str) -> int:
    """All rows on all sides, one after the other; says how many sessions there are."""
    told = place.describe(sides[0])
    rows = {title: words for title, words in list_rows(place, told["shown"]).items() if only in title}
    with place.let_grow() as append:
        for number in range(max(repeats)):
            at_work = [side for side, times in zip(sides, repeats, strict=True) if number < times]
            for side in at_work:
                side.start(FLOOR, ["-c", "pass"])
            for title, words in rows.items():
                for side in at_work[:: -1 if number % 2 else 1]:
                    side.call(title, *words)
            if only in GROWN:
                append(number)
                for side in at_work:
                    side.call(GROWN, "score", str(place.files))
    return int(told["sessions"])


def draw_table(sessions: int, sides: Sequence[Side]) -> str:
    """A line per row in Markdown; behind every other side how much of its CPU time the first takes."""
    names = [cell for side in sides for cell in (f"{side.code.name} CPU-s", "MB")]
    head = [f"{sessions:,} sessions", *names, *(f"of {side.code.name}" for side in sides[1:])]
    lines = [head, ["---", *("---:" for _ in head[1:])]]
    titles = [title for title in (COLD, "upgrade") if title in sides[0].runs]
    titles += [title for title in sides[0].runs if title not in (*titles, "before", "told")]
    for title in titles:
        cells = [cell for side in sides for cell in side.list_cells(title)]
        cells += [
            f"{sides[0].best_cpu(title) / side.best_cpu(title):.3f}" if title in side.runs else "–"
            for side in sides[1:]
        ]
        lines.append([title, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def save_runs(place: Place, side: Side) -> None:
    """Keep every sample, so that a run of an hour is there for a later table; rows not measured now stay."""
    runs = load_runs(place, side.code) | side.runs
    kept = {title: [asdict(one) for one in samples] for title, samples in runs.items()}
    name_runs(place, side.code).write_text(json.dumps(kept, indent=1))


def load_runs(place: Place, code: Code) -> dict[str, list[Sample]]:
    """The rows of a code as they were measured before."""
    if not (known := name_runs(place, code)).exists():
        return {}
    kept = json.loads(known.read_text())
    return {title: [Sample(**one) for one in samples] for title, samples in kept.items()}


def name_runs(place: Place, code: Code) -> Path:
    return place.folder / f"runs-{code.name}.json"


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--sizes", default="5000", help="sessions, separated by commas (5000,20000,100000)")
    parser.add_argument("--dir", type=Path, help="where files and stores are kept; else below the temporary folder")
    parser.add_argument("--code", default=str(ROOT), help="a checkout or a commit to measure instead of this one")
    parser.add_argument("--beside", help="a commit to set beside it")
    parser.add_argument("--beside-kept", action="store_true", help="take the commit's figures from its last run")
    parser.add_argument("--begin", default="", help="begin with a copy of the store that this commit made")
    parser.add_argument("--postgres", action="store_true", help="move the stores to PostgreSQL first; + is its server")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--beside-repeats", type=int, help="of the commit beside; as many, if not said")
    parser.add_argument("--only", default="", help="only rows with this in their title")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def main() -> None:
    args = read_arguments()
    scratch = (args.dir or Path(tempfile.gettempdir()) / "assay-growth").resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    code = find_code(args.code, scratch)
    beside = check_out(args.beside, scratch) if args.beside else None
    begin = ask_git(ROOT, "rev-parse", "--short=7", args.begin) if args.begin else ""
    print(f"{machine()}; best of {args.repeats}; MB: the most that one process held", flush=True)
    for size in map(int, args.sizes.split(",")):
        with closing(Place(scratch, size, args.seed)) as place:
            sides, repeats = [place.open_side(code, begin)], [args.repeats]
            if beside and not args.beside_kept:
                sides.append(place.open_side(beside))
                repeats.append(args.beside_repeats or args.repeats)
            for side in sides if args.postgres else ():
                side.move_to(start_server())
            sessions = measure_size(place, sides, repeats, args.only)
            for side in sides if not args.postgres else ():
                save_runs(place, side)
            if beside and args.beside_kept:
                sides.append(Side(beside, "", place.folder, load_runs(place, beside)))
            print(f"\n{draw_table(sessions, sides)}", flush=True)
    print(f"\nat the end: {machine()}")


if __name__ == "__main__":
    main()
