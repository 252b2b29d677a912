"""How well `assay score` agrees with labelled streams, beside baselines that read nothing or little.

`python -m benchmarks.gold [GOLD.jsonl] [--corpus DIR] [--score SCORE.json] [--json]`. Asserts nothing.
`--graded LABELS.jsonl --runs DIR` (or `--graded-score SCORE.json`, of any judge) adds how well it agrees with
benchmarks: labels that `assay import` kept. Such runs have one goal each, and nobody in them who says how it went.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from rich.console import Console

from benchmarks.card import print_card
from benchmarks.findings import Findings, findings
from benchmarks.fit import read_gaps, read_goals
from benchmarks.graded import GradedFindings, measure_graded, show_graded
from benchmarks.labelled import match, transcripts
from benchmarks.recut import recut
from benchmarks.tables import tables

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
BAD_INPUT = 2
LEAST_WIDTH = 120


def leave(why: str) -> NoReturn:
    print(f"benchmarks.gold: {why}", file=sys.stderr)
    sys.exit(BAD_INPUT)


def labels(file: Path) -> list[dict[str, Any]]:
    """The labelled streams, one a line."""
    if not file.is_file():
        leave(f"no labels at {file}; name a file of labelled streams: python -m benchmarks.gold GOLD.jsonl")
    found = []
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        try:
            found.append(json.loads(line))
        except ValueError as error:
            leave(f"{file}, line {number} is not JSON ({error}); give one labelled stream a line")
    return found


def scored(corpus: Path) -> bytes:
    """What `assay score` prints for these transcripts, with a store of its own and nobody's settings."""
    if not corpus.is_dir():
        leave(f"no transcripts at {corpus}; give their folder with --corpus, or what assay said of them with --score")
    with tempfile.TemporaryDirectory(prefix="assay-gold-") as home:
        env = {"HOME": home, "PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT / "src")}
        argv = [sys.executable, "-m", "assay", "score", str(corpus.resolve()), "--json", "--store", f"{home}/store.db"]
        done = subprocess.run(argv, env=env, cwd=home, capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        leave(f"`assay score` ended with {done.returncode}:\n{said}")
    return done.stdout


def report(file: Path | None, corpus: Path) -> dict[str, Any]:
    """A report that is there, else a new one."""
    if file is not None and not file.is_file():
        leave(f"no report at {file}; make one: assay score {corpus} --json > {file}")
    try:
        read = json.loads(file.read_bytes() if file else scored(corpus))
    except ValueError as error:
        leave(f"{file or 'what `assay score --json` printed'} is not JSON: {error}")
    if not isinstance(read, dict) or "sessions" not in read:
        leave(f"{file or 'what `assay score --json` printed'} has no sessions; give what `assay score --json` prints")
    return read


def measured(gold: Path, corpus: Path, score: Path | None, as_labelled: bool) -> Findings:
    """Labels, report and transcripts, compared."""
    lines = labels(gold)
    said = recut(lines, corpus) if as_labelled else report(score, corpus)
    read = transcripts(corpus, (line["file"] for line in lines)) if corpus.is_dir() else {}
    judge = said.get("judge") or {}
    is_offline = not as_labelled and judge.get("backend") == "offline"
    has_others = len({line.get("source") for line in lines}) > 2
    matched = match(lines, said["sessions"], read)
    if not (is_offline and has_others and read):
        return findings(matched, judge)
    return findings(matched, judge, read_goals(lines, corpus), read_gaps(lines, corpus))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gold", description=__doc__)
    parser.add_argument("gold", type=Path, nargs="?", default=SHARED / "gold" / "dev.jsonl", help="labelled streams")
    parser.add_argument("--corpus", type=Path, default=SHARED / "corpus", help="the transcripts they are labels of")
    parser.add_argument("--score", type=Path, help="what `assay score CORPUS --json` printed; else it is run")
    parser.add_argument(
        "--as-labelled", action="store_true", help="cut where the labels say: measures the judges alone"
    )
    parser.add_argument("--card", action="store_true", help="print `scores/card.toml`, what `assay judges` tells")
    parser.add_argument("--graded", type=Path, help="labels of runs, as `assay import` keeps them")
    parser.add_argument("--runs", type=Path, help="the folder of these runs; it is scored")
    parser.add_argument("--graded-score", type=Path, help="what `assay score RUNS --json` printed, by any judge")
    parser.add_argument("--json", action="store_true", help="print JSON, and nothing else")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    graded = grade(args) if args.graded else None
    has_people = not graded or args.gold.is_file()
    found = measured(args.gold, args.corpus, args.score, args.as_labelled) if has_people else None
    if args.json:
        people = msgspec.to_builtins(asdict(found)) if found else {}
        runs = {"graded": msgspec.to_builtins(asdict(graded))} if graded else {}
        print(json.dumps(people | runs, indent=2, ensure_ascii=False))
        return
    if args.card and found:
        print_card(found)
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, LEAST_WIDTH)
    if found:
        console.print(f"{args.gold.name}, judged by {found.judge.get('backend', 'nobody named')}", markup=False)
        for one in tables(found):
            console.print(one)
    for one in show_graded(graded) if graded else ():
        console.print(one)


def grade(args: argparse.Namespace) -> GradedFindings:
    """How well a judge agrees with the benchmarks that graded these runs."""
    if not args.runs and not args.graded_score:
        leave("--graded needs the runs: --runs DIR, or --graded-score with what `assay score DIR --json` printed")
    return measure_graded(labels(args.graded), report(args.graded_score, args.runs or Path()))


if __name__ == "__main__":
    main()
