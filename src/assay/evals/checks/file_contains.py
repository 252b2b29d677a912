"""A file must hold a text."""

from assay.evals import checks


class Spec(checks.Spec, frozen=True):
    path: str
    text: str


def check(spec: Spec, context: checks.CheckContext) -> checks.Finding:
    file = context.find_file(spec.path)
    if file is None:
        return checks.Finding(passed=False, detail=f"no file {spec.path}")
    holds = spec.text in file.read_text("utf-8", "replace")
    return checks.Finding(passed=holds, detail="" if holds else f"{spec.path} does not hold {spec.text!r}")
