"""A file must be there."""

from assay.evals import scene


class Spec(scene.Spec, frozen=True):
    path: str


def check(spec: Spec, seen: scene.Scene) -> scene.Finding:
    is_there = seen.file(spec.path) is not None
    return scene.Finding(passed=is_there, detail="" if is_there else f"no file {spec.path}")
