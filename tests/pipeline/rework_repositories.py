"""Scripted repositories, made by real git, and sessions as their transcripts would tell of them."""

import os
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.git.repo import open_repo
from assay.sessions.rework.history import DAY, FollowResult, LineTarget, ReworkRules
from assay.sessions.rework.survival import follow_lines
from assay.types import FileLines
from assay.types.lines import hash_lines

BEGAN = 1_767_258_000.0  # 1 January 2026, 09:00 UTC
HOUR = 3600.0
PEOPLE = {
    "ada": "Ada <ada@example.com>",
    "bob": "Bob <bob@example.com>",
    "renovate": "renovate[bot] <29139614+renovate[bot]@users.noreply.github.com>",
}


def at(day: float) -> float:
    """So many days into the story, in seconds."""
    return BEGAN + day * DAY


def code(count: int, seed: int = 1) -> list[str]:
    """Lines that nobody takes for each other; those of an even and of an odd seed share no letter."""
    dice = random.Random(seed)
    consonants, vowels, signs = (("bdfgkm", "ae", "=(,)"), ("lnprst", "io", "+[;]"))[seed % 2]

    def word() -> str:
        return "".join(dice.choice(consonants) + dice.choice(vowels) for _ in range(dice.randint(3, 6)))

    return [f"{word()} {signs[0]} {word()}{signs[1]}{word()}{signs[2]} {word()}{signs[3]}" for _ in range(count)]


def text(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


class Repository:
    """A repository in which time is what the story says."""

    def __init__(self, path: Path, *, is_new: bool = True) -> None:
        self.path = path
        if not is_new:
            return
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")
        self.commit(-30, {"README.md": "A till.\n", "till.py": text(code(40, seed=99))}, "Begin")

    def git(self, *words: str, day: float = 0.0, who: str = "ada", **more: Any) -> str:
        """Run git at a day of the story."""
        stamp = f"{int(at(day))} +0000"
        name, _, email = PEOPLE[who].rpartition(" ")
        kept = {key: os.environ[key] for key in ("PATH",) if key in os.environ}
        env = kept | {
            "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "LC_ALL": "C",
            "GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email.strip("<>"), "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": email.strip("<>"), "GIT_COMMITTER_DATE": stamp,
            "GIT_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no",
        }  # fmt: skip
        check = more.pop("check", True)
        done = subprocess.run(["git", *words], cwd=self.path, env=env, capture_output=True, check=False, **more)
        assert not check or done.returncode == 0, done.stderr.decode("utf-8", "replace")
        return os.fsdecode(done.stdout).strip()

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Files as they shall be; `None` for gone."""
        for name, content in files.items():
            file = self.path / os.fsdecode(name)
            if content is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def commit(
        self, day: float, files: Mapping[str, str | bytes | None] | None = None, message: str = "Work", who: str = "ada"
    ) -> str:
        """Commit all there is, with these files changed; its id."""
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message, day=day, who=who)
        return self.git("rev-parse", "HEAD")

    def change(self, day: float, path: str, old: Sequence[str], new: Sequence[str], **more: Any) -> str:
        """Replace lines of a file, the first such block, and commit."""
        before = (self.path / path).read_text()
        assert text(old) in before
        return self.commit(day, {path: before.replace(text(old), text(new), 1)}, **more)

    def branch(self, name: str, start: str = "HEAD") -> None:
        self.git("checkout", "-q", "-b", name, start)

    def switch(self, name: str) -> None:
        self.git("checkout", "-q", name)


def session(lines: Mapping[str, Sequence[str]], id: str = "one", day: float = 0.0, **more: Any) -> LineTarget:
    """A session that wrote these lines by file, in the two hours before the day's commit."""
    written = tuple(FileLines(path=path, lines=hash_lines(some)) for path, some in lines.items())
    times = {"started": at(day) - 2 * HOUR, "ended": at(day) - 60.0}
    return LineTarget(id=id, written=written, **(times | more))


def followed(
    repository: Repository, *targets: LineTarget, as_of: float = 60.0, rules: ReworkRules | None = None
) -> dict[str, FollowResult]:
    """What became of sessions' lines by a day of the story."""
    repo = open_repo(repository.path)
    assert repo
    with repo:
        since = min(target.started for target in targets) - HOUR
        return follow_lines(targets, repo.read_changes(since, at(as_of)), repo, rules or ReworkRules(), at(as_of))


def states(repository: Repository, *targets: LineTarget, **more: Any) -> list[str]:
    found = followed(repository, *targets, **more)
    return [found[target.id].reworked.state for target in targets]
