"""Any program: the prompt arrives on its standard input and as `ASSAY_PROMPT`, its folder is the workspace.

It may leave `transcript.jsonl` (in the form of any source) and `cost.json` in `$ASSAY_RESULT_DIR`, which are its own
claims. However it ends, that is its doing: a program that calls a service tries again by itself.
"""

from collections.abc import Iterable, Iterator, Mapping

from assay.evals import runners

PROGRAM = ""
HOSTS = ()
ADDRESS = ()
TRANSCRIPTS = ("result", "*.jsonl")


def build_launch(given: runners.AgentTask) -> runners.Launch:
    env = {"ASSAY_PROMPT": given.prompt, "ASSAY_RESULT_DIR": given.result}
    if given.config.model:
        env["ASSAY_MODEL"] = given.config.model
    return runners.Launch(
        argv=(given.program, *given.config.command[1:], *given.config.args), env=env, stdin=given.prompt
    )  # fmt: skip


def explain_trouble(left: runners.AgentOutput) -> str:
    return ""


def find_instructions(records: Iterable[Mapping[str, object]]) -> Iterator[runners.Instruction]:
    return iter(())
