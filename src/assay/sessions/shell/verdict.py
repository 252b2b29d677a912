"""What was found out about one command, before redirections and scratch files are weighed."""

from typing import NamedTuple

from assay.types import Purpose


class Verdict(NamedTuple):
    """`touched` are the operands that decide whether only scratch files are written; `paths` are reported."""

    purpose: Purpose | None = None
    mutates: bool = False
    paths: tuple[str, ...] = ()
    touched: tuple[str, ...] = ()


NOTHING = Verdict()


def written(paths: list[str] | tuple[str, ...], purpose: Purpose | None = None) -> Verdict:
    """It writes exactly these files."""
    return Verdict(purpose, mutates=True, paths=tuple(paths), touched=tuple(paths))
