"""A file must match a regular expression somewhere; `^` and `$` are ends of lines."""

import re

from assay.evals import checks

MOST = 1 << 20
"""Characters that are looked at: a pattern may be slow, and the file is the agent's."""


class Spec(checks.Spec, frozen=True):
    path: str
    pattern: str

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"{self.pattern!r} is no regular expression: {error}") from None


def check(spec: Spec, context: checks.CheckContext) -> checks.Finding:
    file = context.find_file(spec.path)
    if file is None:
        return checks.Finding(passed=False, detail=f"no file {spec.path}")
    with file.open(encoding="utf-8", errors="replace") as opened:
        found = re.search(spec.pattern, opened.read(MOST), re.MULTILINE)
    return checks.Finding(
        passed=found is not None, detail="" if found else f"{spec.path} does not match {spec.pattern!r}"
    )
