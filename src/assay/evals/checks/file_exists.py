"""A file must be there."""

from assay.evals import checks


class Spec(checks.Spec, frozen=True):
    path: str


def check(spec: Spec, context: checks.CheckContext) -> checks.Finding:
    is_there = context.find_file(spec.path) is not None
    return checks.Finding(passed=is_there, detail="" if is_there else f"no file {spec.path}")
