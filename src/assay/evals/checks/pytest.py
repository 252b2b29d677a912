"""Every test below `checks/` must pass, and pytest must come to its end; the workspace has no say in how it runs."""

import shlex
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.evals import checks
from assay.evals.sandbox import pytest_inside


class Spec(checks.Spec, frozen=True):
    files: tuple[str, ...] = (".",)
    """Test files or folders, below `checks/`."""
    python: str = "python3"
    """What pytest is installed for."""
    timeout_s: float = 300.0
    keep: tuple[str, ...] = ()
    """Names of files that steer programs and stay, though the agent added them."""

    def __post_init__(self) -> None:
        for file in self.files:
            if file.startswith(("/", "-")) or ".." in file.split("/"):
                raise ValueError(f"files lie below checks/, {file!r} does not")


class TestCounts(Struct, frozen=True, kw_only=True):
    """What `pytest_inside` says at its end."""

    missing: bool = False
    code: int = 1
    collected: int = 0
    passed: int = 0
    wrong: tuple[str, ...] = ()


def check(spec: Spec, context: checks.CheckContext) -> checks.Finding:
    program = Path(pytest_inside.__file__).read_text("utf-8")
    words = [spec.python, "-I", "-c", program]
    line = f'exec {shlex.join(words)} "$ASSAY_CHECKS" {shlex.join(spec.files)}'
    ran = context.run(line, spec.timeout_s, spec.keep)
    if (found := checks.judge_unfinished(ran, spec.timeout_s)) is not None:
        return found
    aside = checks.describe_aside(ran.aside)
    if ran.proof is None:
        said = f"the tests did not come to their end (exit {ran.code}): {ran.output}"
        return checks.Finding(passed=False, detail=checks.join_phrases(aside, said))
    try:
        told = msgspec.json.decode(ran.proof, type=TestCounts)
    except msgspec.DecodeError:
        return checks.Finding(passed=False, detail="what the tests came to can't be read")
    if told.missing:
        return checks.Finding(passed=None, detail=f"pytest is not installed for {spec.python}")
    is_passed = told.code == 0 and told.collected == told.passed > 0 and not told.wrong
    said = f"{told.passed} of {told.collected} tests passed"
    return checks.Finding(passed=is_passed, detail=checks.join_phrases(aside, said, *told.wrong))
