"""Sessions that write code in a repository: the transcript that Claude Code keeps of them, and the commit."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests import make
from tests.pipeline.rework_repositories import Repository, at, text


def as_of(day: float) -> str:
    """A day of the story as a person gives it."""
    return datetime.fromtimestamp(at(day), UTC).isoformat()


def records(
    stream: str, cwd: str, files: Mapping[str, Sequence[str]], commit: str = "", undo: str = ""
) -> list[make.Record]:
    """A prompt, a file written for each, and a commit."""
    found = [make.user(f"Build {stream}")]
    for n, (path, lines) in enumerate(files.items()):
        where, content = f"{cwd}/{path}", text(lines)
        found += [
            make.assistant(make.calling(f"w{n}", "Write", file_path=where, content=content), id=f"{stream}m{n}"),
            make.answer(f"w{n}", "File created", make.written(where, content)),
        ]
    for n, (command, said) in enumerate([("git commit -qam till", f"[main {commit[:7]}] till"), (undo, "done")]):
        if (n == 0 and commit) or (n == 1 and undo):
            found += [
                make.assistant(make.calling(f"b{n}", "Bash", command=command), id=f"{stream}c{n}"),
                make.answer(f"b{n}", said, {"stdout": said, "interrupted": False}),
            ]
    return [*found, make.assistant("It is built.", id=f"{stream}end")]


def transcript(folder: Path, stream: str, day: float, **more: Any) -> Path:
    """A session of a few minutes before the day's commit, kept in a file."""
    folder.mkdir(parents=True, exist_ok=True)
    start = at(day) - 600 - make.START.timestamp()
    cwd = more.pop("cwd")
    made = make.stamped(*records(stream, cwd, more.pop("files"), **more), stream=stream, start=start, step=10, cwd=cwd)
    return make.write(folder / f"{stream}.jsonl", *made)


def worked(
    folder: Path, repository: Repository, stream: str, day: float, files: Mapping[str, Sequence[str]], **more: Any
) -> str:
    """A session that wrote these files, and its commit; the id of that."""
    commit = repository.commit(day, {path: text(lines) for path, lines in files.items()}, f"Work of {stream}")
    told = {"cwd": str(repository.path), "commit": commit} | more
    transcript(folder, stream, day, files=files, **told)
    return commit
