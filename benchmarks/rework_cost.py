"""What following lines costs: a large repository and many sessions, each step a run of the whole program.

All runs share a store and come in order, so each can be set beside the one that differs in one thing only. A small
script stands in for git on the PATH: it passes everything on, and notes what was asked and how many bytes came back.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fast_import import git
from benchmarks.history import DAY, make
from benchmarks.measure import Sample, run
from benchmarks.told import transcript

ROOT = Path(__file__).parents[1]
AS_OF = "2026-01-01"  # long after the last commit: every window is over
CHECKOUT = "/home/ada/mill"
LATER = {"recent": 0.975, "old": 0.5}
"""Sessions that are held back, by how far into the history they lie."""
COUNTER = """#!/bin/bash
asked=other
for word in "$@"; do
  case "$word" in
    rev-list|rev-parse|cat-file|diff-tree|log|ls-tree|for-each-ref|symbolic-ref) asked="$word"; break;;
  esac
done
"{git}" "$@" | tee >(echo "$asked $(wc -c)" >> "{log}")
exit "${{PIPESTATUS[0]}}"
"""
HEAD = ("run", "wall s", "CPU s", "RSS MB", "git calls", "diffs", "MB from git")


@dataclass(frozen=True)
class Step:
    """A run, and what it asked of git."""

    title: str
    sample: Sample
    calls: Counter[str]
    piped: Counter[str]
    """Bytes that came back, by what was asked."""
    states: Counter[str]

    @property
    def mb(self) -> float:
        return self.piped.total() / 1e6

    def cells(self) -> list[str]:
        one, diffs = self.sample, self.calls["diff-tree"] + self.calls["log"]
        times = f"{one.wall_s:.2f}", f"{one.cpu_s:.2f}", f"{one.rss_mb:.0f}"
        return [self.title, *times, str(self.calls.total()), str(diffs), f"{self.mb:.2f}"]


class Bench:
    """A folder with a repository, transcripts and a store."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.repo, self.transcripts, self.later = place / "repo", place / "transcripts", place / "later"
        self.home, self.log = place / "home", place / "git.log"
        self.home.mkdir(parents=True, exist_ok=True)
        self.steps: list[Step] = []

    def fill(self, commits: int, sessions: int, days: float) -> None:
        """Make the history and the transcripts, unless they are there; some sessions are held back."""
        if self.transcripts.exists():
            return
        began = time.perf_counter()
        history = make(self.repo, commits, 1, days, sessions)
        print(f"history made in {time.perf_counter() - began:.0f} s", file=sys.stderr)
        landed = [one for one in history.sessions if one.landed and len(one.counted) >= 20]
        held = {landed[int(len(landed) * share)].id: name for name, share in LATER.items()}
        for number, session in enumerate(history.sessions):
            name = held.get(session.id)
            folder = self.later / name if name else self.transcripts / f"{number % 97:02}"
            folder.mkdir(parents=True, exist_ok=True)
            transcript(history, session, folder, CHECKOUT)

    def restart(self) -> None:
        """Forget what earlier runs left."""
        for file in [*self.place.glob("store.db*"), *self.transcripts.glob("*.jsonl")]:
            file.unlink()

    def score(self, title: str, *words: str) -> Step:
        """Run `assay score` with these words, and count."""
        self.log.write_text("")
        counter = self.home / "git"
        counter.write_text(COUNTER.format(git=shutil.which("git"), log=self.log))
        counter.chmod(0o755)
        path = os.pathsep.join([str(self.home), os.environ["PATH"]])
        env = {"HOME": str(self.home), "PATH": path, "PYTHONPATH": str(ROOT / "src")}
        argv = [sys.executable, "-m", "assay", "score", str(self.transcripts), "--store", str(self.place / "store.db")]
        out = self.place / "out.json"
        sample = run([*argv, "--json", "--as-of", AS_OF, *words], env, self.place, out)
        if sample.code:
            raise RuntimeError(f"{title}: {sample.complaint}")
        calls, piped = Counter[str](), Counter[str]()
        for line in self.log.read_text().splitlines():
            asked, size = line.split()
            calls[asked] += 1
            piped[asked] += int(size)
        report = json.loads(out.read_bytes())
        states = Counter(one["facts"]["rework"]["state"] for one in report["sessions"])
        self.steps.append(Step(title, sample, calls, piped, states))
        return self.steps[-1]

    def add(self, which: str) -> None:
        for file in (self.later / which).iterdir():
            shutil.copy2(file, self.transcripts / file.name)

    def go_on(self) -> None:
        """One more commit on the main branch, of a file that no session knows; taken back by `turn_back`."""
        tip = int(git(self.repo, "log", "-1", "--format=%ct", "main"))
        when = f"{int(tip + DAY)} +0000"
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.test")
        git(self.repo, "tag", "-f", "before")
        (self.repo / "later.py").write_text("print('later')\n")
        git(self.repo, "add", "later.py")
        git(self.repo, *who, "commit", "-q", "-m", "Go on", GIT_AUTHOR_DATE=when, GIT_COMMITTER_DATE=when)

    def turn_back(self) -> None:
        git(self.repo, "reset", "-q", "--hard", "before")


def table(steps: list[Step]) -> str:
    lines = [list(HEAD), *(step.cells() for step in steps)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEAD))]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    )


def ratios(idle: Step, first: Step, others: list[Step]) -> list[str]:
    """What each run costs beyond one without a repository, beside the first pass."""
    whole = first.sample.cpu_s - idle.sample.cpu_s
    lines = [f"first pass, less a run without a repository: {whole:.1f} s CPU, {first.mb:,.1f} MB from git"]
    for step in others:
        more = step.sample.cpu_s - idle.sample.cpu_s
        asked = ", ".join(f"{count} {name}" for name, count in step.calls.most_common())
        parts = f"{more / whole:.2%} of the first pass, {step.mb / first.mb:.2%} of its bytes"
        lines.append(f"{step.title}: {more:+.2f} s CPU, {parts}; {asked}")
    return lines


def measured(bench: Bench) -> None:
    """All runs, in order."""
    repo = ("--repo", str(bench.repo))
    bench.restart()
    bench.score("no repository, first")
    idle = bench.score("no repository, unchanged")
    first = bench.score("repository, first pass", *repo)
    others = [bench.score("repository, unchanged", *repo)]
    for name in LATER:
        bench.add(name)
        others.append(bench.score(f"one {name} session more", *repo))
    bench.go_on()
    others.append(bench.score("one commit more", *repo))
    bench.turn_back()
    print(table(bench.steps))
    print("\n".join(ratios(idle, first, others)))
    print("states:", ", ".join(f"{count:,} {state}" for state, count in first.states.most_common()))


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dir", type=Path, default=None, help="where the large repository is made and kept")
    parser.add_argument("--large", type=int, default=50_000, help="commits of the large repository")
    parser.add_argument("--sessions", type=int, default=10_000, help="sessions in it")
    parser.add_argument("--days", type=float, default=1000, help="days it takes")


def measure(args: argparse.Namespace) -> None:
    """Make the repository, run all steps and print them side by side."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args.dir or Path(folder))
        bench.fill(args.large, args.sessions, args.days)
        measured(bench)
