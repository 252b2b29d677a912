"""A command must end with a certain exit code and, where proof is asked for, say so itself at its very end."""

import re

from assay.evals import checks

LOADS = re.compile(
    r"(?:python|pypy)[\d.]*|py\.?test|tox|nox|uv|poetry|node|nodejs|deno|bun|npm|npx|yarn|pnpm|jest|vitest|mocha|tsx?-node"
    r"|ruby|rspec|rake|bundle|perl|prove|php|phpunit|java|gradlew?|mvnw?|go|cargo|dotnet|lua|Rscript|julia|swift|elixir|mix"
)
"""Programs into which code under test is loaded: it can end them early, with exit code 0."""
ASKS = (
    "{0} may be ended early, with exit code 0, by the code it loads; write proof = true and print the word from "
    'standard input last, or proof = false where it loads nothing of the workspace; for pytest there is kind = "pytest"'
)
UNPROVEN = "{0} has no proof: code of the workspace that it loads can end it early and pass"


class Spec(checks.Spec, frozen=True):
    run: str
    """A shell line; its folder is the workspace, the task's check files lie in `checks/`."""
    expect_exit: int = 0
    timeout_s: float = 300.0
    proof: bool | None = None
    """Whether its last line must be the word from its standard input; to be said where code is loaded."""
    keep: tuple[str, ...] = ()
    """Names of files that steer programs and stay, though the agent added them."""

    def __post_init__(self) -> None:
        if self.proof is None and (name := find_loader(self.run)):
            raise ValueError(ASKS.format(name))


def check(spec: Spec, context: checks.CheckContext) -> checks.Finding:
    ran = context.run(spec.run, spec.timeout_s, spec.keep)
    if (found := checks.judge_unfinished(ran, spec.timeout_s)) is not None:
        return found
    said = f"exit {ran.code}" + (f": {ran.output}" if ran.output else "")
    is_proven = ran.proof is not None or not spec.proof
    why = "" if is_proven else "it did not come to its end, for it did not print its word"
    passed = is_proven and ran.code == spec.expect_exit
    return checks.Finding(passed=passed, detail=checks.join_phrases(checks.describe_aside(ran.aside), why, said))


def explain_caution(spec: Spec) -> str:
    """What a person who reads the task should know of this check."""
    return UNPROVEN.format(find_loader(spec.run)) if not spec.proof and find_loader(spec.run) else ""


def find_loader(line: str) -> str:
    """The first program of a line that loads code."""
    words = [word.rpartition("/")[2] for word in re.split(r"[\s;|&()<>'\"`$]+", line)]
    return next((word for word in words if LOADS.fullmatch(word)), "")
