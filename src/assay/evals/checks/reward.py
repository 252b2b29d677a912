"""The tests of a Harbor task: their script writes a reward; 1 or more is a pass."""

import math

import msgspec

from assay.evals import checks

SCRIPT = "bash /tests/test.sh"


class Spec(checks.Spec, frozen=True):
    timeout_s: float = 600.0


def check(spec: Spec, context: checks.CheckContext) -> checks.Finding:
    ran = context.run(SCRIPT, spec.timeout_s, checks.STEERING_FILES)  # its tests lie elsewhere and don't obey those
    if ran.ended in ("lost", "missing", "stopped"):
        return checks.Finding(passed=None, detail="the tests could not be run")
    if ran.is_tampered:
        return checks.Finding(passed=False, detail="the tests were changed while they ran")
    rewards = parse_rewards(ran.reward)
    if not rewards:
        return checks.Finding(passed=False, detail=f"no reward ({ran.ended}, exit {ran.code}): {ran.output}")
    said = ", ".join(f"{name} {value:g}" for name, value in rewards.items())
    return checks.Finding(passed=all(value >= 1 for value in rewards.values()), detail=said)


def parse_rewards(text: str) -> dict[str, float]:
    """The numbers of a reward file, which holds one, or an object of several; nothing where it is neither."""
    try:
        found = msgspec.json.decode(text.strip() or "null")
    except msgspec.DecodeError:
        return {}
    named = found if isinstance(found, dict) else {"reward": found}
    fits = all(isinstance(one, int | float) and math.isfinite(one) for one in named.values())
    return {str(name): float(value) for name, value in named.items()} if fits else {}
