"""Writes a synthetic corpus of Claude Code and Codex transcripts: `python -m benchmarks.corpus OUT --mb 500`.

The same seed and size give the same bytes. Proportions of records and sizes of lines follow what was
counted in real files; every word is made up. `manifest.json` says what the corpus holds.
"""

import argparse
import re
import time
from collections import deque
from pathlib import Path
from random import Random

import orjson

from benchmarks.claude import Counts, Session, World
from benchmarks.claude_tools import GIANT, Tally
from benchmarks.codex import Rollout
from benchmarks.text import Pool

MB = 1_000_000
CODEX_SHARE = 0.15
COPIED_SHARE = 0.07
LONG_FILE = 24 * MB  # one such file is needed to measure what an append costs


class Claude:
    """Fills `projects/` with sessions, their sub-agents and copies of earlier records."""

    def __init__(self, root: Path, world: World) -> None:
        self.root, self.world = root, world
        self.projects = [f"/home/dev/{world.pool.words(2)}" for _ in range(24)]
        self.recent: deque[tuple[Session, list[bytes]]] = deque(maxlen=6)
        self.written = self.copied = 0

    def fill(self, size: int) -> None:
        if size > 3 * LONG_FILE:
            self.session(LONG_FILE)
        while self.written < size:
            self.session(min(size - self.written, self.world.pool.size(500_000, 1.2, 9 * MB)))

    def session(self, size: int) -> None:
        """A session of about `size` bytes; while copies fall short it resumes an earlier one."""
        before = self.resumed() if self.copied < COPIED_SHARE * self.written else None
        session = Session(self.world, before[0].cwd if before else self.world.rng.choice(self.projects))
        session.open()
        copies = self.copy(before[1], before[0].id, session.id) if before else []
        while session.size < size:
            session.turn()
        folder = self.root / "projects" / re.sub(r"[^0-9A-Za-z]", "-", session.cwd)
        self.save(folder / f"{session.id}.jsonl", [*copies, *session.lines])
        for name, lines in session.agents.items():
            self.save(folder / session.id / "subagents" / f"agent-{name}.jsonl", lines)
        self.recent.append((session, session.lines))

    def resumed(self) -> tuple[Session, list[bytes]] | None:
        return self.world.rng.choice(self.recent) if self.recent else None

    def copy(self, lines: list[bytes], old: str, new: str) -> list[bytes]:
        """The head of an earlier session under a new session id; message ids and uuids stay."""
        share = self.world.rng.choice((0.3, 0.6, 1.0))
        kept = [line for line in lines[: int(len(lines) * share)] if len(line) < GIANT]
        copies = [line.replace(old.encode(), new.encode()) for line in kept]
        size = sum(len(line) + 1 for line in copies)
        self.copied += size
        self.world.tally.written += size
        return copies

    def save(self, path: Path, lines: list[bytes]) -> None:
        self.written += save(path, lines)


def fill_codex(root: Path, world: World, size: int) -> int:
    """Fills `sessions/`; one thread in twenty is a fork that begins with its parent's history."""
    written = 0
    parent: Rollout | None = None
    while written < size:
        rollout = Rollout(world, f"/home/dev/{world.pool.words(2)}")
        forked = parent if world.rng.random() < 0.05 else None
        rollout.open(forked_from=forked.id if forked else "")
        copies = forked.lines if forked else []
        if forked:
            rollout.total = dict(forked.total)
        goal = min(size - written, world.pool.size(450_000, 1.0, 8 * MB))
        while rollout.size < goal:
            rollout.turn()
        written += save(root / "sessions" / rollout.path, [rollout.lines[0], *copies, *rollout.lines[1:]])
        parent = rollout
    return written


def save(path: Path, lines: list[bytes]) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = b"\n".join(lines) + b"\n"
    path.write_bytes(text)
    return len(text)


def build(out: Path, mb: float, seed: int) -> dict[str, object]:
    """Write the corpus below `out` and say what is in it."""
    rng = Random(seed)
    world = World(rng=rng, pool=Pool(rng), tally=Tally(), counts=Counts())
    codex = fill_codex(out / "codex", world, int(mb * MB * CODEX_SHARE))
    claude = Claude(out / "claude", world)
    claude.fill(int(mb * MB * (1 - CODEX_SHARE)))
    kinds = world.counts.kinds
    manifest: dict[str, object] = {
        "mb": mb, "seed": seed, "claude_bytes": claude.written, "codex_bytes": codex,
        "copied_bytes": claude.copied, "claude_output_tokens": world.counts.output_tokens,
        "codex_output_tokens": world.counts.codex_output_tokens, "records_without_copies": dict(kinds.most_common()),
    }  # fmt: skip
    (out / "manifest.json").write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2))
    return manifest


def describe(root: Path) -> str:
    """Files, lines and the distribution of line lengths."""
    files = sorted(root.rglob("*.jsonl"))
    sizes = sorted(len(line) for file in files for line in file.read_bytes().splitlines())
    total = sum(sizes)
    points = [sizes[min(len(sizes) - 1, int(len(sizes) * at))] for at in (0.1, 0.5, 0.9, 0.99)]
    large = [sum(size for size in sizes if size >= floor) / total for floor in (16_000, GIANT)]
    return (
        f"{total / MB:.1f} MB, {len(files)} files, {len(sizes):,} lines; p10/p50/p90/p99/max = "
        f"{' / '.join(f'{n:,}' for n in [*points, sizes[-1]])} B; "
        f"{large[0]:.0%} of bytes in lines >= 16 KB, {large[1]:.0%} in lines >= 1 MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--mb", type=float, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--describe", action="store_true", help="measure the lines afterwards")
    args = parser.parse_args()
    if args.out.exists() and any(args.out.iterdir()):
        parser.error(f"{args.out} is not empty; name a new folder")
    began = time.perf_counter()
    manifest = build(args.out, args.mb, args.seed)
    print(orjson.dumps(manifest, option=orjson.OPT_INDENT_2).decode())
    print(f"written in {time.perf_counter() - began:.1f} s")
    if args.describe:
        print(describe(args.out))


if __name__ == "__main__":
    main()
