"""The rubric judge: how well a result meets a task's rubric, asked of a model through the backends; best effort."""

from pathlib import Path

RATIONALE = "judge.json"


def rationale(folder: Path) -> str:
    return ""
