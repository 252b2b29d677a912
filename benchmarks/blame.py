"""An independent tracker: who wrote the lines that stood on the main branch at some time, as `git blame` tells it.

Knows nothing of assay. Blame's notion is narrow: a line that was edited, moved or re-wrapped belongs to who did that.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.fast_import import git

FEWEST = 4
WAYS = {"blame -w": ("-w",), "blame -w -M -C": ("-w", "-M", "-C")}


class Version(NamedTuple):
    """A file as some commit left it."""

    blob: str
    commit: str


def plain(text: str) -> str:
    """A line without white space; empty when fewer than 4 letters or digits are in it."""
    return "".join(text.split()) if sum(map(str.isalnum, text)) >= FEWEST else ""


class Blame:
    """The main branch of a repository, commit by commit along first parents."""

    def __init__(self, repo: Path) -> None:
        self.repo = repo
        self.times: list[int] = []
        self.trees: list[tuple[str, dict[str, Version]]] = []
        self.known: dict[tuple[str, str, Version], list[tuple[str, str]]] = {}
        options = ("--first-parent", "--reverse", "-m", "--raw", "--no-renames", "--no-abbrev", "--format=%x00%H %ct")
        tree: dict[str, Version] = {}
        for part in git(repo, "log", *options, "main").split("\0")[1:]:
            head, *raw = part.strip().split("\n")
            commit, when = head.split()
            tree = dict(tree)
            for row in filter(None, raw):
                fields, path = row.split("\t", 1)
                blob = fields.split()[3]
                tree.pop(path, None)
                if set(blob) != {"0"}:
                    tree[path] = Version(blob, commit)
            self.times.append(int(when))
            self.trees.append((commit, tree))

    def tree(self, when: float) -> tuple[str, dict[str, Version]]:
        """The last commit of the main branch until then, and its files."""
        return self.trees[bisect_right(self.times, when) - 1]

    def left(self, when: float, commits: Collection[str], texts: Mapping[str, int], way: str) -> int:
        """How many of these lines still belong to these commits."""
        commit, files = self.tree(when)
        found: Counter[str] = Counter()
        for path, version in files.items():
            if is_code(path):
                found.update(text for by, text in self.lines(commit, path, version, way) if by in commits)
        return sum(min(count, found[text]) for text, count in texts.items())

    def lines(self, commit: str, path: str, version: Version, way: str) -> list[tuple[str, str]]:
        """For each line of a file, its commit and its plain text."""
        key = (way, path, version)
        if key not in self.known:
            said = git(self.repo, "blame", *WAYS[way], "--line-porcelain", commit, "--", path)
            owner, lines = "", []
            for row in said.split("\n"):
                if row.startswith("\t"):
                    lines.append((owner, plain(row)))
                    owner = ""
                elif not owner:
                    owner = row.split(" ", 1)[0]
            self.known[key] = lines
        return self.known[key]


def is_code(path: str) -> bool:
    """Of the paths that `benchmarks.history` makes: code and tests."""
    return path.startswith(("src/", "tests/")) and not path.endswith("_pb2.py")
