"""Every test below `checks/` must pass, and pytest must come to its end; the workspace has no say in how it runs."""

import shlex
from pathlib import Path

import msgspec
from msgspec import Struct

from assay.evals import scene, steering, tester


class Spec(scene.Spec, frozen=True):
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


class Told(Struct, frozen=True, kw_only=True):
    """What `evals.tester` says at its end."""

    missing: bool = False
    code: int = 1
    collected: int = 0
    passed: int = 0
    wrong: tuple[str, ...] = ()


def check(spec: Spec, seen: scene.Scene) -> scene.Finding:
    program = Path(tester.__file__).read_text("utf-8")
    words = [spec.python, "-I", "-c", program]
    line = f'exec {shlex.join(words)} "$ASSAY_CHECKS" {shlex.join(spec.files)}'
    ran = seen.run(line, spec.timeout_s, spec.keep)
    if (found := scene.not_run(ran, spec.timeout_s)) is not None:
        return found
    aside = steering.told(ran.aside)
    if ran.proof is None:
        said = f"the tests did not come to their end (exit {ran.code}): {ran.output}"
        return scene.Finding(passed=False, detail=scene.joined(aside, said))
    try:
        told = msgspec.json.decode(ran.proof, type=Told)
    except msgspec.DecodeError:
        return scene.Finding(passed=False, detail="what the tests came to can't be read")
    if told.missing:
        return scene.Finding(passed=None, detail=f"pytest is not installed for {spec.python}")
    is_passed = told.code == 0 and told.collected == told.passed > 0 and not told.wrong
    said = f"{told.passed} of {told.collected} tests passed"
    return scene.Finding(passed=is_passed, detail=scene.joined(aside, said, *told.wrong))
