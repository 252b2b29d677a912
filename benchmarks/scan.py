"""One table, one run: assay beside a plain read, orjson and ccusage, on the same files.

`python -m benchmarks.scan [--mb 500] [--dir EXISTING] [--json OUT]`. Asserts nothing.
"""

import argparse
import json
import os
import platform
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks import ccusage, report
from benchmarks.measure import Sample, run
from benchmarks.place import Place, prepare
from benchmarks.report import Row

ROOT = Path(__file__).parents[1]


@dataclass
class Bench:
    """The rows of one run, and how each is started."""

    place: Place
    tmp: Path
    assay: list[str] | None
    ccusage: Path | None
    rows: dict[str, Row]

    def env(self) -> dict[str, str]:
        """Few variables and an empty HOME, so that nobody's settings are read."""
        home = self.tmp / "home"
        home.mkdir(exist_ok=True)
        path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        return {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": path}

    def start(self, argv: list[str] | None, out: Path = Path(os.devnull)) -> Sample:
        if argv is None:
            return Sample(wall_s=0, cpu_s=0, rss_mb=0, read_mb=None, code=127, complaint="no such program")
        return run(argv, self.env() | ccusage.environment(self.place.root), ROOT, out)

    def python_row(self, name: str) -> list[str]:
        return [sys.executable, "-m", "benchmarks.rows", name, str(self.place.root)]

    def streams(self, store: Path) -> list[str] | None:
        if self.assay is None:
            return None
        return [*self.assay, "streams", str(self.place.root), "--store", str(store), "--json"]

    def score(self, store: Path) -> list[str] | None:
        if self.assay is None:
            return None
        return [*self.assay, "score", str(self.place.root), "--store", str(store), "--json"]

    def peer(self, single: bool) -> list[str] | None:
        return ccusage.command(self.ccusage, single) if self.ccusage else None

    def assay_cycle(self, outs: tuple[Path, Path, Path] | None = None) -> dict[str, Sample]:
        """Cold, unchanged, grown: always in this order on a store of their own."""
        store = Path(tempfile.mkdtemp(dir=self.tmp)) / "store.db"
        null = Path(os.devnull)
        cold, warm, grown = outs or (null, null, null)
        samples = {"d": self.start(self.streams(store), cold), "e": self.start(self.streams(store), warm)}
        self.place.append()
        samples["f"] = self.start(self.streams(store), grown)
        self.place.restore()
        shutil.rmtree(store.parent)
        return samples

    def score_cycle(self) -> dict[str, Sample]:
        """Scored from nothing, and again."""
        store = Path(tempfile.mkdtemp(dir=self.tmp)) / "store.db"
        samples = {key: self.start(self.score(store)) for key in ("j", "k")}
        shutil.rmtree(store.parent)
        return samples

    def repeat(self, number: int) -> None:
        """All rows once; the order turns with each repeat so that no row is always first or last."""
        groups: list[Callable[[], dict[str, Sample]]] = [
            lambda: {"a": self.start(self.python_row("read"))},
            lambda: {"b": self.start(self.python_row("orjson"))},
            lambda: {"c": self.start(self.python_row("decode"))},
            lambda: {"i": self.start(self.python_row("digest"))},
            self.assay_cycle,
            self.score_cycle,
            lambda: {"g": self.start(self.peer(single=False))},
            lambda: {"h": self.start(self.peer(single=True))},
        ]
        shift = 2 * number % len(groups)
        order = groups[shift:] + groups[:shift]
        for group in order if number % 2 == 0 else reversed(order):
            for key, sample in group().items():
                self.rows[key].samples.append(sample)


def new_rows(version: str) -> dict[str, Row]:
    rows = (
        Row("a", "read into a reused buffer"),
        Row("b", "orjson.loads of every line"),
        Row("c", "assay: decode and de-duplicate"),
        Row("d", "assay streams, cold"),
        Row("e", "assay streams, unchanged", reads_all=False),
        Row("f", "assay streams, 1 MB appended", reads_all=False),
        Row("g", f"ccusage {version}, threads"),
        Row("h", f"ccusage {version}, --single-thread"),
        Row("i", "assay: turns and facts, no store"),
        Row("j", "assay score, from nothing"),
        Row("k", "assay score, unchanged", reads_all=False),
    )
    return {row.key: row for row in rows}


def find_assay(given: str) -> list[str] | None:
    """The command as named, else the one beside this Python, else the source tree, else the PATH."""
    beside = Path(sys.executable).parent / "assay"
    if given:
        return shlex.split(given)
    if beside.exists():
        return [str(beside)]
    if (ROOT / "src" / "assay" / "__main__.py").exists():
        return [sys.executable, "-m", "assay"]
    found = shutil.which("assay")
    return [found] if found else None


def replies(bench: Bench) -> tuple[list[dict[str, Any]], Counter[str] | None]:
    """What assay (cold, unchanged, grown) and ccusage print, from runs that are not timed."""
    outs = (bench.tmp / "cold.json", bench.tmp / "warm.json", bench.tmp / "grown.json")
    said: list[dict[str, Any]] = []
    if bench.rows["d"].works:
        bench.assay_cycle(outs)
        said = [json.loads(out.read_bytes()) for out in outs]
    if not bench.rows["g"].works:
        return said, None
    out = bench.tmp / "ccusage.json"
    bench.start(bench.peer(single=False), out)
    return said, ccusage.output_tokens(out.read_bytes())


def findings(bench: Bench) -> list[str]:
    """The lines below the table."""
    lines = [f"{name}: {_times(value)}" for name, value in report.ratios(bench.rows).items()]
    said, peer = replies(bench)
    alone = [report.scan_alone(reply) for reply in said]
    if alone and alone[0][0] and alone[1][0] is not None:
        lines.append(f"(e)/(d) wall, scan alone: {_times(alone[1][0] / alone[0][0])}")
    if alone and alone[2][1] is not None:
        lines.append(f"bytes read after the append, by assay's count: {alone[2][1]:,} of {len(bench.place.addition):,}")
    extra = report.read_by_append(bench.rows)
    if extra is not None:
        added = len(bench.place.addition) / 1e6
        lines.append(f"read because of the append, (f) less (e): {extra:.2f} MB of {added:.2f}")
    ours = report.assay_tokens(said[0]) if said else None
    for agent in ("claude", "codex"):
        counts = {"corpus": _planted(bench.place.root, agent)}
        counts |= {"assay": ours[agent] if ours else None, "ccusage": peer[agent] if peer else None}
        lines.append(report.agreement(agent, counts))
    return lines


def _times(value: float | None) -> str:
    return "not available" if value is None else f"{value:.3f}"


def _planted(root: Path, agent: str) -> int | None:
    manifest = root / "manifest.json"
    return int(json.loads(manifest.read_bytes())[f"{agent}_output_tokens"]) if manifest.exists() else None


def machine() -> str:
    load = "/".join(f"{n:.2f}" for n in os.getloadavg())
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, load average {load}"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=float, default=500, help="size of the corpus to make")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dir", type=Path, help="a corpus that exists: DIR/claude/projects, DIR/codex/sessions")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write every sample here")
    parser.add_argument("--assay", default="", help="how to start assay, if not as installed")
    parser.add_argument("--ccusage", default=ccusage.VERSION, help="version from npm")
    parser.add_argument("--tmp", type=Path, help="where to work; needs the size of the corpus")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="assay-bench-", dir=args.tmp) as name:
        tmp = Path(name)
        place = prepare(tmp / "corpus", args.dir, args.mb, args.seed)
        bench = Bench(place, tmp, find_assay(args.assay), ccusage.binary(args.ccusage), new_rows(args.ccusage))
        mb = place.bytes() / 1e6
        print(f"corpus {mb:,.1f} MB in {sum(1 for _ in place.root.rglob('*.jsonl')):,} files, best of {args.repeats}\n")
        bench.start(bench.python_row("read"))  # warms the page cache for all alike
        for number in range(args.repeats):
            bench.repeat(number)
        lines = [*findings(bench), f"at the end: {machine()}"]
        print(report.table(list(bench.rows.values()), mb), *lines, sep="\n")
    if args.json:
        samples = {key: [asdict(sample) for sample in row.samples] for key, row in bench.rows.items()}
        args.json.write_text(json.dumps({"mb": mb, "rows": samples, "findings": lines}, indent=2))


if __name__ == "__main__":
    main()
