"""The agent may have changed nothing but certain paths."""

import re

from assay.evals import checks


class Spec(checks.Spec, frozen=True):
    paths: tuple[str, ...]
    """Patterns: `*` within a folder, `**` through folders; a path that ends in `/` is all below it."""


def check(spec: Spec, context: checks.CheckContext) -> checks.Finding:
    allowed = [compile_pattern(path) for path in spec.paths]
    outside = [path for path in context.changed if not any(one.fullmatch(path) for one in allowed)]
    return checks.Finding(passed=not outside, detail=f"changed: {', '.join(outside[:10])}" if outside else "")


def compile_pattern(path: str) -> re.Pattern[str]:
    """A pattern of paths as a regular expression."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", f"{path}**" if path.endswith("/") else path)
    signs = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(signs.get(part) or re.escape(part) for part in parts), re.DOTALL)
