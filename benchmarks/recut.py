"""Sessions cut where the labels say, judged by assay: what the judges alone are worth."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from assay.pipeline.judgement import JudgeTroubles, find_judge, judge_turns
from assay.pipeline.read_file import read_file
from assay.sessions.streams import FilePiece, join_files
from assay.types import Stream, Turn
from benchmarks.labelled import when

JUDGE = "offline"


def streams(corpus: Path) -> dict[str, Stream]:
    """The streams of a folder by the names of their files."""
    pieces: dict[tuple[str, str], list[FilePiece]] = {}
    for file in sorted(corpus.rglob("*.jsonl")):
        read = read_file(file, None)
        if part := read.state.part:
            pieces.setdefault((part.agent, part.stream), []).append((str(file), part, read.turns))
    joined = [join_files(files) for files in pieces.values()]
    return {Path(file).name: stream for stream in joined for file in stream.files}


def recut(lines: list[dict[str, Any]], corpus: Path) -> dict[str, Any]:
    """A report like `assay score --json`'s, of labelled goals."""
    found = streams(corpus)
    by = find_judge(JUDGE)
    sessions = []
    for line in lines:
        if line["file"] in found:
            for turns, after in goals(line, found[line["file"]]):
                said = judge_turns(by, turns, after.prompt if after else None, JudgeTroubles())
                sessions.append(msgspec.to_builtins(said))
    return {"judge": {"backend": JUDGE, "versions": by.versions()}, "sessions": sessions}


def goals(line: dict[str, Any], stream: Stream) -> Iterator[tuple[list[Turn], Turn | None]]:
    """The turns of each labelled goal, and the turn after them."""
    asked = [(when(turn.prompt.at), turn) for turn in stream.turns if turn.prompt]
    starts = sorted(when(goal["at"]) for goal in line["goals"])
    for goal in line["goals"]:
        first = when(goal["at"])
        later = [start for start in starts if start > first]
        last = when(goal["ends_at"]) if goal.get("ends_at") else asked[-1][0]
        until = min([last, *(start - 0.001 for start in later)])
        turns = [turn for at, turn in asked if first <= at <= until]
        after = next((turn for at, turn in asked if at > until), None)
        if turns:
            yield turns, after
