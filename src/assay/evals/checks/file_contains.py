"""A file must hold a text."""

from assay.evals import scene


class Spec(scene.Spec, frozen=True):
    path: str
    text: str


def check(spec: Spec, seen: scene.Scene) -> scene.Finding:
    file = seen.file(spec.path)
    if file is None:
        return scene.Finding(passed=False, detail=f"no file {spec.path}")
    holds = spec.text in file.read_text("utf-8", "replace")
    return scene.Finding(passed=holds, detail="" if holds else f"{spec.path} does not hold {spec.text!r}")
