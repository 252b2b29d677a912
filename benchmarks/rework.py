"""Rework beside `git blame`, and what following lines costs: `python -m benchmarks.rework [agree|cost]`.

Makes its histories up (`benchmarks.history`), so there is no repository to have; needs git. Asserts nothing.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from assay.git.repo import open_repo
from assay.sessions.rework.history import ReworkRules
from assay.sessions.rework.survival import follow_lines
from assay.types import ReworkResult
from benchmarks import rework_cost
from benchmarks.blame import WAYS
from benchmarks.chronicle import History
from benchmarks.history import HOUR, make
from benchmarks.told import target
from benchmarks.tracking import STATES, Agreement, Case, agreement, cases, disagreements, expected, reasons

SEEDS = (1, 2, 3)
COMMITS = 600
Found = tuple[list[Case], Counter[tuple[str, str]]]


def followed(history: History) -> dict[str, ReworkResult]:
    """What assay says of each session, straight from git and without a store."""
    targets = [target(history, session) for session in history.sessions]
    repo = open_repo(history.repo)
    assert repo
    with repo:
        changes = repo.read_changes(min(one.started for one in targets) - HOUR, history.ended, ())
        found = follow_lines(targets, changes, repo, ReworkRules(), history.ended)
    return {session: one.reworked for session, one in found.items()}


def measured(repo: Path, commits: int, seed: int) -> Found:
    """All sessions of a history with all opinions, and how its states compare."""
    history = make(repo, commits, seed)
    said = followed(history)
    states: Counter[tuple[str, str]] = Counter(
        (said[one.id].state, expected(one, history.ended)) for one in history.sessions
    )
    return cases(history, said), states


def shown(name: str, found: Agreement) -> Iterator[str]:
    r = "-" if found.r is None else f"{found.r:.3f}"
    yield f"{name}: n {found.n}, r {r}, median difference {found.median_difference:+.3f}, within 0.1: {found.within}"
    one, other = found.ours_only, found.other_only
    yield f"  at 50 %: both {found.both}, assay only {one}, other only {other}, neither {found.neither}"


def why(found: Sequence[Case], way: str) -> Iterator[str]:
    """The disagreements, each with its reasons, and their sum."""
    total: Counter[str] = Counter()
    apart = disagreements(found, way)
    for case in apart:
        said = reasons(case, way)
        total.update(said)
        words = ", ".join(f"{count} {name}" for name, count in said.items()) or "a line or two"
        yield (
            f"  {case.session.id[:8]} ({case.session.landing}, {case.lines} lines): gone {case.gone:.2f} by assay, "
            f"{case.blamed(way):.2f} by blame, {case.truly:.2f} in truth: {words}"
        )
    told = ", ".join(f"{count:,} {name}" for name, count in total.most_common()) or "none"
    yield f"  {len(apart)} sessions lie apart by more than 0.1 or on two sides of 50 %; their lines: {told}"


def table(states: Counter[tuple[str, str]]) -> Iterator[str]:
    yield "states, assay's (down) by the history's own account (across):"
    yield "  " + " ".join(f"{name:>11}" for name in ("", *STATES))
    for row in STATES:
        yield "  " + " ".join([f"{row:>11}", *(f"{states[row, column]:>11}" for column in STATES)])


def agree(commits: int, seeds: Sequence[int], out: Path | None) -> None:
    """Measure agreement over several histories and print it."""
    found: list[Case] = []
    states: Counter[tuple[str, str]] = Counter()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            more, these = measured(Path(folder) / "repo", commits, seed)
        found += more
        states += these
    print(f"{len(seeds)} histories of {commits} commits, {len(found)} sessions of 10 lines and more with 14 full days")
    figures = {"the truth": agreement([(case.gone, case.truly) for case in found])}
    figures |= {way: agreement([(case.gone, case.blamed(way)) for case in found]) for way in WAYS}
    for name, one in figures.items():
        print("\n".join(shown(name, one)))
        if name in WAYS:
            print(
                "\n".join(shown("  edited and moved lines set aside", agreement([case.aside(name) for case in found])))
            )
            print("\n".join(why(found, name)))
    off = [case for case in found if not case.is_right]
    print(f"assay is off from the truth in {len(off)} sessions")
    for case in off:
        print(
            f"  {case.session.id[:8]} ({case.session.landing}): {case.ours.gone} of {case.ours.lines}", dict(case.fates)
        )
    print("\n".join(table(states)))
    if out:
        out.write_text(json.dumps({name: asdict(one) for name, one in figures.items()}, indent=2))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=("all", "agree", "cost"), default="all")
    parser.add_argument("--commits", type=int, default=COMMITS, help="of each history for the agreement")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--json", type=Path, default=None, help="the agreement's figures, for machines")
    rework_cost.arguments(parser)
    args = parser.parse_args()
    if args.what != "cost":
        agree(args.commits, args.seeds, args.json)
    if args.what != "agree":
        rework_cost.measure(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
