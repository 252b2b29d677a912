"""Nothing may lie at a path, not even a link that leads nowhere."""

import os

from assay.evals import scene


class Spec(scene.Spec, frozen=True):
    path: str


def check(spec: Spec, seen: scene.Scene) -> scene.Finding:
    is_there = os.path.lexists(seen.workspace / spec.path)
    return scene.Finding(passed=not is_there, detail=f"{spec.path} is there" if is_there else "")
