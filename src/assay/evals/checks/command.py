"""A command must end with a certain exit code; what it prints is shown and decides nothing."""

from assay.evals import scene


class Spec(scene.Spec, frozen=True):
    run: str
    """A shell line; its folder is the workspace, the task's check files lie in `checks/`."""
    expect_exit: int = 0
    timeout_s: float = 300.0


def check(spec: Spec, seen: scene.Scene) -> scene.Finding:
    ran = seen.run(spec.run, spec.timeout_s)
    if ran.ended in ("lost", "missing", "stopped"):
        return scene.Finding(passed=None, detail="the command could not be run")
    if ran.is_tampered:
        return scene.Finding(passed=False, detail="the check files were changed while the command ran")
    if ran.ended != "exit":
        why = {"timeout": f"ran longer than {spec.timeout_s:g} s", "disk": "wrote more than the disk limit"}
        return scene.Finding(passed=False, detail=why.get(ran.ended, ran.ended))
    said = f"exit {ran.code}" + (f": {ran.output}" if ran.output else "")
    return scene.Finding(passed=ran.code == spec.expect_exit, detail=said)
