"""A JSON file must hold a value at a pointer (RFC 6901)."""

import math

import msgspec

from assay.evals import checks

Json = None | bool | int | float | str | list[object] | dict[str, object]


class Spec(checks.Spec, frozen=True):
    path: str
    pointer: str
    equals: Json

    def __post_init__(self) -> None:
        if self.pointer and not self.pointer.startswith("/"):
            raise ValueError(f"a pointer begins with '/', {self.pointer!r} does not")


def check(spec: Spec, context: checks.CheckContext) -> checks.Finding:
    file = context.find_file(spec.path)
    if file is None:
        return checks.Finding(passed=False, detail=f"no file {spec.path}")
    try:
        found: object = msgspec.json.decode(file.read_bytes())
        for step in spec.pointer.split("/")[1:]:
            found = find_inside(found, step.replace("~1", "/").replace("~0", "~"))
    except msgspec.DecodeError as error:
        return checks.Finding(passed=False, detail=f"{spec.path} is no JSON: {error}")
    except (LookupError, ValueError):
        return checks.Finding(passed=False, detail=f"{spec.path} holds nothing at {spec.pointer}")
    is_equal = is_same(found, spec.equals)
    return checks.Finding(passed=is_equal, detail="" if is_equal else f"{spec.pointer} is {str(found)[:200]}")


def find_inside(value: object, step: str) -> object:
    if isinstance(value, list):
        if not step.isdecimal():
            raise LookupError(step)
        return value[int(step)]
    if isinstance(value, dict):
        return value[step]
    raise LookupError(step)


def is_same(one: object, other: object) -> bool:
    """Whether two JSON values are equal, where `true` is not 1 and 2.0 is 2."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-12)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    return type(one) is type(other) and one == other
