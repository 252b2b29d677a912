"""Nothing may lie at a path, not even a link that leads nowhere."""

import os

from assay.evals import checks


class Spec(checks.Spec, frozen=True):
    path: str


def check(spec: Spec, context: checks.CheckContext) -> checks.Finding:
    is_there = os.path.lexists(context.workspace / spec.path)
    return checks.Finding(passed=not is_there, detail=f"{spec.path} is there" if is_there else "")
